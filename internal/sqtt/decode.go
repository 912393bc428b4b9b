package sqtt

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/rigprof/rigprof/internal/gpu"
)

// DecodeWaves decodes the waves, realtime markers and losses of one engine's stream. A GFX9 software header is left out
// where the stream confirms it.
func DecodeWaves(f gpu.Family, buf []byte) *Result { return DecodeWavesWith(f, HeaderAuto, buf) }

// DecodeWavesWith is DecodeWaves with the choice whether a GFX9 stream starts with a software header.
func DecodeWavesWith(f gpu.Family, h Header, buf []byte) *Result {
	d := decoderPool.Get().(*WaveDecoder)
	d.Reset(f, h)
	d.feed(buf, true)
	d.finish()
	r := d.res
	d.res = Result{}
	decoderPool.Put(d)
	return &r
}

var decoderPool = sync.Pool{New: func() any { return new(WaveDecoder) }}

// WaveDecoder decodes a stream that comes in pieces; the result is the same however it is cut. Reset makes it
// ready for a stream.
type WaveDecoder struct {
	res    Result
	header Header

	plain // what the tokens so far make of the next one

	bits    *waveBits           // where RDNA wave tokens have their fields
	live    *[numSlots]liveWave // by slotKey
	places  *waveBits           // whose places live has
	runs    uint32              // counts Resets, so that they need not clear live
	open    int                 // waves that run
	stalled bool
	since   Cycles

	walk *walk // of a Walker

	carry  []byte // bytes not decoded yet
	pos    int    // bits of carry's first byte that are
	base   int64  // bytes of the stream before carry
	begun  bool   // GFX9: the software header is decided on
	zeros  int    // zero bytes of the line that what was fed ends in; negative once there are others
	holes  []Loss
	slow   int // tokens that the plain decoder takes before the fast path is tried again
	closed bool
}

// liveWave is a wave that runs, in the stream that its run names.
type liveWave struct {
	start Cycles
	off   int64
	run   uint32
	raw   uint32 // the WAVE_START's low bits
	place uint32 // what Wave says of the slot's: CU, SIMD << 8, Slot << 16. Of RDNA slots; it stays
}

const liveSize = 32 // bytes of a liveWave

const numSlots = 1 << 12

// slotKey is a wave's place, in the order of its family's token bits.
type slotKey uint32

// Reset makes the decoder ready for a new stream of a family.
func (d *WaveDecoder) Reset(f gpu.Family, h Header) {
	live, r := d.live, &d.res
	if live == nil {
		live = new([numSlots]liveWave)
	}
	*d = WaveDecoder{
		plain: *newPlain(f), header: h, begun: f != gpu.GFX9,
		bits: &waveBits11, live: live, places: d.places, runs: d.runs + 1, carry: d.carry[:0],
		res: Result{Waves: r.Waves[:0], Open: r.Open[:0], Markers: r.Markers[:0], Losses: Losses{First: r.Losses.First[:0]}},
	}
	if d.runs == 0 { // after 2^32 of them
		*live = [numSlots]liveWave{}
		d.runs, d.places = 1, nil
	}
}

// Result is what the tokens so far hold. It is the decoder's, until Reset; what it grows by may be cut off.
func (d *WaveDecoder) Result() *Result { return &d.res }

// Feed decodes the next bytes of the stream.
func (d *WaveDecoder) Feed(p []byte) { d.feed(p, false) }

// Close decodes what was kept because more bytes could have followed.
func (d *WaveDecoder) Close() {
	if d.closed {
		return
	}
	d.feed(nil, true)
	d.finish()
}

