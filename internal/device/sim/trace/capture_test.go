package trace_test

import (
	"bufio"
	"compress/gzip"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/device/sim/trace"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/sharedtest"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// flat is memory from address 0 on.
type flat []byte

func (f flat) Map(addr uint64, write bool) ([]byte, bool) {
	if addr >= uint64(len(f)) {
		return nil, false
	}
	return f[addr:], true
}

// deltas are the places of the delta fields that the token descriptions state, RDNA3 then RDNA4.
var deltas = map[string][2][2]uint8{
	"INST": {{4, 3}, {3, 3}}, "VALU_INST": {{3, 3}, {3, 3}}, "ALU_EXEC": {{4, 2}, {4, 2}}, "VMEM_EXEC": {{4, 2}, {4, 2}},
	"IMM_ONE": {{4, 3}, {4, 3}}, "IMMEDIATE": {{5, 3}, {5, 3}}, "WAVE_READY": {{5, 3}, {5, 3}}, "WAVE_START": {{5, 2}, {5, 2}},
	"WAVE_END": {{5, 3}, {5, 3}}, "SHADER_DATA_SHORT": {{5, 3}, {7, 3}}, "NEW_PC": {{8, 3}, {8, 3}}, "UTIL_COUNTER": {{7, 2}, {7, 2}},
	"MISC": {{7, 9}, {7, 9}}, "EVENT": {{8, 3}, {8, 3}}, "REG": {{4, 3}, {4, 3}}, "REG_INIT": {{7, 3}, {7, 3}},
}

// TestRewriteCaptures writes the packets of every listed real stream again. The result must hold the same packets at the same
// times; how often it is the same to the bit tells how well the rules for gaps and padding are known.
func TestRewriteCaptures(t *testing.T) {
	for g, arch := range []string{"gfx1100", "gfx1200"} {
		t.Run(arch, func(t *testing.T) {
			lists, _ := filepath.Glob(sharedtest.Path(t, "captures", arch) + "/*/*.packets.tsv.gz")
			var packets, same, streams, identical, bytesReal, bytesOurs int
			for _, list := range lists {
				real, err := os.ReadFile(strings.TrimSuffix(list, ".packets.tsv.gz") + ".sqtt")
				if err != nil {
					t.Fatal(err)
				}
				times, ps, cut := readPackets(t, list, g)
				buf := make(flat, 2*len(real)+4096)
				n := trace.Rewrite(g == 1, times, ps, buf, int64(len(buf)))
				got := buf[:n]
				family := []gpu.Family{gpu.GFX11, gpu.GFX12}[g]
				a, b := significant(family, real), significant(family, got)
				if cut {
					a = a[:min(len(a), len(b))]
				}
				if len(a) != len(b) {
					t.Errorf("%s: %d packets, rewritten %d", list, len(a), len(b))
					continue
				}
				for i := range a {
					if a[i].Kind != b[i].Kind || a[i].Time != b[i].Time || payload(g, &a[i]) != payload(g, &b[i]) {
						t.Errorf("%s: packet %d is %v at %d (%#x), rewritten %v at %d (%#x)", list, i, a[i].Kind, a[i].Time, a[i].Raw, b[i].Kind, b[i].Time, b[i].Raw)
						break
					}
					if i == 0 {
						continue
					}
					packets++
					if a[i].Off-a[i-1].Off == b[i].Off-b[i-1].Off && a[i].Raw == b[i].Raw {
						same++
					}
				}
				streams++
				if string(real[:min(len(real), len(got))]) == string(got[:min(len(real), len(got))]) {
					identical++
				}
				if !cut {
					bytesReal += len(real)
					bytesOurs += len(got)
				}
			}
			t.Logf("%d streams, %d packets: %.2f%% follow the one before at the same distance and with the same bits; %d streams are identical; %d bytes for real %d",
				streams, packets, 100*float64(same)/math.Max(float64(packets), 1), identical, bytesOurs, bytesReal)
			if same*100 < packets*99 {
				t.Errorf("only %d of %d packets are written as hardware does", same, packets)
			}
		})
	}
}

// payload is the token without its delta.
func payload(g int, p *sqtt.Packet) uint64 {
	d := deltas[p.Kind.String()][g]
	return p.Raw &^ ((1<<d[1] - 1) << d[0])
}

// significant are the packets that are not only there to pass time.
func significant(f gpu.Family, buf []byte) (out []sqtt.Packet) {
	for p := range sqtt.Packets(f, buf) {
		switch p.Kind.String() {
		case "NOP", "TIME":
			continue
		case "MISC":
			if p.Raw>>16&0xff == 0 {
				continue
			}
		case "TIMESTAMP":
			if _, ok := p.Marker(); !ok {
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

func readPackets(t *testing.T, path string, g int) (times []int64, ps []trace.Packet, cut bool) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for s := bufio.NewScanner(z); s.Scan(); {
		c := strings.Split(s.Text(), "\t")
		if c[0] == "bit_offset" {
			continue
		}
		rows++
		bits, _ := strconv.Atoi(c[1])
		at, _ := strconv.ParseInt(c[3], 10, 64)
		raw := c[4]
		var hi uint64
		if len(raw) > 16 {
			hi, _ = strconv.ParseUint(raw[:len(raw)-16], 16, 8)
			raw = raw[len(raw)-16:]
		}
		lo, err := strconv.ParseUint(raw, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case c[2] == "TIME", c[2] == "MISC" && lo>>16 == 0, c[2] == "TIMESTAMP" && len(c) < 6:
			continue
		}
		p := trace.Packet{Type: c[2], Bits: uint8(bits), Lo: lo, Hi: uint8(hi)}
		if d := deltas[c[2]][g]; d[1] > 0 {
			p.At, p.Wide = d[0], d[1]
			p.Lo &^= (1<<d[1] - 1) << d[0]
		}
		times = append(times, at)
		ps = append(ps, p)
	}
	return times, ps, rows >= 20000
}
