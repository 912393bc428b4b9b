package trace_test

import (
	"testing"

	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/device/sim/trace"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// rig is one GPU's units with the programs that configure them, executed by hand: register writes, events and nothing else.
type rig struct {
	t     *testing.T
	g     *gpu.GPU
	regs  *pm4.RegTable
	units *trace.Units
	mem   flat
	now   int64
}

const (
	bufAddr = 0x10000
	endAddr = 0x1000
)

func newRig(t *testing.T, name string) *rig {
	t.Helper()
	g, err := gpu.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	regs, err := pm4.RegsFor(g.GC)
	if err != nil {
		t.Fatal(err)
	}
	mem := make(flat, 8<<20)
	units, err := trace.New(g, regs, mem)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, g: g, regs: regs, units: units, mem: mem, now: 1000}
}

func (r *rig) reg(name string) pm4.Reg {
	v, ok := r.regs.Lookup(name)
	if !ok {
		r.t.Fatalf("no register %s", name)
	}
	return v
}

// execute does the register writes and events of a program; waits must hold at once, copies read the write pointer.
func (r *rig) execute(words []uint32) {
	r.t.Helper()
	sel, die := trace.All, 0
	left := 0
	index := r.reg("GRBM_GFX_INDEX")
	seField, _ := r.regs.Field("GRBM_GFX_INDEX", "SE_INDEX")
	allField, _ := r.regs.Field("GRBM_GFX_INDEX", "SE_BROADCAST_WRITES")
	write := func(reg pm4.Reg, v uint32) {
		for d := range r.g.Dies {
			if left > 0 && d != die {
				continue
			}
			if r.units.Owns(reg) {
				r.units.WriteReg(r.now, d, sel, reg, v)
			}
			r.units.RegWritten(r.now, d, reg, v)
		}
		if reg == index {
			sel = int(seField.Get(v))
			if allField.Get(v) != 0 {
				sel = trace.All
			}
		}
	}
	for p, err := range pm4.Packets(words) {
		if err != nil {
			r.t.Fatal(err)
		}
		r.now += 40
		b := p.Body
		if left -= len(p.Raw); left < 0 {
			left = 0
		}
		switch p.Op {
		case pm4.OpPredExec:
			for die = 0; b[0]>>24>>die&1 == 0; die++ {
			}
			left = int(b[0]&0x3fff) + len(p.Raw)
			left -= len(p.Raw)
			left++ // until the last packet is done
		case pm4.OpSetUconfigReg:
			write(0xc000+pm4.Reg(b[0]), b[1])
		case pm4.OpSetShReg:
			write(0x2c00+pm4.Reg(b[0]), b[1])
		case pm4.OpEventWrite:
			for d := range r.g.Dies {
				r.units.Event(r.now, d, b[0])
			}
		case pm4.OpWaitRegMem:
			reg := pm4.Reg(b[1])
			v := r.units.ReadReg(r.now, die, sel, reg) & b[4]
			if f := b[0] & 7; f == 3 && v != b[3] || f == 5 && v < b[3] {
				r.t.Fatalf("wait for %s never ends: %#x", r.regs.Name(reg), v)
			}
		case pm4.OpCopyData:
			v := r.units.ReadReg(r.now, die, sel, pm4.Reg(b[1]))
			at := b[3]
			for i := range uint32(4) {
				r.mem[at+i] = byte(v >> (8 * i))
			}
		}
	}
}

