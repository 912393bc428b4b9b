package sqtt

import (
	"encoding/binary"
	"iter"

	"github.com/rigprof/rigprof/internal/gpu"
)

//go:generate go run ../tools/gentokens -tokens tables/tokens.tsv -fields tables/fields.tsv -ops tables/ops.tsv -out tokens_gen.go

// Cycles is a time in shader cycles from the trace's start.
type Cycles int64

// Kind is a kind of token.
type Kind uint8

// The kinds that have no row in the token table.
const (
	KindUnknown   Kind = iota // four bits of an RDNA stream that no layout matches
	KindExtension             // an 8-bit unit that follows a GFX12 WAVE_START_EXT
	firstKind
)

// String is the hardware's name of the token, "WAVE_START".
func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return "?"
}

// layout is how one token is laid out. Zero bits: no token has this key.
type layout struct {
	kind   Kind
	bits   uint8
	lo, w  uint8 // bit range of the time delta
	unit   uint8 // shader cycles that the delta counts
	addend uint8 // cycles on top of it
}

// fieldBits is where a field lies in its token.
type fieldBits struct {
	name  string
	lo, w uint8
}

// Packet is one token. It keeps no pointer into the stream.
type Packet struct {
	Family gpu.Family // whose layout the token has
	Kind   Kind
	Bits   uint8  // length
	Hi     uint8  // bits 64..71 of the token; NEW_PC of GFX12 alone has them
	Off    int64  // bits from the stream's start
	Time   Cycles // with the token's own delta
	Raw    uint64 // the token's low 64 bits
}

// Field is one named field of a token.
type Field struct {
	Name  string
	Value uint64
}

// AppendFields appends the token's fields to dst.
func (p *Packet) AppendFields(dst []Field) []Field {
	for _, f := range fieldsOf(p.Family)[p.Kind] {
		dst = append(dst, Field{f.name, p.bits(f.lo, f.w)})
	}
	return dst
}

// Field is the value of the field of that name, 0 where the token has none.
func (p *Packet) Field(name string) uint64 {
	for _, f := range fieldsOf(p.Family)[p.Kind] {
		if f.name == name {
			return p.bits(f.lo, f.w)
		}
	}
	return 0
}

func (p *Packet) bits(lo, w uint8) uint64 {
	v := p.Raw >> lo
	if lo+w > 64 {
		v |= uint64(p.Hi) << (64 - lo)
	}
	return v & (1<<w - 1)
}

func fieldsOf(f gpu.Family) *[numKinds][]fieldBits {
	switch f {
	case gpu.GFX9:
		return &gfx9Fields
	case gpu.GFX12:
		return &gfx12Fields
	}
	return &gfx11Fields
}

func keysOf(f gpu.Family) *[256]layout {
	switch f {
	case gpu.GFX9:
		return &gfx9Keys
	case gpu.GFX12:
		return &gfx12Keys
	}
	return &gfx11Keys
}

// Marker is a realtime marker: the reference clock's count at a shader time.
type Marker struct {
	Shader   Cycles
	Realtime int64
}

// Marker is the realtime marker that the token is. GFX9 streams have none.
//
// A TIMESTAMP with both flags is no marker but a delta behind lost packets: no capture shows one, and both other
// decoders that handle GFX12 read it so.
func (p *Packet) Marker() (Marker, bool) {
	if p.Kind != KindTimestamp {
		return Marker{}, false
	}
	rt, lost, value := timestamp(p.Family, p.Raw)
	return Marker{p.Time, value}, rt && !lost
}

// timestamp is what an RDNA TIMESTAMP says: whether it is realtime, whether packets were lost before it, and its value.
func timestamp(f gpu.Family, raw uint64) (rt, lost bool, value int64) {
	lost = raw>>8&1 != 0
	if f == gpu.GFX12 {
		return raw>>7&1 != 0, lost, int64(raw >> 12)
	}
	return raw>>9&1 != 0, lost, int64(raw >> 12 & (1<<36 - 1))
}

