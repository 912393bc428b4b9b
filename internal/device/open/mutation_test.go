package open

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// mutation is a trace program with one register write dropped or altered.
type mutation struct {
	name  string
	words []uint32
}

// mutations are all of a program's. Alterations flip the lowest bit of a field that is not 0, or bit 0.
func mutations(t *testing.T, regs *pm4.RegTable, program []uint32) []mutation {
	t.Helper()
	var out []mutation
	for p, err := range pm4.Packets(program) {
		if err != nil {
			t.Fatal(err)
		}
		base := pm4.ShBase
		switch p.Op {
		case pm4.OpSetUconfigReg:
			base = pm4.UconfigBase
		case pm4.OpSetShReg:
		default:
			continue
		}
		for i, v := range p.Body[1:] {
			name := fmt.Sprintf("dword %d: %s = %#x", p.Off, regs.Name(base+pm4.Reg(p.Body[0])+pm4.Reg(i)), v)
			altered := slices.Clone(program)
			altered[p.Off+2+i] ^= max(v&-v, 1)
			out = append(out, mutation{name + " altered to " + fmt.Sprintf("%#x", altered[p.Off+2+i]), altered})
		}
		dropped := slices.Clone(program)
		for i := range p.Raw {
			dropped[p.Off+i] = pm4.OneDwordNop
		}
		out = append(out, mutation{fmt.Sprintf("dword %d: %s = %#x dropped", p.Off, regs.Name(base+pm4.Reg(p.Body[0])), p.Body[1]), dropped})
	}
	return out
}

const (
	traceBytes = 64 << 10 // per engine
	traceAlign = 1 << 20
	dirtyBytes = 4096 // of a trace that ran before: too small, so that the status register says so
	stateBytes = 1 << 20
)

