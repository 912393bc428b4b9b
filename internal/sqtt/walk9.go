package sqtt

import (
	"encoding/binary"
	"slices"
)

// wave9State is what the walk keeps of a GFX9 wave besides: an instruction sends an ISSUE first and, when a unit takes
// it, an INST that tells what it is.
type wave9State struct {
	on     bool
	stalls []Cycles // ISSUE tokens that say that the wave stalls, since the last typed instruction
	open   []int    // records whose INST is to come, by number in the wave
	placed int      // records that have their place, by number in the wave
}

// token9 takes what a GFX9 token means to traced waves.
func (k *walk) token9(kind Kind, w uint64, now Cycles) {
	switch kind {
	case KindIssue:
		simd := uint32(w >> 5 & 3)
		for slot := uint32(0); slot < 10; slot++ {
			state := w >> (8 + 2*slot) & 3
			if state == 0 {
				continue
			}
			t := k.slot(simd<<4 | slot)
			t.gfx9.on = true
			if t.deaf {
				continue
			}
			switch state {
			case 1:
				if len(t.gfx9.stalls) < maxEarlyPCs {
					t.gfx9.stalls = append(t.gfx9.stalls, now)
				}
			case 2:
				*k.add(t) = Inst{Time: now}
				t.gfx9.open = append(t.gfx9.open, t.first+len(t.insts)-1)
			case 3:
				k.immediate9(t, now)
			}
		}
	case KindInst:
		t := k.slots[w>>9&3<<4|w>>5&15]
		if t.live {
			k.type9(t, uint8(w>>11&31), uint8(w>>9&3), now)
		}
	case KindInstPc:
		if t := k.slots[w>>9&3<<4|w>>5&15]; t.live {
			k.newPC(t, w>>16<<2)
		}
	case KindRegCs, KindRegCsPriv:
		me := uint8(w>>7+1) & 1
		k.register(me, uint8(w>>5&3), uint32(w>>9&127), uint32(w>>16))
	}
}

// immediate9 takes an ISSUE's state "immediate" of a wave.
func (k *walk) immediate9(t *tracedWave, now Cycles) {
	time := now
	if n := len(t.insts); n > 0 && t.insts[n-1].Category != CategoryNone {
		t.insts[n-1].limit(now)
		time = min(now, t.insts[n-1].end())
	}
	dur := 4 + uint32(min(now-time, maxDur-4))
	*k.add(t) = Inst{Time: time, Stall: dur, Dur: dur, Category: CategoryImmed}
	k.place9(t)
}

func (in *Inst) end() Cycles { return in.Time + Cycles(in.Dur) }

// limit ends a record at the given time, but lets it last 4 clocks.
func (in *Inst) limit(at Cycles) {
	if at < in.end() {
		in.Dur = uint32(max(at-in.Time, 4))
		in.Stall = min(in.Stall, in.Dur)
	}
}

// type9 takes an INST of a wave, which tells what its oldest untyped record is.
func (k *walk) type9(t *tracedWave, op uint8, simd uint8, now Cycles) {
	o := &gfx9Ops[op]
	if t.standby && op == 7 { // the trap handler goes back
		t.standby = false
		k.unlink(t)
		k.jump(t, len(t.insts)-1)
		k.settle(t)
		return
	}
	if t.deaf || len(t.gfx9.open) == 0 || o.category == CategoryNone {
		return
	}
	i := t.gfx9.open[0] - t.first
	t.gfx9.open = append(t.gfx9.open[:0], t.gfx9.open[1:]...)
	switch o.category {
	case categoryReplay:
		k.replay(t, i, op, now)
		return
	case categoryTrap:
		t.insts[i].Category, t.insts[i].Dur = CategoryContext, 4
		t.standby = true
		k.settle(t)
		k.place9(t)
		return
	}
	in := &t.insts[i]
	issue := in.Time
	in.Category, in.newPC = o.category, op == 7
	if n := len(t.insts); n >= 2 && issue < t.insts[n-2].end() {
		k.phase9++
	}
	before := Cycles(0)
	if i > 0 {
		t.insts[i-1].limit(issue)
		before = t.insts[i-1].end()
	}
	late := max(0, now-issue-k.slack9(o.category, in.newPC, simd))
	// Of the stalls that came before the issue the last one counts, but not from before the previous record's end.
	used, start := 0, issue
	for used < len(t.gfx9.stalls) && t.gfx9.stalls[used] < issue {
		start = max(t.gfx9.stalls[used], before)
		used++
	}
	t.gfx9.stalls = append(t.gfx9.stalls[:0], t.gfx9.stalls[used:]...)
	in.Time = start
	in.Stall = uint32(min(max(0, issue-start), maxDur/2))
	in.Dur = uint32(min(max(4, issue-start+4+late), maxDur))
	k.place9(t)
}