// gfx9 MISC types. Source: AMD rocprof-trace-decoder (MIT).
const (
	misc9Time       = 0
	misc9TimeReset  = 1
	misc9Lost       = 2
	misc9StallBegin = 4
	misc9StallEnd   = 5
	misc9Save       = 6
)

// RDNA MISC flag bits. Source: as above.
const (
	miscSave       = 1 << 19
	miscStallBegin = 1 << 20
	miscStallEnd   = 1 << 21
)

// lookAhead is how far a GFX9 TIME_RESET looks for the TIME that says how long it was, in bytes. Hardware writes it within
// some tens; the bound keeps memory constant when a stream is read in pieces.
const lookAhead = 1 << 20

// Packets lists the tokens of a stream. Bits at its end that are no whole token are left out.
func Packets(f gpu.Family, buf []byte) iter.Seq[Packet] { return PacketsWith(f, HeaderAuto, buf) }

// PacketsWith is Packets with the choice whether a GFX9 stream starts with a software header.
func PacketsWith(f gpu.Family, h Header, buf []byte) iter.Seq[Packet] {
	return func(yield func(Packet) bool) {
		d := newPlain(f)
		pos := 0
		if f == gpu.GFX9 {
			pos = headerBytes(h, buf) * 8
		}
		reset := uint64(0)
		if f == gpu.GFX9 {
			reset = 0xe00f
		}
		var p Packet
		for {
			for !d.ext && pos>>3+9 <= len(buf) { // what next does with most tokens, in registers
				w := load64(buf, pos>>2)
				l := &d.keys[w&0xff]
				if uncommon>>l.kind&1 != 0 || w&reset == misc9TimeReset<<13 {
					break
				}
				over := (64 - l.bits) & 63
				w = w << over >> over
				d.now += Cycles(w>>(l.lo&63)&(1<<(l.w&63)-1))*Cycles(l.unit) + Cycles(l.addend)
				if !yield(Packet{Family: d.family, Kind: l.kind, Bits: l.bits, Off: int64(pos), Time: d.now, Raw: w}) {
					return
				}
				pos += int(l.bits)
			}
			if !d.next(&p, buf, pos, true) || !yield(p) {
				return
			}
			pos += int(p.Bits) // never 0
		}
	}
}

// plain decodes token by token. It is what a listing needs and what the fast path is compared with.
type plain struct {
	family gpu.Family
	keys   *[256]layout
	now    Cycles
	ext    bool // GFX12: extension units may follow

	base    int64 // GFX9: timestamp at time 0
	hasBase bool
	look    int // bytes from the pending TIME_RESET to where the search for its TIME goes on; 0: none
}

func newPlain(f gpu.Family) *plain {
	if f != gpu.GFX9 {
		f = gpu.GFX11 // until a header says otherwise
	}
	return &plain{family: f, keys: keysOf(f)}
}

// uncommon are the kinds, as bits, that do more than pass time, or are longer than 64 bits.
const uncommon = 1<<KindUnknown | 1<<KindTimestamp | 1<<KindHeader | 1<<KindWaveStartExt | 1<<KindNewPc

