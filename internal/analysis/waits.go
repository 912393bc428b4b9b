package analysis

import (
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

// Counters is a set of the counters that a memory instruction keeps above zero until its data is there.
type Counters uint8

// The counters. GFX9 and RDNA3 count LDS and scalar loads in one (lgkmcnt), RDNA4 apart.
const (
	AddsLoad    Counters = 1 << iota // vmcnt, loadcnt; on GFX9 stores too
	AddsStore                        // vscnt, storecnt
	AddsLDS                          // lgkmcnt, dscnt
	AddsScalar                       // kmcnt
	numCounters = 4
)

// Waits is how many instructions a wait leaves outstanding, per counter; -1: it does not wait for that counter.
type Waits struct{ Load, Store, LDS, Scalar int16 }

var noWaits = Waits{-1, -1, -1, -1}

// SiteOf describes an instruction at a place.
func SiteOf(w Where, in *isa.Inst) Site {
	s := Site{Where: w, Class: in.Op.Class, Waits: noWaits}
	rdna4 := in.Arch == isa.RDNA4
	switch s.Class {
	case isa.SMEM_:
		s.Adds = AddsLDS
		if rdna4 {
			s.Adds = AddsScalar
		}
		if !in.Op.Has(isa.FlagLoad) {
			s.Adds = 0
		}
	case isa.LDS:
		s.Adds, s.Words = AddsLDS, ldsWords(in)
	case isa.VMEM, isa.Global, isa.Scratch, isa.Image, isa.Flat:
		s.Adds = vectorCounters(in)
	case isa.Wait:
		s.Waits = waitsOf(in)
	}
	return s
}

// vectorCounters is what a vector memory instruction counts in.
func vectorCounters(in *isa.Inst) Counters {
	if in.Op.Has(isa.FlagCache) {
		// LLVM's SIInsertWaitcnts: global_inv counts in loadcnt, global_wb and global_wbinv in storecnt, buffer_wbl2 in vmcnt; the invalidations
		// of RDNA3 and GFX9 in none.
		switch in.Op.Name {
		case "global_inv", "buffer_wbl2":
			return AddsLoad
		case "global_wb", "global_wbinv":
			return AddsStore
		}
		return 0
	}
	adds := AddsLoad
	if !in.Arch.CDNA() && !in.Op.Has(isa.FlagLoad) && !in.Returns() {
		adds = AddsStore
	}
	if in.Op.Class == isa.Flat {
		adds |= AddsLDS // a generic address may be in LDS
	}
	return adds
}

// ldsWords is how many dwords an LDS instruction moves for each lane.
func ldsWords(in *isa.Inst) uint8 {
	data, dst := 0, 0
	for i := range in.NumArgs() {
		switch a := in.Arg(i); {
		case a.Field == isa.FieldVaddr || a.Kind != isa.ArgVGPR && a.Kind != isa.ArgAGPR:
		case a.Dir == isa.In:
			data += a.Regs()
		default:
			dst += a.Regs()
		}
	}
	return uint8(max(data, dst, 1))
}

// waitsOf reads a wait's limits. Fields of s_waitcnt: GFX9 vmcnt 3..0 and 15..14, lgkmcnt 11..8; RDNA3 vmcnt 15..10, lgkmcnt 9..4; a field of
// all ones does not wait. RDNA4 has one instruction per counter, and two that join loadcnt or storecnt (13..8) with dscnt (5..0).
func waitsOf(in *isa.Inst) Waits {
	w := noWaits
	v := uint16(in.Field(isa.FieldSimm16))
	limit := func(n, most uint16) int16 {
		if n >= most {
			return -1
		}
		return int16(n)
	}
	switch name := in.Op.Name; {
	case name == "s_waitcnt" && in.Arch.CDNA():
		w.Load, w.LDS = limit(v&15|v>>14<<4, 63), limit(v>>8&15, 15)
	case name == "s_waitcnt":
		w.Load, w.LDS = limit(v>>10, 63), limit(v>>4&63, 63)
	case name == "s_waitcnt_vscnt", name == "s_wait_storecnt":
		w.Store = limit(v, 63)
	case name == "s_waitcnt_vmcnt", name == "s_wait_loadcnt":
		w.Load = limit(v, 63)
	case name == "s_waitcnt_lgkmcnt", name == "s_wait_dscnt":
		w.LDS = limit(v, 63)
	case name == "s_wait_kmcnt":
		w.Scalar = limit(v, 63)
	case strings.HasSuffix(name, "loadcnt_dscnt"):
		w.Load, w.LDS = limit(v>>8&63, 63), limit(v&63, 63)
	case strings.HasSuffix(name, "storecnt_dscnt"):
		w.Store, w.LDS = limit(v>>8&63, 63), limit(v&63, 63)
	}
	return w
}

// queues holds a wave's memory instructions whose data may not be there yet, oldest first, per counter.
type queues struct {
	q [numCounters][]outstanding
	n int64 // instructions so far

	words int64 // dwords a lane that were asked of LDS so far
}

type outstanding struct {
	site   int32
	issued int64
	n      int64 // instructions before it
	words  int64 // of LDS: dwords a lane that the wave had asked for and not got, its own included
	before int64 // and all that it had ever asked for before
}

// maxOutstanding bounds a queue: code that never waits forgets the oldest.
const maxOutstanding = 256

// kinds of memory, the fastest first.
const (
	kindLDS = iota
	kindScalar
	kindVector
	numKinds
)

func kindOf(c isa.Class) int {
	switch c {
	case isa.LDS:
		return kindLDS
	case isa.SMEM_:
		return kindScalar
	}
	return kindVector
}

// headStart is by how many cycles an access of a slower kind must have issued before one of a faster kind for the faster one to be taken for the one that
// came last. The steps are ours: LDS answers within tens of cycles, scalar and vector loads within hundreds to a thousand.
var headStart = [numKinds]int64{0, 500, 1000}

// step takes one instruction in: it joins the queues of its counters, or waits for them. A counter counts down in order of issue, so
// of one kind of memory the youngest instruction that a wait takes off is the one it waited for. Where it takes off several kinds, of one
// counter or of two, the slowest is, unless that one has been under way for long. Nothing tells when the others came: they give no latency.
func (q *queues) step(p *Profile, site int32, x Window) {
	s := &p.Insts[site]
	q.n++
	for c := range numCounters {
		if s.Adds>>c&1 == 0 {
			continue
		}
		if len(q.q[c]) >= maxOutstanding {
			q.q[c] = q.q[c][1:]
		}
		o := outstanding{site: site, issued: x.Issue, n: q.n, before: q.words}
		if s.Words > 0 {
			before := q.words
			if len(q.q[c]) > 0 {
				before = q.q[c][0].before
			}
			o.words = q.words + int64(s.Words) - before
		}
		q.q[c] = append(q.q[c], o)
	}
	q.words += int64(s.Words)
	if s.Class != isa.Wait {
		return
	}
	most := [numCounters]int16{s.Waits.Load, s.Waits.Store, s.Waits.LDS, s.Waits.Scalar}
	var waitedFor outstanding
	slowest, last := -1, int64(0)
	for c, most := range most {
		if most < 0 || len(q.q[c]) <= int(most) {
			continue
		}
		for _, o := range q.q[c][:len(q.q[c])-int(most)] {
			kind := kindOf(p.Insts[o.site].Class)
			if due := o.issued + headStart[kind]; slowest < 0 || due >= last {
				waitedFor, last = o, due
			}
			slowest = max(slowest, kind)
		}
	}
	if slowest < 0 {
		return
	}
	for c, most := range most {
		if most < 0 {
			continue
		}
		for len(q.q[c]) > int(most) {
			o := q.q[c][0]
			q.q[c] = q.q[c][1:]
			l := &p.Insts[o.site]
			// A generic address counts in two counters, but comes once.
			if kind := kindOf(l.Class); kind < slowest || kind == kindVector && Counters(1<<c) == AddsLDS {
				continue
			}
			l.Loads++
			l.Between += q.n - o.n - 1
			l.LatencySum += x.End - o.issued
			l.LatencyMax = max(l.LatencyMax, x.End-o.issued)
			if kindOf(l.Class) == kindVector {
				s.Drained++
			}
		}
	}
	if s.WaitedFor == nil {
		s.WaitedFor = map[int32]int64{}
	}
	s.WaitedFor[waitedFor.site] += x.End - x.Begin
	if slowest == kindLDS {
		t := &p.Insts[waitedFor.site].Timed
		t.Of++
		if x.End-x.Begin >= stalled && s.PC%codeLine != 0 {
			t.add(x.End-waitedFor.issued, waitedFor.words)
		}
	}
}