func (d *WaveDecoder) feed(p []byte, final bool) {
	d.findEmpty(p)
	d.res.Bytes += int64(len(p))
	buf := p
	if len(d.carry) > 0 {
		d.carry = append(d.carry, p...)
		buf = d.carry
	}
	if !d.begun {
		if len(buf) < softwareHeaderBytes+2 && !final {
			d.carry = append(d.carry[:0], buf...)
			return
		}
		d.begun = true
		d.res.Header = headerBytes(d.header, buf)
		d.pos = d.res.Header * 8
	}
	d.run(buf, final)
	n := d.pos / 8
	d.carry = append(d.carry[:0], buf[n:]...)
	d.base += int64(n)
	d.pos %= 8
}

// emptyLine is the unit in which zeros are counted as empty. No token stream has as many: padding ends at 32 bytes.
const emptyLine = 64

// findEmpty counts lines of zeros.
func (d *WaveDecoder) findEmpty(p []byte) {
	at := d.res.Bytes
	for len(p) > 0 {
		if at%emptyLine == 0 { // the common case: whole lines with something in them
			rest := p
			for len(rest) >= 4*emptyLine && begins(rest) && begins(rest[emptyLine:]) && begins(rest[2*emptyLine:]) && begins(rest[3*emptyLine:]) {
				rest = rest[4*emptyLine:]
			}
			for len(rest) >= emptyLine && begins(rest) {
				rest = rest[emptyLine:]
			}
			at += int64(len(p) - len(rest))
			p = rest
		}
		n := min(emptyLine-int(at%emptyLine), len(p))
		if at%emptyLine == 0 {
			d.zeros = 0
		}
		line := p[:n]
		for len(line) >= 8 && !begins(line) {
			d.zeros += 8
			line = line[8:]
		}
		for _, b := range line {
			if b != 0 {
				d.zeros = -emptyLine
				break
			}
			d.zeros++
		}
		p, at = p[n:], at+int64(n)
		if d.zeros == emptyLine && at%emptyLine == 0 {
			d.hole((at - emptyLine) * 8)
		}
	}
}

// begins says whether a line has something in its first eight bytes.
func begins(line []byte) bool { return binary.LittleEndian.Uint64(line) != 0 }

// hole notes an empty line at bit off. Holes are noted ahead of the tokens, so they join the other losses at the end.
func (d *WaveDecoder) hole(off int64) {
	d.res.Losses.EmptyBytes += emptyLine
	if d.walk != nil {
		d.walk.hole(off / 8)
	}
	if i := len(d.holes) - 1; i >= 0 && d.holes[i].Off+d.holes[i].N*8 == off {
		d.holes[i].N += emptyLine
	} else if len(d.holes) < maxLosses {
		d.holes = append(d.holes, Loss{Kind: LossEmpty, Off: off, Time: -1, N: emptyLine})
	}
}

// run decodes whole tokens of buf from bit d.pos on and leaves d.pos behind them.
func (d *WaveDecoder) run(buf []byte, final bool) {
	s := scanPool.Get().(*scanBuffers)
	defer scanPool.Put(s)
	if d.base == 0 && d.pos == 0 {
		d.plainUntil(buf, 1, final) // a HEADER, most likely: the windows behind it read by it
	}
	if d.walk != nil && !d.runToHoles(s, buf, final) {
		return
	}
	for d.fast(s, buf, final) {
	}
	d.plainUntil(buf, math.MaxInt, final)
}

// runToHoles is run up to the last hole in buf, and tells the walk of each. It is false where the tokens do not get there yet.
func (d *WaveDecoder) runToHoles(s *scanBuffers, buf []byte, final bool) bool {
	holes := d.walk.holes
	for len(holes) > 0 {
		from, to := int(holes[0].from-d.base), int(holes[0].to-d.base)
		for d.pos/8 < from && d.fast(s, buf[:from], false) {
		}
		if !d.plainUntil(buf, to*8, final) { // no token but padding begins in a hole
			break
		}
		d.walk.loss(d.now)
		holes = holes[1:]
	}
	d.walk.holes = append(d.walk.holes[:0], holes...)
	return len(holes) == 0
}