// next decodes the token at bit pos of buf into p. It is false where no whole token is left or, when more bytes may follow
// (final is false), where those decide the token's meaning.
func (d *plain) next(p *Packet, buf []byte, pos int, final bool) bool {
	end := len(buf) * 8
	if pos+4 > end {
		return false
	}
	w, hi := load(buf, pos)
	p.Family, p.Off, p.Hi = d.family, int64(pos), 0
	if d.ext && w&1 != 0 { // the unit's bit 0 says that it is one
		if pos+8 > end {
			return false
		}
		p.Kind, p.Bits, p.Time, p.Raw = KindExtension, 8, d.now, w&0xff
		return true
	}
	l := &d.keys[w&0xff]
	if l.bits == 0 {
		p.Kind, p.Bits, p.Time, p.Raw = KindUnknown, 4, d.now, w&15
		d.ext = false
		return true
	}
	if pos+int(l.bits) > end {
		return false
	}
	p.Kind, p.Bits = l.kind, l.bits
	switch {
	case l.bits < 64:
		w &= 1<<(l.bits&63) - 1
	case l.bits > 64:
		p.Hi = hi
	}
	p.Raw = w
	now := d.now + Cycles(w>>(l.lo&63)&(1<<(l.w&63)-1))*Cycles(l.unit) + Cycles(l.addend)
	p.Time = now
	switch l.kind {
	case KindMisc:
		if d.family == gpu.GFX9 && w>>13 == misc9TimeReset {
			ts, found, at := nextTime(buf, max(pos/8+2, pos/8+d.look), pos/8+2+lookAhead, final)
			if d.look = at - pos/8; at >= 0 { // on from there once there are more bytes
				return false
			}
			d.look = 0
			if found {
				now = d.reset(now, ts)
			}
		}
	case KindNop:
		return true // changes nothing
	case KindTimestamp:
		if rt, lost, value := timestamp(d.family, w); !rt || lost {
			now += Cycles(value)
			p.Time = now
		}
	case KindHeader:
		d.family = headerFamily(d.family, w)
		d.keys = keysOf(d.family)
		p.Family = d.family
	}
	d.ext = l.kind == KindWaveStartExt && d.family == gpu.GFX12
	d.now = now
	return true
}

// reset is the time after a GFX9 TIME_RESET stamped now, which the TIME token of timestamp ts follows.
func (d *plain) reset(now Cycles, ts int64) Cycles {
	if !d.hasBase {
		d.hasBase, d.base = true, ts-int64(now)+4
	}
	if ts > d.base {
		return Cycles((ts - d.base) &^ 3)
	}
	return now
}

// nextTime looks from byte pos of a GFX9 stream, and before limit, for the timestamp of the next TIME token, before the next
// TIME_RESET. Where the bytes end first and more may follow, at is the token to go on from; otherwise negative.
func nextTime(buf []byte, pos, limit int, final bool) (ts int64, found bool, at int) {
	for pos < limit {
		if pos+2 > len(buf) {
			break
		}
		w := uint32(binary.LittleEndian.Uint16(buf[pos:]))
		l := &gfx9Keys[w&0xff]
		if l.kind == KindMisc && w>>13 == misc9TimeReset {
			return 0, false, -1
		}
		if l.kind == KindTime {
			if pos+8 > len(buf) {
				break
			}
			return int64(binary.LittleEndian.Uint64(buf[pos:])>>16) & (1<<46 - 1), true, -1
		}
		pos += int(l.bits) / 8
	}
	if final || pos >= limit {
		return 0, false, -1
	}
	return 0, false, pos
}

// headerFamily is the family whose layouts hold behind a HEADER token where those of another held before. Only the version of GFX12 changes
// it: any other, of a GPU that no captures are of or with a wrong bit, says nothing (formats/sqtt.md, section 1).
func headerFamily(before gpu.Family, raw uint64) gpu.Family {
	if raw>>7&0x3f == 4 {
		return gpu.GFX12
	}
	return before
}

// load64 is the 64 bits from a nibble of buf on, which has nine bytes there.
func load64(buf []byte, nibble int) uint64 {
	i, s := nibble>>1, nibble&1*4
	return binary.LittleEndian.Uint64(buf[i:i+8])>>s | uint64(buf[i+8])<<1<<(63-s)
}

// load is the 72 bits from bit pos, a multiple of 4, of buf; zero past its end.
func load(buf []byte, pos int) (w uint64, hi uint8) {
	i, s := pos>>3, uint(pos&4)
	if i+10 <= len(buf) {
		b := buf[i : i+10]
		w, h := binary.LittleEndian.Uint64(b), uint64(binary.LittleEndian.Uint16(b[8:]))
		return w>>s | h<<1<<(63-s), uint8(h >> s)
	}
	var b [10]byte
	copy(b[:], buf[i:])
	h := uint64(binary.LittleEndian.Uint16(b[8:]))
	return binary.LittleEndian.Uint64(b[:])>>s | h<<1<<(63-s), uint8(h >> s)
}