// trace runs f between the default programs and gives each engine's stream.
func (r *rig) trace(size int64, f func(start int64), opts ...sqtt.Option) [][]byte {
	r.t.Helper()
	live := r.g.LiveUnits()
	words, err := sqtt.Start(r.g, live, size, bufAddr, opts...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.execute(words)
	f(r.now)
	r.now += 10000
	words, err = sqtt.Stop(r.g, live, endAddr, opts...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.execute(words)
	var out [][]byte
	for e := range r.g.Engines() {
		at := endAddr + 4*e
		end := uint32(r.mem[at]) | uint32(r.mem[at+1])<<8 | uint32(r.mem[at+2])<<16 | uint32(r.mem[at+3])<<24
		buf := bufAddr + int64(e)*size
		n := sqtt.Length(r.g, buf, end)
		if n < 0 || n > size {
			r.t.Fatalf("engine %d: a length of %d", e, n)
		}
		out = append(out, r.mem[buf:buf+n])
	}
	return out
}

// oneWave is a wave on the unit that engine e traces in detail.
func oneWave(e int, t int64) []timing.Event {
	p := timing.Place{Engine: uint8(e), Slot: 2}
	ev := func(dt int64, k timing.EventKind, code uint8) timing.Event {
		return timing.Event{Time: t + dt, Kind: k, Place: p, Code: code, Lanes: 32, Flags: timing.Traced, PC: 0x4000}
	}
	return []timing.Event{
		ev(0, timing.WaveStart, 0), ev(100, timing.Issue, 0x01), ev(101, timing.Issue, 0), ev(104, timing.ExecALU, 1),
		ev(105, timing.ExecALU, 1), ev(700, timing.Immediate, 0), ev(701, timing.Issue, timing.CodeVALU), ev(702, timing.Issue, timing.CodeVALU),
		ev(710, timing.ExecALU, 2), ev(711, timing.ExecALU, 2), ev(720, timing.Issue, 0x24), ev(723, timing.ExecMem, 2), ev(900, timing.WaveEnd, 0),
	}
}

func TestProgramsTraceWaves(t *testing.T) {
	for _, name := range []string{"gfx1100", "gfx1151", "gfx1201", "gfx942", "gfx90a"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			r.mem = make(flat, 64<<20)
			units, err := trace.New(r.g, r.regs, r.mem)
			if err != nil {
				t.Fatal(err)
			}
			r.units = units
			streams := r.trace(1<<16, func(start int64) {
				for e := range r.g.Engines() {
					r.units.Events(oneWave(e, start+int64(e)*1000))
				}
			})
			for e, s := range streams {
				res := sqtt.DecodeWavesWith(r.g.Family, sqtt.HeaderNo, s)
				if len(res.Waves) != 1 || res.Losses.Any() {
					t.Fatalf("engine %d: %d waves of %d bytes, losses %+v", e, len(res.Waves), len(s), res.Losses)
				}
				w := res.Waves[0]
				if w.Stop-w.Start != 900 || w.CU != 0 || w.SIMD != 0 || w.Slot != 2 {
					t.Errorf("engine %d: %+v", e, w)
				}
				insts := 0
				for p := range sqtt.PacketsWith(r.g.Family, sqtt.HeaderNo, s) {
					switch p.Kind.String() {
					case "INST", "VALU_INST", "IMM_ONE", "ISSUE":
						insts++
					}
				}
				detail := e < 2
				if got := insts > 0; got != detail {
					t.Errorf("engine %d: %d instruction tokens", e, insts)
				}
				if detail && r.g.Family != gpu.GFX9 && insts != 6 {
					t.Errorf("engine %d: %d instruction tokens, want 6", e, insts)
				}
				if r.g.Family != gpu.GFX9 && len(res.Markers) < 2 {
					t.Errorf("engine %d: %d realtime markers", e, len(res.Markers))
				}
			}
		})
	}
}

// Words and bytes that waves send come back from every place, of engines that trace no instructions too.
func TestShaderData(t *testing.T) {
	for _, name := range []string{"gfx1100", "gfx1201", "gfx942", "gfx90a"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			r.mem = make(flat, 64<<20)
			r.units, _ = trace.New(r.g, r.regs, r.mem)
			type sent struct {
				p     timing.Place
				v     uint32
				short bool
			}
			var want []sent
			values := []uint32{0, 1, 0xff, 0x80, 0x12345678, 0xffffffff, 1 << 31}
			for i, v := range values {
				p := timing.Place{SA: uint8(i % r.g.SAs), Unit: uint8(r.g.Units - 1 - i%r.g.Units), SIMD: uint8(i & 3), Slot: uint8(r.g.Slots - 1 - i%r.g.Slots)}
				want = append(want, sent{p, v, false})
				if r.g.Family != gpu.GFX9 && v <= 0xff {
					want = append(want, sent{p, v, true})
				}
			}
			last := uint8(r.g.Engines() - 1)
			streams := r.trace(1<<16, func(start int64) {
				var evs []timing.Event
				for i, w := range want {
					w.p.Engine = last
					e := timing.Event{Time: start + int64(i)*int64(i)*40, Kind: timing.SentData, Place: w.p, Data: w.v, Flags: timing.Traced}
					if w.short {
						e.Code = 1
					}
					evs = append(evs, e)
				}
				r.units.Events(evs)
			})
			got := sqtt.ReadShaderData(r.g.Family, sqtt.HeaderNo, streams[last])
			if len(got) != len(want) {
				t.Fatalf("%d of %d words", len(got), len(want))
			}
			for i, w := range want {
				cu := w.p.Unit
				switch r.g.Family {
				case gpu.GFX12:
					cu |= w.p.SA << 4
				case gpu.GFX11:
					cu |= w.p.SA << 3
				}
				d := got[i]
				if d.Value != w.v || d.Short != w.short || d.CU != cu || d.SIMD != w.p.SIMD || d.Slot != w.p.Slot || d.Time-got[0].Time != sqtt.Cycles(i*i*40) {
					t.Errorf("sent %+v, decoded %+v", w, d)
				}
			}
			for e, s := range streams[:last] {
				if d := sqtt.ReadShaderData(r.g.Family, sqtt.HeaderNo, s); len(d) != 0 {
					t.Errorf("engine %d has %d words of another's waves", e, len(d))
				}
			}
		})
	}
}

