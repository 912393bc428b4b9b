package timing

import "slices"

const (
	endWave = iota
	endSlot
)

// ending is a wave's end, or its slot's return.
type ending struct {
	t    int64
	seq  uint64
	w    *wave
	kind uint8
}

// heap of endings, the earliest first, at one time in the order of pushes.
type heap struct {
	e   []ending
	seq uint64
}

func (h *heap) less(i, j int) bool {
	a, b := &h.e[i], &h.e[j]
	return a.t < b.t || a.t == b.t && a.seq < b.seq
}

func (h *heap) first() int64 {
	if len(h.e) == 0 {
		return never
	}
	return h.e[0].t
}

func (h *heap) push(x ending) {
	h.seq++
	x.seq = h.seq
	h.e = append(h.e, x)
	for i := len(h.e) - 1; i > 0; {
		p := (i - 1) / 2
		if !h.less(i, p) {
			break
		}
		h.e[i], h.e[p] = h.e[p], h.e[i]
		i = p
	}
}

func (h *heap) pop() ending {
	x := h.e[0]
	n := len(h.e) - 1
	h.e[0] = h.e[n]
	h.e = h.e[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && h.less(c+1, c) {
			c++
		}
		if !h.less(c, i) {
			break
		}
		h.e[i], h.e[c] = h.e[c], h.e[i]
		i = c
	}
	return x
}

// eventQueue collects events and hands them over in order of time.
type eventQueue struct {
	wait, ready []Event
}

func (q *eventQueue) add(e Event) { q.wait = append(q.wait, e) }

// endBy moves the end of the dispatch, as the command processor tells it, to no later than t: what follows may not come before it.
func (q *eventQueue) endBy(t int64) {
	for i := range q.wait {
		if e := &q.wait[i]; e.Kind == AllLaunched {
			e.Time = min(e.Time, t)
		}
	}
}

// flush hands over the events before end.
func (q *eventQueue) flush(end int64, obs []Observer) {
	if len(q.wait) == 0 {
		return
	}
	q.ready = q.ready[:0]
	keep := q.wait[:0]
	for _, e := range q.wait {
		if e.Time < end {
			q.ready = append(q.ready, e)
		} else {
			keep = append(keep, e)
		}
	}
	q.wait = keep
	if len(q.ready) == 0 {
		return
	}
	slices.SortStableFunc(q.ready, func(a, b Event) int {
		if a.Time != b.Time {
			return int(a.Time - b.Time)
		}
		return int(a.Kind) - int(b.Kind)
	})
	for _, o := range obs {
		o.Events(q.ready)
	}
}
