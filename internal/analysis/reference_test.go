package analysis

import (
	"cmp"
	"slices"
	"sort"

	"github.com/rigprof/rigprof/internal/isa"
)

// wholeWave is a wave with all its records.
type wholeWave struct {
	Wave
	Insts []Inst
}

// reference sums up waves that lie in memory whole, as plainly as it can be written: what Run is compared with.
type reference struct {
	Profile
	waves []Cost // of each wave
}

func newReference(waves []wholeWave, sites []Site) *reference {
	p := &reference{}
	p.Insts = make([]InstCost, len(sites))
	p.waves = make([]Cost, len(waves))
	for i := range sites {
		p.Insts[i].Site = sites[i]
	}
	type key struct{ cu, simd int }
	by := map[key][]int{}
	for i := range waves {
		k := key{waves[i].CU, waves[i].SIMD}
		by[k] = append(by[k], i)
	}
	ran := map[[2]int]bool{} // site, wave
	for _, list := range by {
		var spans []refSpan
		for _, i := range list {
			spans = append(spans, refSpans(&waves[i], sites)...)
		}
		for _, i := range list {
			p.wave(i, &waves[i], spans, ran)
		}
		slices.SortFunc(list, func(a, b int) int { return cmp.Compare(waves[a].Start, waves[b].Start) })
		until := waves[list[0]].Start
		for _, i := range list {
			if w := &waves[i]; w.Stop > until {
				p.busy += w.Stop - max(w.Start, until)
				until = w.Stop
			}
		}
	}
	p.Profile.Waves = int64(len(waves))
	return p
}

type refSpan struct {
	from, to int64
	rank     int
}

// refSpans is when a wave keeps pipes busy: while its instructions run, but for the time in which the one before has not ended.
func refSpans(w *wholeWave, sites []Site) (out []refSpan) {
	end := w.Start
	for _, in := range w.Insts {
		from, to := max(in.Time+int64(in.Stall), end), in.Time+int64(in.Dur)
		if r := rankOf(sites[in.Site].Class); r > rankNone && to > from {
			out = append(out, refSpan{from, to, r})
		}
		end = max(end, from, to)
	}
	return out
}

// overlap is how much of from..to the spans of at least the rank cover.
func overlap(spans []refSpan, rank int, from, to int64) (n int64) {
	var in []refSpan
	for _, s := range spans {
		if s.rank >= rank && s.to > from && s.from < to {
			in = append(in, s)
		}
	}
	sort.Slice(in, func(a, b int) bool { return in[a].from < in[b].from })
	at := from
	for _, s := range in {
		if a, b := max(s.from, at), min(s.to, to); b > a {
			n += b - a
			at = b
		}
	}
	return n
}

func (p *reference) wave(i int, w *wholeWave, spans []refSpan, ran map[[2]int]bool) {
	prev, last := w.Start, (*InstCost)(nil)
	var q queues
	for k := 0; k < len(w.Insts); k++ {
		in := w.Insts[k]
		ic := &p.Insts[in.Site]
		switch ic.Class {
		case isa.Barrier:
			if k+1 < len(w.Insts) && w.Insts[k+1].Site == in.Site { // the record of leaving it
				k++
				in.Dur = max(in.Dur, int32(w.Insts[k].Time-in.Time)+w.Insts[k].Dur)
			}
			if k+1 < len(w.Insts) {
				in.Dur = max(in.Dur, int32(w.Insts[k+1].Time-in.Time))
			}
			in.Stall = in.Dur
		case isa.End:
			in.Stall = in.Dur
		}
		x := Window{Begin: prev, Ready: max(in.Time, prev)}
		x.Issue = max(in.Time+int64(in.Stall), x.Ready)
		x.End = max(in.Time+int64(in.Dur), x.Issue)
		x.Ready, x.Issue, x.End = min(x.Ready, w.Stop), min(x.Issue, w.Stop), min(x.End, w.Stop)
		c := Cost{Hits: 1, Idle: x.Ready - x.Begin, Stall: x.Issue - x.Ready, Issue: x.End - x.Issue}
		r := rankOf(ic.Class)
		c.Hidden = overlap(spans, max(r, rankScalar), x.Begin, x.Issue) + overlap(spans, r+1, x.Issue, x.End)
		ic.Cost.Add(c)
		ic.MaxStall = max(ic.MaxStall, c.Stall)
		if k := [2]int{int(in.Site), i}; !ran[k] {
			ran[k] = true
			ic.Waves++
		}
		p.waves[i].Add(c)
		prev, last = x.End, ic
		q.step(&p.Profile, in.Site, x)
	}
	if tail := w.Stop - prev; tail > 0 {
		c := Cost{Idle: tail, Hidden: overlap(spans, rankScalar, prev, w.Stop)}
		p.waves[i].Add(c)
		if last != nil {
			last.Cost.Add(c)
		} else {
			p.Idle.Add(c)
		}
	}
	p.Total.Add(p.waves[i])
}
