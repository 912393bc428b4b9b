package open

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/kfd"
	"github.com/rigprof/rigprof/internal/device/sim"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/launch"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/sqtt"
)

var allMutations = flag.Bool("all-mutations", false, "try the trace programs of GPUs of eight dies on all of them, not on two")

// mutation is a trace program with one register write dropped or altered.
type mutation struct {
	what  string // program, register, change
	at    string // place: of a register "once", engine "detailed" or "plain", "all" engines; of a selection "first" of a die, "next" ones, "all"
	words []uint32
}

// nobodys are registers that hold what software likes. A dropped write goes there, so that the packets take as long as ever: else each stream would
// differ by its times alone.
var nobodys = map[pm4.Op]string{pm4.OpSetUconfigReg: "SCRATCH_REG0", pm4.OpSetShReg: "COMPUTE_NOWHERE"}

// mutations are all of a program's: each write dropped, the lowest bit that is set in each field that is not 0 cleared, all of it where more bits
// are set, and a write of 0 with bit 0 set. detail are the engines that trace instructions.
func mutations(t *testing.T, g *gpu.GPU, program string, words []uint32, detail []int) []mutation {
	t.Helper()
	regs, err := pm4.RegsFor(g.GC)
	if err != nil {
		t.Fatal(err)
	}
	var out []mutation
	die, place := 0, "once"
	for p, err := range pm4.Packets(words) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Op == pm4.OpPredExec {
			die = bits.TrailingZeros32(p.Body[0] >> 24)
		}
		nobodys, ok := regs.Lookup(nobodys[p.Op])
		if !ok {
			continue
		}
		base := pm4.UconfigBase
		if p.Op == pm4.OpSetShReg {
			base = pm4.ShBase
		}
		reg := base + pm4.Reg(p.Body[0])
		name := regs.Name(reg)
		if len(p.Body) != 2 || name == "" {
			t.Fatalf("dword %d: %d values from register %#x on", p.Off, len(p.Body)-1, uint32(reg))
		}
		v, rest := p.Body[1], p.Body[1]
		at := place
		if name == "GRBM_GFX_INDEX" {
			se := int(v >> 16 & 0xff)
			switch {
			case v>>31 != 0:
				at, place = "all", "all"
			case slices.Contains(detail, die*g.SEs+se):
				place = "detailed"
			default:
				place = "plain"
			}
			if v>>31 == 0 {
				at = "first"
				if se > 0 {
					at = "next"
				}
			}
		}
		with := func(change string, dword int, word uint32) {
			m := mutation{program + " " + name + " " + change, at, slices.Clone(words)}
			m.words[p.Off+dword] = word
			out = append(out, m)
		}
		if v == 0 {
			with("0 dropped", 1, uint32(nobodys-base))
			with("0 becomes 1", 2, 1)
		} else {
			with("dropped", 1, uint32(nobodys-base))
		}
		fields := regs.Fields(reg)
		if len(fields) == 0 {
			fields = []pm4.Field{{Name: "value", Lo: 0, Hi: 31}}
		}
		for _, f := range fields {
			if x := f.Get(v); x != 0 {
				with(fmt.Sprintf("%s less %#x", f.Name, x&-x), 2, v&^f.Put(x&-x))
				if x&(x-1) != 0 {
					with(f.Name+" becomes 0", 2, v&^f.Mask())
				}
			}
			rest &^= f.Mask()
		}
		if rest != 0 {
			t.Errorf("dword %d: %s has no field for %#x", p.Off, name, rest)
		}
	}
	return out
}

