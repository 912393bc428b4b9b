package sqtt

import "math"

// ClockLimits are what times of a stream can be. A byte that is missing makes a TIMESTAMP of others' bits, and then time of years, or
// of microseconds that never were; realtime markers, which count another clock, tell.
type ClockLimits struct {
	MaxHz   float64 // of the shader clock
	RefHz   float64 // of the clock that markers count
	Idle    float64 // seconds that the shader clock may stand still
	Longest Cycles  // that one token can pass; 0: any time
	Total   Cycles  // that the stream can last; 0: not known
}

const (
	// markerSlack is how many ticks two neighbouring markers may be off. GFX12 captures count in steps of 4, and up to 511 cycles pass in one
	// step: right within 8.
	markerSlack = 16
	// minHz is what the shader clock does at least where it does not stand still. RDNA GPUs in deep sleep tell of some 20 MHz; in captures it is
	// 100 MHz or more between markers further apart than they may be off.
	minHz = 1e6
	// resetSlack is how many cycles a GFX9 TIME_RESET may take back: what its own delta holds. In captures it is 4 at most.
	resetSlack = 255 * 4
)

// Fit says whether marker b can follow marker a.
func (l *ClockLimits) Fit(a, b Marker) bool {
	return l.misfit(b.Shader-a.Shader, b.Realtime-a.Realtime) == doubtsNone
}

func (l *ClockLimits) misfit(cycles Cycles, ticks int64) DoubtKind {
	seconds := float64(ticks) / l.RefHz
	switch {
	case cycles < 0:
		return DoubtReverse
	case ticks < -markerSlack:
		return DoubtRefReverse
	case float64(cycles) > l.MaxHz*(seconds+markerSlack/l.RefHz):
		return DoubtFast
	case float64(cycles) < minHz*(seconds-l.Idle):
		return DoubtSlow
	}
	return doubtsNone
}

// DoubtKind is a way in which times cannot be.
type DoubtKind uint8

// The kinds.
const (
	doubtsNone      DoubtKind = iota
	DoubtFast                 // more cycles between two markers than the shader clock can do
	DoubtSlow                 // fewer than it does
	DoubtRefReverse           // the reference clock goes back
	DoubtReverse              // shader time goes back
	DoubtLong                 // one token passes more time than the stream can last
	DoubtTotal                // all tokens together do
)

// Doubt is a part of a stream whose times contradict each other, or what is known of the recording.
type Doubt struct {
	Kind     DoubtKind
	From, To int64  // bits from the stream's start: of the markers at its ends, or of the token
	Cycles   Cycles // that it lasts
	Ticks    int64  // between the markers
	Jump     int64  // bits from the stream's start: of the token in it that passes most time
	Most     Cycles // that it passes
}

// Doubts are the parts of a stream whose times cannot be.
type Doubts struct {
	N      int64
	Cycles Cycles // of all of them; no more than a Cycles can be
	First  Doubt
}

func (d *Doubts) add(one Doubt) {
	if d.N == 0 {
		d.First = one
	}
	d.N++
	d.Cycles = Cycles(addSat(int64(d.Cycles), int64(one.Cycles)))
}

// ClockCheck looks through all tokens of a stream for times that cannot be, and where they are. Whether any can be there is known
// without it: markers do not fit, waves end before others that ended already, or the stream lasts longer than it can.
type ClockCheck struct {
	Limits ClockLimits
	found  Doubts

	now    Cycles // of the last token
	total  Cycles
	widest Doubt // the token that passes most time

	marked  bool
	last    Marker
	at      int64 // bits, of the last marker
	passed  Cycles
	biggest Doubt  // the token that passes most time since the last marker
	long    Doubts // since then, too
}

// Token takes the next token of the stream.
func (c *ClockCheck) Token(p *Packet) {
	step := p.Time - c.now
	c.now = p.Time
	if step < 0 { // of GFX9, whose TIME tokens tell what the time is; or of more than 63 bits
		if step >= -resetSlack {
			return
		}
		c.found.add(Doubt{Kind: DoubtReverse, From: p.Off, To: p.Off, Cycles: Cycles(min(abs(int64(step)), math.MaxInt64)), Jump: p.Off})
		step = 0
	}
	c.passed, c.total = Cycles(addSat(int64(c.passed), int64(step))), Cycles(addSat(int64(c.total), int64(step)))
	if step > c.biggest.Most {
		one := Doubt{DoubtLong, p.Off, p.Off, step, 0, p.Off, step}
		c.biggest = one
		if step > c.widest.Most {
			c.widest = one
		}
	}
	if c.Limits.Longest > 0 && step > c.Limits.Longest {
		c.long.add(Doubt{DoubtLong, p.Off, p.Off, step, 0, p.Off, step})
	}
	if m, ok := p.Marker(); ok {
		c.marker(m, p.Off)
	}
}

func (c *ClockCheck) marker(m Marker, off int64) {
	ticks, kind := m.Realtime-c.last.Realtime, doubtsNone
	if c.marked {
		kind = c.Limits.misfit(c.passed, ticks)
	}
	if kind != doubtsNone {
		c.found.add(Doubt{kind, c.at, off, c.passed, ticks, c.biggest.Jump, c.biggest.Most})
	} else {
		c.keepLong()
	}
	c.marked, c.last, c.at = true, m, off
	c.passed, c.biggest, c.long = 0, Doubt{}, Doubts{}
}

// keepLong counts the tokens that pass too much time where no markers tell more.
func (c *ClockCheck) keepLong() {
	if c.long.N == 0 {
		return
	}
	if c.found.N == 0 {
		c.found.First = c.long.First
	}
	c.found.N += c.long.N
	c.found.Cycles = Cycles(addSat(int64(c.found.Cycles), int64(c.long.Cycles)))
}

// Found is how many doubts the tokens so far make sure of.
func (c *ClockCheck) Found() int64 { return c.found.N }

// Doubts are those of the stream, once it has ended.
func (c *ClockCheck) Doubts() Doubts {
	c.keepLong()
	c.long = Doubts{}
	if c.found.N == 0 && c.Limits.Total > 0 && c.total > c.Limits.Total {
		c.found.add(Doubt{Kind: DoubtTotal, Cycles: c.total, Jump: c.widest.Jump, Most: c.widest.Most})
	}
	return c.found
}