// plainUntil decodes tokens one by one until bit stop of buf. It is false where no whole token is left before.
func (d *WaveDecoder) plainUntil(buf []byte, stop int, final bool) bool {
	var p Packet
	for d.pos < stop {
		if !d.next(&p, buf, d.pos, final) {
			return false
		}
		p.Off += d.base * 8
		d.token(&p)
		d.pos += int(p.Bits)
	}
	return true
}

// fast decodes one window of buf. It is false where what is left is for the plain decoder.
func (d *WaveDecoder) fast(s *scanBuffers, buf []byte, final bool) bool {
	for ; d.ext || d.slow > 0; d.slow-- {
		if !d.plainUntil(buf, d.pos+1, false) {
			return false
		}
	}
	d.slow = 0
	at := d.pos / 8
	rest := buf[at:]
	if len(rest) < 128 { // not worth a window
		return false
	}
	size := min(len(rest), windowBytes)
	if d.family != gpu.GFX9 {
		return d.fastRDNA(s, buf, size)
	}
	win := &s.win
	if len(rest) >= len(win) {
		win = (*window)(rest)
	} else {
		n := copy(win[:], rest)
		clear(win[n:min(n+windowSlack, len(win))])
	}
	return d.fast9(s, win, buf, size, final)
}

// start begins a wave in a slot by the WAVE_START raw, at bit off.
func (d *WaveDecoder) start(k slotKey, raw uint32, now Cycles, off int64) {
	k %= numSlots
	l := &d.live[k]
	if l.run == d.runs {
		d.dropStart(l)
	}
	l.start, l.off, l.run, l.raw = now, off, d.runs, raw
	d.open++
	if d.walk == nil {
		return
	}
	if i, ok := d.walk.slotOf(k, d.bits, d.family); ok && !d.walk.context(i, contextStepOf(d.family, raw), now) {
		w := d.waveOf(k, raw)
		w.Start = now
		d.walk.start(i, &w)
	}
}

// waveOf is the wave of a slot that the WAVE_START raw began, without its times.
func (d *WaveDecoder) waveOf(k slotKey, raw uint32) (w Wave) {
	if d.family == gpu.GFX9 {
		fill9(&w, k, raw)
		return w
	}
	return d.bits.wave(k, raw)
}

// dropStart gives up the wave that runs in a slot where another one starts.
func (d *WaveDecoder) dropStart(l *liveWave) {
	d.res.Losses.add(LossStart, l.off, l.start, 1)
	d.open--
}

// roomFor is the result's waves with room for n+1 more, and how many there are. What is beyond them is undefined.
func (d *WaveDecoder) roomFor(n int) (waves []Wave, have int) {
	have = len(d.res.Waves)
	d.res.Waves = slices.Grow(d.res.Waves, n+1)
	return d.res.Waves[:have+n+1], have
}

// stop ends a slot's wave by a WAVE_END at bit off.
func (d *WaveDecoder) stop(k slotKey, now Cycles, off int64) {
	k %= numSlots
	if d.walk != nil {
		if i, ok := d.walk.slotOf(k, d.bits, d.family); ok {
			d.walk.stop(i, now)
		}
	}
	l := &d.live[k]
	if l.run != d.runs {
		d.res.Losses.add(LossEnd, off, now, 1)
		return
	}
	l.run = 0
	d.open--
	w := d.waveOf(k, l.raw)
	w.Start, w.Stop = l.start, now
	d.res.Waves = append(d.res.Waves, w)
}

// place brings live's places up to date.
func (d *WaveDecoder) place() {
	if d.places == d.bits {
		return
	}
	d.places = d.bits
	for k := range slotKey(numSlots) {
		w := d.bits.wave(k, 0)
		d.live[k].place = uint32(w.CU) | uint32(w.SIMD)<<8 | uint32(w.Slot)<<16
	}
}

func (d *WaveDecoder) startKey(w uint32) slotKey {
	if d.family == gpu.GFX9 {
		return waveKey9(w)
	}
	return d.bits.startKey(w)
}