// registers are those that a program writes, in order of their addresses.
func registers(t *testing.T, programs ...[]uint32) []pm4.Reg {
	t.Helper()
	seen := map[pm4.Reg]bool{}
	for _, w := range programs {
		for p, err := range pm4.Packets(w) {
			if err != nil {
				t.Fatal(err)
			}
			base := pm4.UconfigBase
			if p.Op == pm4.OpSetShReg {
				base = pm4.ShBase
			} else if p.Op != pm4.OpSetUconfigReg {
				continue
			}
			for i := range p.Body[1:] {
				seen[base+pm4.Reg(p.Body[0])+pm4.Reg(i)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// readBack stores the registers as they stand, of each engine of each die, from addr on.
func readBack(i device.Info, index pm4.Reg, regs []pm4.Reg, addr uint64) pm4.Stream {
	s := pm4.Stream(nil)
	for die := range i.GPU.Dies {
		at := len(s)
		if i.GPU.Dies > 1 {
			s = s.PredExec(1<<die, 0)
		}
		s = s.CopyRegToMem(index, addr, true)
		addr += 4
		for e := range i.GPU.SEs {
			s = s.SetUconfig(index, uint32(e)<<16|1<<30)
			for _, r := range regs {
				s = s.CopyRegToMem(r, addr, true)
				addr += 4
			}
		}
		s = s.SetUconfig(index, 0xe0000000)
		if i.GPU.Dies > 1 {
			s = s.EndPredExec(at)
		}
	}
	return s
}

// bench is a device on which one program was traced already.
type bench struct {
	d          device.Device
	info       device.Info
	index      pm4.Reg
	p          program
	buf, ends  *device.Buffer
	state      *device.Buffer
	regs       []pm4.Reg
	start, end []uint32 // right programs
}

func newBench(t *testing.T, spec string) *bench {
	t.Helper()
	d, err := Device(t.Context(), spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{d: d, info: d.Info()}
	n := uint64(b.info.GPU.Engines())
	dirty := alloc(t, d, n*dirtyBytes, device.AllocOptions{Uncached: true, Align: traceAlign})
	b.buf = alloc(t, d, n*traceBytes, device.AllocOptions{Uncached: true, Align: traceAlign})
	b.ends = alloc(t, d, 4*n, device.AllocOptions{Uncached: true})
	b.state = alloc(t, d, stateBytes, device.AllocOptions{Uncached: true})
	b.p = load(t, d, "vadd")
	table, err := pm4.RegsFor(b.info.GPU.GC)
	if err != nil {
		t.Fatal(err)
	}
	b.index, _ = table.Lookup("GRBM_GFX_INDEX")
	must := func(w []uint32, err error) []uint32 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	b.start = must(sqtt.Start(b.info.GPU, b.info.Live, traceBytes, int64(b.buf.Addr)))
	b.end = must(sqtt.Stop(b.info.GPU, b.info.Live, int64(b.ends.Addr)))
	b.regs = registers(t, b.start, b.end)
	// What an earlier trace leaves in the registers: another place and size, every mask the other way round, a full buffer.
	before := must(sqtt.Start(b.info.GPU, b.info.Live, dirtyBytes, int64(dirty.Addr)))
	after := must(sqtt.Stop(b.info.GPU, b.info.Live, int64(b.ends.Addr)))
	soil := pm4.Stream(nil)
	for _, r := range b.regs {
		if name := table.Name(r); strings.HasPrefix(name, "SQ_THREAD_TRACE_") && !strings.HasSuffix(name, "CTRL") && !strings.HasSuffix(name, "MODE") &&
			!strings.Contains(name, "BASE") && !strings.Contains(name, "SIZE") {
			soil = soil.SetUconfig(r, 0x0a5a5a5a)
		}
	}
	submit(t, d, device.Words(before), b.p.launch, b.p.launch, device.Words(after), device.Words(soil))
	clear(b.ends.Bytes)
	return b
}

// run traces the kernel with the programs and returns all that can be seen of it: the streams with their ends, and the
// registers after each program.
func (b *bench) run(t *testing.T, start, end []uint32) (trace, state []byte, err error) {
	p, err := b.d.Submit(t.Context(), device.Words(start), device.Words(readBack(b.info, b.index, b.regs, b.state.Addr)), b.p.launch,
		device.Words(end), device.Words(readBack(b.info, b.index, b.regs, b.state.Addr+stateBytes/2)))
	if err != nil {
		t.Fatal(err)
	}
	err = b.d.Wait(bounded(t), p)
	return append(bytes.Clone(b.buf.Bytes), b.ends.Bytes...), bytes.Clone(b.state.Bytes), err
}

// A trace program with one wrong word gives another trace, leaves other registers, or fails.
func TestTraceProgramMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: each write of the trace programs is not altered in turn")
	}
	for _, spec := range []string{"sim:gfx1100", "sim:gfx1201", "sim:gfx90a", "sim:gfx942"} {
		t.Run(spec, func(t *testing.T) { testMutations(t, spec) })
	}
}

func testMutations(t *testing.T, spec string) {
	b := newBench(t, spec)
	wantTrace, wantState, err := b.run(t, b.start, b.end)
	if err != nil {
		t.Fatal(err)
	}
	n := b.info.GPU.Engines()
	for e := range n {
		if binary.LittleEndian.Uint32(wantTrace[n*traceBytes+4*e:]) == 0 {
			t.Errorf("engine %d wrote nothing", e)
		}
	}
	table, err := pm4.RegsFor(b.info.GPU.GC)
	if err == nil {
		err = b.d.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	var total, inTrace int
	var survived []string
	for i, words := range [][]uint32{b.start, b.end} {
		for _, m := range mutations(t, table, words) {
			b := newBench(t, spec)
			use := [2][]uint32{b.start, b.end}
			use[i] = m.words
			trace, state, err := b.run(t, use[0], use[1])
			if _, ok := errors.AsType[*device.Fault](err); err != nil && !ok {
				t.Errorf("%s: %v", m.name, err)
			}
			if err := b.d.Close(); err != nil {
				t.Fatal(err)
			}
			total++
			switch {
			case err != nil, !bytes.Equal(trace, wantTrace):
				inTrace++
			case bytes.Equal(state, wantState):
				survived = append(survived, []string{"start, ", "stop, "}[i]+m.name)
			}
		}
	}
	t.Logf("%d mutations: %d change the streams or fail, %d more change what the registers hold, %d do not show:\n%s",
		total, inTrace, total-inTrace-len(survived), len(survived), strings.Join(survived, "\n"))
	// What does not show, on every model: the instance broadcast of the first selection, which no trace register heeds, and the stop
	// program's first selection, which names the engine that stands selected already.
	if len(survived)*20 > total {
		t.Errorf("%d of %d mutations do not show", len(survived), total)
	}
}
