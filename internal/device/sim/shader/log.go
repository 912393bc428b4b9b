package shader

import "sync"

// maxLog bounds the entries of one wave's log. A wave that executes more is marked Cut.
const maxLog = 1 << 24

var logPool sync.Pool

func newGroupLog(id [3]uint32, waves int, p *Program) *GroupLog {
	l, _ := logPool.Get().(*GroupLog)
	if l == nil {
		l = &GroupLog{}
	}
	l.ID, l.Prog = id, p
	if cap(l.Waves) < waves {
		l.Waves = append(l.Waves[:cap(l.Waves)], make([]WaveLog, waves-cap(l.Waves))...)
	}
	l.Waves = l.Waves[:waves]
	for i := range l.Waves {
		w := &l.Waves[i]
		*w = WaveLog{Pieces: w.Pieces[:0], Mem: w.Mem[:0], Data: w.Data[:0]}
	}
	return l
}

// Release gives the log's memory back. The log must not be used afterwards.
func (l *GroupLog) Release() {
	l.Prog = nil
	logPool.Put(l)
}

func (l *WaveLog) piece(first, n int, taken bool) {
	if k := len(l.Pieces) - 1; k >= 0 {
		p := &l.Pieces[k]
		if p.First == int32(first) && p.N == int32(n) && p.Taken && taken && p.Count < 1<<30 {
			p.Count++
			return
		}
		if k >= maxLog {
			l.Cut = true
			return
		}
	}
	l.Pieces = append(l.Pieces, Piece{First: int32(first), N: int32(n), Count: 1, Taken: taken})
}

func (l *WaveLog) ref(m MemRef) {
	if len(l.Mem) >= maxLog {
		l.Cut = true
		return
	}
	l.Mem = append(l.Mem, m)
}

func (l *WaveLog) data(v uint32) {
	if len(l.Data) >= maxLog {
		l.Cut = true
		return
	}
	l.Data = append(l.Data, v)
}