func TestFullBuffer(t *testing.T) {
	for _, name := range []string{"gfx1100", "gfx1201", "gfx942"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			r.mem = make(flat, 64<<20)
			r.units, _ = trace.New(r.g, r.regs, r.mem)
			streams := r.trace(4096, func(start int64) {
				for i := range 400 {
					r.units.Events(oneWave(0, start+int64(i)*1000))
				}
			})
			want := 4096
			if r.g.Family != gpu.GFX9 {
				want -= 32 // the pointer stops at the last chunk
			}
			if len(streams[0]) != want {
				t.Errorf("a full buffer holds %d bytes, want %d", len(streams[0]), want)
			}
			dropped := "SQ_THREAD_TRACE_DROPPED_CNTR"
			if r.g.Family == gpu.GFX9 {
				dropped = "SQ_THREAD_TRACE_CNTR"
				if s := r.units.ReadReg(0, 0, 0, r.reg("SQ_THREAD_TRACE_STATUS")); s>>31 == 0 {
					t.Errorf("STATUS %#x: not full", s)
				}
			} else if s := r.units.ReadReg(0, 0, 0, r.reg("SQ_THREAD_TRACE_STATUS2")); s&1 == 0 {
				t.Errorf("STATUS2 %#x: not full", s)
			}
			if r.units.ReadReg(0, 0, 0, r.reg(dropped)) == 0 {
				t.Error("nothing counts as dropped")
			}
		})
	}
}

func TestUnmappedBuffer(t *testing.T) {
	r := newRig(t, "gfx1100")
	units, _ := trace.New(r.g, r.regs, make(flat, 0))
	r.units = units
	r.trace(1<<16, func(start int64) { r.units.Events(oneWave(0, start)) })
	if s := r.units.ReadReg(0, 0, 0, r.reg("SQ_THREAD_TRACE_STATUS")); s>>24&1 == 0 {
		t.Errorf("STATUS %#x: no write error", s)
	}
}

func TestTokensLeftOut(t *testing.T) {
	r := newRig(t, "gfx1100")
	streams := r.trace(1<<16, func(start int64) {
		evs := oneWave(0, start)
		for i := range evs {
			evs[i].Flags = 0 // a queue that does not trace
		}
		r.units.Events(evs)
		other := oneWave(1, start+1000)
		for i := range other {
			other[i].Place.SIMD = 3
		}
		r.units.Events(other)
	})
	count := func(s []byte, kind string) (n int) {
		for p := range sqtt.Packets(r.g.Family, s) {
			if p.Kind.String() == kind {
				n++
			}
		}
		return n
	}
	if n := count(streams[0], "WAVE_START"); n != 0 {
		t.Errorf("%d waves of an untraced queue", n)
	}
	if s, i := count(streams[1], "WAVE_START"), count(streams[1], "INST"); s != 1 || i != 0 {
		t.Errorf("another SIMD: %d starts, %d instructions", s, i)
	}
}

func BenchmarkTokens(b *testing.B) {
	for _, name := range []string{"gfx1100", "gfx1201", "gfx942"} {
		b.Run(name, func(b *testing.B) {
			t := &testing.T{}
			g, _ := gpu.Lookup(name)
			regs, _ := pm4.RegsFor(g.GC)
			mem := make(flat, 512<<20)
			r := &rig{t: t, g: g, regs: regs, mem: mem, now: 1000}
			r.units, _ = trace.New(g, regs, mem)
			start, _ := sqtt.Start(g, g.LiveUnits(), 8<<20, bufAddr)
			stop, _ := sqtt.Stop(g, g.LiveUnits(), endAddr)
			const batch = 1000 // waves of a trace
			evs := make([]timing.Event, 0, batch*13)
			for i := range batch {
				evs = append(evs, oneWave(0, 1<<20+int64(i)*1000)...)
			}
			var bytes int64
			b.ReportAllocs()
			for b.Loop() {
				r.now = 1000
				r.execute(start)
				r.units.Events(evs)
				r.now = 1 << 22
				r.execute(stop)
				end := uint32(mem[endAddr]) | uint32(mem[endAddr+1])<<8 | uint32(mem[endAddr+2])<<16 | uint32(mem[endAddr+3])<<24
				bytes += sqtt.Length(g, bufAddr, end)
			}
			b.SetBytes(bytes / int64(b.N))
			b.ReportMetric(float64(len(evs)*b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}