const (
	traceBytes = 16 << 10 // per engine
	dirtyBytes = 4096     // of a trace that ran before
	traceAlign = 1 << 20
	stateBytes = 64 << 10
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

// scene is a GPU and a trace of it, whose programs are mutated.
type scene struct {
	name    string
	target  string
	dies    int                              // 0: all; two have everything that eight have
	detail  []int                            // engines that trace instructions
	options func(status int64) []sqtt.Option // nil: none
}

// bench is a device on which one program was traced already.
type bench struct {
	d                 device.Device
	info              device.Info
	index             pm4.Reg
	p                 program
	buf, ends, status *device.Buffer
	state             *device.Buffer
	regs              []pm4.Reg
	start, end        []uint32 // right programs
}

var bundledLaunches = sync.OnceValues(func() ([]launch.Launch, error) { return launch.ReadFile(filepath.Join(kernels, "launches.yaml")) })

func (s *scene) bench(t *testing.T) *bench {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	g, err := gpu.Lookup(s.target)
	must(err)
	if s.dies > 0 && !*allMutations {
		g.Dies = s.dies
		g.Live = g.Live[:g.Engines()]
	}
	k, err := sim.New([]*gpu.GPU{g}, sim.Options{Unstable: true})
	must(err)
	d, err := kfd.Open(k, 0, kfd.Options{Spec: "sim:" + s.target, Simulated: true})
	must(err)
	b := &bench{d: d, info: d.Info()}
	n := uint64(b.info.GPU.Engines())
	dirty := alloc(t, d, n*dirtyBytes, device.AllocOptions{Uncached: true, Align: traceAlign})
	b.buf = alloc(t, d, n*traceBytes, device.AllocOptions{Uncached: true, Align: traceAlign})
	b.ends = alloc(t, d, 4*n, device.AllocOptions{Uncached: true})
	b.status = alloc(t, d, 8*n, device.AllocOptions{Uncached: true})
	b.state = alloc(t, d, stateBytes, device.AllocOptions{Uncached: true})
	ls, err := bundledLaunches()
	must(err)
	vadd := ls[slices.IndexFunc(ls, func(l launch.Launch) bool { return l.Name == "vadd" })]
	vadd.Grid[0] = vadd.Block[0] * 2 * uint32(n) * uint32(g.SAs*g.Units) // work for every unit, or what details a program asks for would not show
	b.p = loadLaunch(t, d, &vadd)
	table, err := pm4.RegsFor(b.info.GPU.GC)
	must(err)
	b.index, _ = table.Lookup("GRBM_GFX_INDEX")
	var opts []sqtt.Option
	if s.options != nil {
		opts = s.options(int64(b.status.Addr))
	}
	b.start, err = sqtt.Start(b.info.GPU, b.info.Live, traceBytes, int64(b.buf.Addr), opts...)
	must(err)
	b.end, err = sqtt.Stop(b.info.GPU, b.info.Live, int64(b.ends.Addr), opts...)
	must(err)
	b.regs = registers(t, b.start, b.end)
	// What somebody left in the registers: another place and no size, every mask the other way round, counters that run.
	before, err := sqtt.Start(b.info.GPU, b.info.Live, dirtyBytes, int64(dirty.Addr))
	must(err)
	after, err := sqtt.Stop(b.info.GPU, b.info.Live, int64(b.ends.Addr))
	must(err)
	soil := pm4.Stream(nil)
	for _, r := range b.regs {
		switch name := table.Name(r); {
		case name == "CP_PERFMON_CNTL": // somebody's counters run
			soil = soil.SetUconfig(r, 1)
		case !strings.HasPrefix(name, "SQ_THREAD_TRACE_"), strings.HasSuffix(name, "_BASE"), strings.HasSuffix(name, "_BASE_LO"):
		case strings.HasSuffix(name, "_MODE"), strings.HasSuffix(name, "_CTRL"), strings.HasSuffix(name, "_SIZE"):
			soil = soil.SetUconfig(r, 0)
		default:
			soil = soil.SetUconfig(r, 0x0a5a5a5a)
		}
	}
	submit(t, d, device.Words(before), b.p.launch, device.Words(after), device.Words(soil))
	clear(b.ends.Bytes)
	return b
}

// place tells where the memory is whose addresses show in streams and registers.
func (b *bench) place() string {
	return fmt.Sprint(b.buf.Addr, b.ends.Addr, b.status.Addr, b.state.Addr, b.p.launch)
}

// run traces the kernel with the programs and returns all that can be seen of it: the streams with their ends and status words, and the
// registers after each program.
func (b *bench) run(t *testing.T, start, end []uint32) (trace, state []byte, err error) {
	t.Helper()
	p, err := b.d.Submit(t.Context(), device.Words(start), device.Words(readBack(b.info, b.index, b.regs, b.state.Addr)), b.p.launch,
		device.Words(end), device.Words(readBack(b.info, b.index, b.regs, b.state.Addr+stateBytes/2)))
	if err != nil {
		t.Fatal(err)
	}
	err = b.d.Wait(bounded(t), p)
	trace, state = slices.Concat(b.buf.Bytes, b.ends.Bytes, b.status.Bytes), bytes.Clone(b.state.Bytes)
	if err := b.d.Close(); err != nil {
		t.Fatal(err)
	}
	return trace, state, err
}

// A trace program with one wrong word gives another trace, leaves other registers, or fails.
func TestTraceProgramMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the writes of the trace programs are not altered in turn")
	}
	ran := 0
	for i := range scenes {
		t.Run(scenes[i].name, func(t *testing.T) {
			scenes[i].mutate(t)
			ran++
		})
	}
	if ran < len(scenes) {
		return // -run chose some
	}
	for _, q := range quiet {
		if !q.used {
			t.Errorf("no mutation is like %q of %v in %v", q.what, q.at, q.in)
		}
	}
}

