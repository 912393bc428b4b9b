package sqtt

import (
	"sync"

	"github.com/rigprof/rigprof/internal/gpu"
)

// waveBits say where an RDNA family's wave tokens name the slot. Its key has the array in bit 0, the SIMD in bits 1 and 2, then
// the WGP and the slot.
type waveBits struct {
	low, high [2]uint32 // of a WAVE_START shifted right by 7 and by 8; of a WAVE_END, by one more
	wgpMask   uint32    // of the WGP's number
	array     uint32    // the array's value in Wave.CU
	slot      uint8     // where the key has the slot
	realtime  uint32    // the TIMESTAMP flag of a realtime marker
	delta     uint64    // mask of a TIMESTAMP's value
	pipe      uint8     // where a WAVE_START has pipe and, two bits above, me
}

var (
	// WAVE_START: sa 7, simd 8..9, wgp 10..12, wave 13..17. WAVE_END: sa 8, simd 9..10, wgp 11..13, wave 15..19.
	waveBits11 = waveBits{low: [2]uint32{0x7ff, 0x3f}, high: [2]uint32{0, 0x7c0}, wgpMask: 7, array: 1 << 3, slot: 6, pipe: 21, realtime: 1 << 9, delta: 1<<36 - 1}
	// WAVE_START: sa 7, simd 8..9, wgp 10..13, wave 15..19. WAVE_END: sa 8, simd 9..10, wgp 11..14, wave 15..19.
	waveBits12 = waveBits{low: [2]uint32{0x7f, 0xfff}, high: [2]uint32{0xf80, 0}, wgpMask: 15, array: 1 << 4, slot: 7, pipe: 20, realtime: 1 << 7, delta: 1<<52 - 1}
)

func waveBitsOf(f gpu.Family) *waveBits {
	if f == gpu.GFX12 {
		return &waveBits12
	}
	return &waveBits11
}

func (b *waveBits) startKey(w uint32) slotKey { return slotKey(w>>7&b.low[0] | w>>8&b.high[0]) }
func (b *waveBits) endKey(w uint32) slotKey   { return slotKey(w>>8&b.low[1] | w>>9&b.high[1]) }

// key is the key of a wave's slot, in a unit that the family has.
func (b *waveBits) key(w Wave) slotKey {
	cu := uint32(w.CU)
	return slotKey(cu/b.array) | slotKey(w.SIMD)<<1 | slotKey(cu&b.wgpMask)<<3 | slotKey(w.Slot)<<b.slot
}

// units masks a key's bits that name the SIMD.
func (b *waveBits) units() uint32 { return 1<<(b.slot&31) - 1 }

// wave is the wave of a slot that the WAVE_START raw began, without its times.
// A count of 0x60 and more is lanes less one; others are steps of saving and restoring waves.
func (b *waveBits) wave(k slotKey, raw uint32) (w Wave) {
	w.CU = uint8(uint32(k)>>3&b.wgpMask | uint32(k)&1*b.array)
	w.SIMD = uint8(k >> 1 & 3)
	w.Slot = uint8(k >> (b.slot & 31))
	if n := raw >> 25; n >= 0x60 {
		w.Lanes = uint8(n - 0x60 + 1)
	}
	queue := raw >> (b.pipe & 31)
	w.Pipe = uint8(queue & 3)
	w.ME = uint8(queue >> 2 & 1)
	return w
}

// rdnaTables are what a family's windows are decoded by, made when they are needed.
type rdnaTables struct {
	waves, walk func() *laneTable
	ops         func() *walkOps
	begun       func() *[numBegun]uint64
}

var (
	rdnaTables11 = newRDNATables(gpu.GFX11, &waveBits11)
	rdnaTables12 = newRDNATables(gpu.GFX12, &waveBits12)
)