// replay takes the INST of a memory access that is done again: record i goes, and the last one of its kind before, unless it was
// given already, lasts until here.
func (k *walk) replay(t *tracedWave, i int, op uint8, now Cycles) {
	kind := [...]Category{CategorySMEM, CategoryVMEM, CategoryFLAT}[(op-19)/2]
	for j := i - 1; j >= max(t.sent, i-skipLimit); j-- {
		if in := &t.insts[j]; in.Category == kind {
			if longer := min(now+4-in.Time, maxDur); longer > Cycles(in.Dur) {
				in.Stall += uint32(longer) - in.Dur
				in.Dur = uint32(longer)
			}
			break
		}
	}
	t.insts = slices.Delete(t.insts, i, i+1)
	for j := range t.gfx9.open {
		t.gfx9.open[j]--
	}
	k.place9(t)
}

// slack9 is how long after its ISSUE an INST may come before the instruction counts as longer. Hardware types instructions in a
// beat of 4 clocks per SIMD that the trace does not show. AMD's decoder guesses its phase: it moves on whenever a wave
// issues before its record before has ended. The guess is kept, so that durations agree.
func (k *walk) slack9(c Category, newPC bool, simd uint8) Cycles {
	phase := (k.phase9 + uint32(simd)) % 4
	switch c {
	case CategorySMEM:
		phase += 5
	case CategorySALU:
		if !newPC {
			phase += 5
		}
	case CategoryVALU:
		phase += 2
	case CategoryLDS, CategoryJump, CategoryNext, CategoryMessage:
		phase++
	}
	return Cycles(phase / 4 * 4)
}

// place9 gives records their places up to the first one without a type.
func (k *walk) place9(t *tracedWave) {
	for !t.waiting {
		i := t.gfx9.placed - t.first
		if i >= len(t.insts) || t.insts[i].Category == CategoryNone {
			break
		}
		k.place(t, i)
		t.gfx9.placed++
	}
}

// end9 ends a wave: s_endpgm lasts until then.
func (k *walk) end9(t *tracedWave, now Cycles) {
	if n := len(t.insts); n > 1 && t.insts[n-1].Category == CategoryMessage {
		in := &t.insts[n-1]
		end := max(in.end(), now)
		in.Time = t.insts[n-2].end()
		in.Stall = 0
		in.Dur = uint32(min(max(0, end-in.Time), maxDur))
	}
}

// walk9 decodes one window of a GFX9 stream whose instructions are walked; see fast9.
func (d *WaveDecoder) walk9(s *scanBuffers, win *window, buf []byte, size int, final bool) (more bool) {
	at := d.pos / 8
	end, pieces := s.scan9(walkKinds9, win, uint64(size/2))
	k := d.walk
	if k.cache.full {
		k.forget()
	}
	waves, n := d.roomFor(pieces)
	r := waveRun{
		live: d.live, waves: waves, n: n, origin: d.now, first: (d.base + int64(at)) * 8, runs: d.runs,
		traced: 1 + k.cu, blocks: &s.blocks, clock: &d.plain,
	}
	var p Packet
	for _, piece := range pieces {
		for events := piece.events; ; events = events[1:] {
			events = events[r.gfx9(win, events, Cycles(piece.base)*4):]
			if len(events) == 0 {
				break
			}
			e := events[0]
			i := int(uint16(e)) * 2
			w := binary.LittleEndian.Uint64(win[i : i+8])
			now := r.origin + Cycles(piece.base+e>>scanTime)*4
			kind := gfx9Keys[w&15].kind
			switch kind {
			case KindIssue, KindInst, KindInstPc, KindRegCs, KindRegCsPriv:
				k.token9(kind, w, now)
				continue
			case KindMisc:
				if by, ok := d.timeReset(uint32(w), now, buf, at+i, final); ok {
					r.origin += by
					continue
				}
			}
			d.now, d.pos, d.res.Waves, d.open = now-Cycles(w>>4&uint64(walkKinds9.time[w&15]))*4, (at+i)*8, r.waves[:r.n], d.open+r.open
			r.open = 0
			if !d.next(&p, buf, d.pos, final) {
				return false
			}
			p.Off += d.base * 8
			d.token(&p)
			r.waves, r.n = d.res.Waves[:len(waves)], len(d.res.Waves)
			if kind == KindMisc { // only MISCs change time but by their own delta
				r.origin += d.now - now
			}
		}
	}
	d.res.Waves = r.waves[:r.n]
	d.open += r.open
	d.now = r.origin + Cycles(end>>scanTime)*4
	d.pos = (at + int(uint16(end))*2) * 8
	return size == windowBytes
}