func (d *WaveDecoder) endKey(w uint32) slotKey {
	if d.family == gpu.GFX9 {
		return waveKey9(w)
	}
	return d.bits.endKey(w)
}

// switchFamily keeps the waves that run under their keys of the family that a HEADER announced, which has all units of the one before.
func (d *WaveDecoder) switchFamily() {
	from, to := d.bits, waveBitsOf(d.family)
	if to == from {
		return
	}
	d.bits = to
	if d.open == 0 {
		return
	}
	type moving struct {
		Wave
		liveWave
	}
	var running []moving
	for k := range d.live {
		if l := &d.live[k]; l.run == d.runs {
			running = append(running, moving{from.wave(slotKey(k), l.raw), *l})
			l.run = 0
		}
	}
	for _, m := range running {
		l := &d.live[to.key(m.Wave)%numSlots]
		l.start, l.off, l.run, l.raw = m.start, m.off, m.run, m.raw>>25<<25|(uint32(m.ME)<<2|uint32(m.Pipe))<<to.pipe
	}
}

// token takes what a token of the plain decoder says.
func (d *WaveDecoder) token(p *Packet) {
	if d.walk != nil {
		d.walk.any(p)
	}
	switch p.Kind {
	case KindWaveStart, KindWaveStartExt:
		d.start(d.startKey(uint32(p.Raw)), uint32(p.Raw), p.Time, p.Off)
	case KindWaveEnd:
		d.stop(d.endKey(uint32(p.Raw)), p.Time, p.Off)
	case KindTimestamp:
		if m, ok := p.Marker(); ok {
			d.res.Markers = append(d.res.Markers, m)
		} else if _, lost, _ := timestamp(p.Family, p.Raw); lost {
			d.res.Losses.add(LossPackets, p.Off, p.Time, 1)
		}
	case KindMisc:
		d.misc(p)
	case KindUnknown:
		d.res.Losses.add(LossUnknown, p.Off, p.Time, int64(p.Bits))
	case KindHeader:
		d.switchFamily()
	}
}

// misc takes the losses and stalls that a MISC tells of.
func (d *WaveDecoder) misc(p *Packet) {
	begin, end := p.Raw&miscStallBegin != 0, p.Raw&miscStallEnd != 0
	if p.Family == gpu.GFX9 {
		typ := p.Raw >> 13
		begin, end = typ == misc9StallBegin, typ == misc9StallEnd
		if typ == misc9Lost {
			d.res.Losses.add(LossPackets, p.Off, p.Time, 1)
		}
	}
	if end && d.stalled {
		d.res.Losses.StallCycles += max(0, p.Time-d.since) // a GFX9 TIME_RESET may move the clock back
		d.stalled = false
	}
	if begin {
		d.res.Losses.add(LossStall, p.Off, p.Time, 1)
		if !d.stalled {
			d.stalled, d.since = true, p.Time
		}
	}
}

// finish counts what the stream's end leaves open.
func (d *WaveDecoder) finish() {
	d.closed = true
	if d.walk != nil {
		d.walk.finish()
	}
	r := &d.res
	r.Family, r.End = d.family, d.now
	if n := int64(len(d.carry))*8 - int64(d.pos); n > 0 {
		r.Losses.add(LossTail, d.base*8+int64(d.pos), d.now, n)
	}
	if d.stalled {
		r.Losses.StallCycles += max(0, d.now-d.since)
	}
	for i := range d.live {
		if d.open == 0 {
			break
		}
		if l := &d.live[i]; l.run == d.runs {
			d.open--
			r.Losses.add(LossOpen, l.off, l.start, 1)
			w := d.waveOf(slotKey(i), l.raw)
			w.Start = l.start
			r.Open = append(r.Open, w)
		}
	}
	r.Losses.First = append(r.Losses.First, d.holes...)
}
