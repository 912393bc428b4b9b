package timing

import "github.com/rigprof/rigprof/internal/isa"

// tell writes down the events of an instruction.
func (s *simd) tell(w *wave, o *sop, t, ready, execAt int64, taken bool) {
	m := s.m
	if s.detail {
		ev := Event{Time: t, Kind: Issue, Place: w.place, PC: o.pc, Wide: w.code.wide, Flags: m.flags, Code: o.op}
		if taken && o.do == doBranch {
			ev.Code = o.opTaken
		}
		if !m.gfx9 && t > ready && !w.told {
			s.ready(w, o, ready)
		}
		switch o.show {
		case isa.TraceInst:
		case isa.TraceVALU:
			ev.Code = CodeVALU
		case isa.TraceImm:
			ev.Kind = Immediate
			if o.barrierWait {
				ev.Flags |= BarrierWait
			}
		default:
			return
		}
		m.events.add(ev)
		if m.gfx9 && ev.Kind == Issue {
			typed := ev
			typed.Kind, typed.Time = Typed, t+m.p.step
			if o.port != portSALU {
				typed.Time = t
			}
			m.events.add(typed)
		}
		if o.newPC {
			np := ev
			np.Kind, np.Time = NewPC, t+m.p.branchTaken
			if int(w.cur) < len(w.ops) {
				np.PC = w.ops[w.cur].pc
			}
			m.events.add(np)
		}
	}
	if o.exec == 0 || m.gfx9 {
		return
	}
	ex := Event{Time: execAt, Kind: ExecALU, Place: w.place, Code: o.execCode, Flags: m.flags}
	memory := o.port == portVMEM || o.port == portLDS
	if memory {
		ex.Kind = ExecMem
	}
	if s.detail {
		m.events.add(ex)
	}
	if memory && o.other != 0 && s.partner().detail {
		p := w.place
		p.SIMD = uint8(s.partner().no)
		m.events.add(Event{Time: t, Kind: OtherSIMD, Place: p, Code: o.other, Flags: m.flags})
		ex.Place, ex.Code = p, o.execCode+1
		m.events.add(ex)
	}
}

// sends tells what s_ttracedata sends. It goes when the instruction issues: how much later hardware writes the token is not known.
func (s *simd) sends(w *wave, o *sop, t int64) {
	if w.data == len(w.log.Data) { // the log is cut
		return
	}
	v := w.log.Data[w.data]
	w.data++
	if len(s.m.observers) == 0 {
		return
	}
	e := Event{Time: t, Kind: SentData, Place: w.place, PC: o.pc, Data: v, Wide: w.code.wide, Flags: s.m.flags}
	if o.short {
		e.Code = 1
	}
	s.m.events.add(e)
}

// tellLaunched tells that no workgroup waits any more; real command processors may tell it when the last wave has ended. CDNA captures show no such thing.
func (m *Machine) tellLaunched() {
	m.handedOut = true
	if m.gfx9 || len(m.observers) == 0 {
		return
	}
	for _, d := range m.taking {
		m.events.add(Event{Time: m.launched + m.p.dispatchEnd, Kind: AllLaunched, Place: Place{Engine: uint8(d * m.g.SEs)}, Flags: m.flags})
	}
}

// ready tells that the wave's next instruction, o, could issue from t on.
func (s *simd) ready(w *wave, o *sop, t int64) {
	if o.show == isa.TraceNone || o.show == isa.TraceEnd {
		return
	}
	w.told = true
	s.m.events.add(Event{Time: t, Kind: WaveReady, Place: w.place, PC: o.pc, Wide: w.code.wide, Flags: s.m.flags})
}

// waiting tells what a detailed SIMD's waves wait for their turn with at the end of a window.
func (s *simd) waiting(end int64) {
	for i, w := range s.waves[:s.n] {
		if s.at[i] < end && !w.told {
			s.ready(w, &w.ops[w.cur], s.at[i])
		}
	}
}

// stalls tells that the wave's next instruction has to wait from t on.
func (s *simd) stalls(w *wave, t int64) {
	s.m.events.add(Event{Time: t, Kind: Stall, Place: w.place, PC: w.ops[w.cur].pc, Wide: w.code.wide, Flags: s.m.flags})
}

// leaves tells that the wave goes on behind a barrier, which CDNA traces show.
func (s *simd) leaves(w *wave) {
	if s.detail && s.m.gfx9 {
		s.m.events.add(Event{Time: w.g.relAt, Kind: Immediate, Place: w.place, PC: w.barrier, Wide: w.code.wide, Flags: s.m.flags})
	}
}