// Ways in which a mutation shows.
const (
	inStreams   = "in the streams, or it fails"
	inRegisters = "in what the registers hold"
	nowhere     = "nowhere"
)

func (s *scene) mutate(t *testing.T) {
	b := s.bench(t)
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
	total, reasons := map[string]int{}, map[string]int{}
	for i, words := range [][]uint32{b.start, b.end} {
		for _, m := range mutations(t, b.info.GPU, []string{"start", "stop"}[i], words, s.detail) {
			use := [2][]uint32{b.start, b.end}
			use[i] = m.words
			x := s.bench(t)
			if x.place() != b.place() {
				t.Fatal("the memory is elsewhere than it was: streams and registers hold addresses, so they cannot be compared")
			}
			trace, state, err := x.run(t, use[0], use[1])
			if _, ok := errors.AsType[*device.Fault](err); err != nil && !ok {
				t.Errorf("%s: %v", m.what, err)
			}
			shows := nowhere
			switch {
			case err != nil, !bytes.Equal(trace, wantTrace):
				shows = inStreams
			case !bytes.Equal(state, wantState):
				shows = inRegisters
			}
			total[shows]++
			want, why := s.expect(&m)
			if shows != want {
				t.Errorf("%s (%s) shows %s, not %s", m.what, m.at, shows, want)
			}
			if shows != inStreams {
				reasons[shows+": "+why]++
			}
		}
	}
	all := total[inStreams] + total[inRegisters] + total[nowhere]
	t.Logf("%d mutations: %d change the streams or fail, %d more change what the registers hold, %d show nowhere", all, total[inStreams], total[inRegisters], total[nowhere])
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		t.Logf("%d %s", reasons[why], why)
	}
	if total[nowhere]*20 > all {
		t.Errorf("%d of %d mutations show nowhere: more than 5 %%", total[nowhere], all)
	}
}

// expect is how the table says that a mutation shows, and why no more.
func (s *scene) expect(m *mutation) (shows, why string) {
	for i := range quiet {
		q := &quiet[i]
		if !slices.Contains(q.at, m.at) && q.at != nil || !slices.Contains(q.in, s.name) && q.in != nil {
			continue
		}
		if slices.ContainsFunc(q.what, func(what string) bool { return strings.HasPrefix(m.what, what+" ") || m.what == what }) {
			q.used = true
			return q.shows, q.why
		}
	}
	return inStreams, ""
}
