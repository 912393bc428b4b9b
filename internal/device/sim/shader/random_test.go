package shader

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

// TestEveryEncoding executes each encoding that LLVM accepts once, on a wave with random registers: no panic, and
// what is not supported says so. It counts what is not.
func TestEveryEncoding(t *testing.T) {
	for _, target := range []string{"gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1201"} {
		t.Run(target, func(t *testing.T) {
			f, err := os.Open(sharedtest.Path(t, "isa", "enc_"+target+".tsv.gz"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			zr, err := gzip.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			arch, _ := isa.ArchOf(target)
			r := rand.New(rand.NewPCG(9, 10))
			missing := map[string]bool{}
			sc := bufio.NewScanner(zr)
			ran := 0
			for sc.Scan() {
				words, text, ok := strings.Cut(sc.Text(), "\t")
				if !ok || strings.HasPrefix(words, "#") {
					continue
				}
				var code []byte
				for w := range strings.FieldsSeq(words) {
					b, err := hex.DecodeString(w)
					if err != nil {
						t.Fatal(err)
					}
					code = binary.LittleEndian.AppendUint32(code, binary.BigEndian.Uint32(b))
				}
				if testing.Short() && ran%20 != 0 {
					ran++
					continue
				}
				ran++
				func() {
					defer func() {
						if p := recover(); p != nil {
							t.Errorf("%s: panic: %v", sc.Text(), p)
						}
					}()
					if f := execute(arch, code, r); f != nil && f.Err == ErrUnsupported {
						_, name, _ := strings.Cut(text, "\t")
						name, _, _ = strings.Cut(name, " ")
						missing[name+": "+f.Detail] = true
					}
				}()
			}
			for n := range missing {
				name, detail, _ := strings.Cut(n, ": ")
				if !refused(name) && !refusedValue(name, detail) {
					t.Errorf("not supported: %s", n)
				}
			}
		})
	}
}

// refusedValue tells whether an instruction is refused for a number in it that AMD reserves, or that asks what cannot be
// known.
func refusedValue(name, detail string) bool {
	for _, p := range []string{
		"reserved buffer format", "hardware register ", "exception flags are not collected",
		"message ", "the doorbell is not known", "the queue's doorbell", "waves are placed",
	} {
		if strings.HasPrefix(detail, p) {
			return true
		}
	}
	return strings.HasSuffix(name, "_f8f6f4") // reserved element formats
}

var (
	randomRegs []vreg
	randomPool sync.Pool
)

// execute runs one instruction on a wave whose registers are random.
func execute(arch isa.Arch, code []byte, r *rand.Rand, prepare ...func(w *wave)) *Fault {
	mem := &flatMem{code, make([]byte, 4096)}
	k := testKernel(1, 64)
	k.Arch, k.Wave32, k.Budget, k.LDSBytes, k.ScratchBytes = arch, !arch.CDNA() && r.IntN(2) == 0, 100, 4096, 64
	m := NewMachine(mem)
	if g := randomPool.Get(); g != nil {
		m.pool.Put(g)
	}
	run := &Run{m: m, k: k, prog: m.program(k), ctx: testContext}
	g := newGroup(run, 0, newWindow(mem))
	defer func() { randomPool.Put(g) }()
	w := g.waves[0]
	if randomRegs == nil {
		randomRegs = make([]vreg, 2*accBase+64)
		for i := range randomRegs {
			for l := range randomRegs[i] {
				randomRegs[i][l] = pattern(r)
			}
		}
	}
	copy(w.v, randomRegs)
	for i := range 106 {
		w.s[i] = pattern(r)
	}
	if r.IntN(2) == 0 {
		w.setExec(r.Uint64())
	}
	w.setMode(r.Uint32())
	for _, p := range prepare {
		p(w)
	}
	w.stop, w.fuel = running, 100
	u := &w.code[w.ip]
	w.ip++
	u.run(w, u)
	return w.fault
}