func newRDNATables(f gpu.Family, b *waveBits) *rdnaTables {
	return &rdnaTables{
		waves: sync.OnceValue(func() *laneTable { return newLaneTable(f, waveEventOf) }),
		walk:  sync.OnceValue(func() *laneTable { return newLaneTable(f, walkEventOf(f)) }),
		ops:   sync.OnceValue(func() *walkOps { return newWalkOps(f) }),
		begun: sync.OnceValue(b.newBegun),
	}
}

func rdnaTablesOf(f gpu.Family) *rdnaTables {
	if f == gpu.GFX12 {
		return rdnaTables12
	}
	return rdnaTables11
}

// fastRDNA decodes one window of an RDNA stream, of which size bytes are the stream's.
func (d *WaveDecoder) fastRDNA(s *scanBuffers, buf []byte, size int) (more bool) {
	at := d.pos / 8
	start := uint64(d.pos % 8 / 4)
	family, k := d.family, d.walk
	tables := rdnaTablesOf(family)
	if s.lanes == nil {
		s.lanes = new(laneScan)
	}
	table := tables.waves
	if k != nil {
		table = tables.walk
	}
	end, pieces := s.lanes.window(table(), buf[at:], d.base+int64(at), start, uint64(2*size))
	d.place()
	r := &s.lanes.rdna
	r.scan, r.src, r.live, r.bits, r.begun, r.markers, r.runs = s.lanes, buf[at:], d.live, d.bits, tables.begun(), d.res.Markers, d.runs
	r.next, r.piece, r.open, r.origin, r.first = int(pieces[0].first), 0, 0, d.now, (d.base+int64(at))*8
	events := 0
	for _, p := range pieces {
		events += int(p.end - p.first)
	}
	r.waves, r.n = d.roomFor(events)
	r.begin(k, tables.ops)
	keys := keysOf(family)
	var p Packet
	for more := true; ; r.next++ {
		more = r.take()
		r.tell()
		if !more {
			break
		}
		e := s.lanes.events[r.next]
		nibble, now := nibbleOf(e), r.now(e)
		w, _ := load(buf[at:], int(nibble)*4)
		l := &keys[w&255]
		if r.rare(e, w, l.kind, now) {
			continue
		}
		now -= Cycles(w >> (l.lo & 63) & (1<<(l.w&63) - 1)) // without its delta
		d.now, d.pos, d.res.Waves, d.res.Markers, d.open = now, at*8+int(nibble)*4, r.waves[:r.n], r.markers, d.open+r.open
		r.open = 0
		_ = d.next(&p, buf, d.pos, true) // scanning made sure that it is whole
		p.Off += d.base * 8
		d.token(&p)
		if d.ext { // unless no extension unit follows
			next := s.lanes.skipNops(nibble+uint16(p.Bits/4), uint16(2*size))
			d.ext = int(next) >= 2*size-windowTail || s.lanes.nibbles.at(next)&1 != 0
		}
		if d.ext || d.family != family { // the tokens behind it read otherwise
			d.pos += int(p.Bits)
			d.slow = 1000 // if there are more of these, scanning windows in vain would be slower
			r.release()
			return true
		}
		r.waves, r.n, r.markers = d.res.Waves[:len(r.waves)], len(d.res.Waves), d.res.Markers
		if p.Kind == KindTimestamp {
			r.origin += d.now - now
		}
		r.resume()
	}
	d.res.Waves, d.res.Markers = r.waves[:r.n], r.markers
	d.open += r.open
	d.now = r.origin + Cycles(end>>laneTime)
	d.pos = at*8 + int(uint16(end))*4
	r.release()
	return size == windowBytes
}

// numBegun is how many values a WAVE_START's bits from its pipe on have.
const numBegun = 1 << 12

// newBegun has, by a WAVE_START's bits from its pipe on, what Wave says of it: Lanes << 24, ME << 32, Pipe << 40.
func (b *waveBits) newBegun() *[numBegun]uint64 {
	t := new([numBegun]uint64)
	for i := range uint32(numBegun) {
		w := b.wave(0, i<<b.pipe)
		t[i] = uint64(w.Lanes)<<24 | uint64(w.ME)<<32 | uint64(w.Pipe)<<40
	}
	return t
}
