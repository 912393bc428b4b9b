package sqtt

import (
	"encoding/binary"
	"math"

	"github.com/rigprof/rigprof/internal/gpu"
)

// Lister lists the tokens of a stream that comes in pieces, as [PacketsWith] does; the result is the same however it is cut. Reset
// makes it ready for a stream.
type Lister struct {
	plain
	header Header
	begun  bool
	carry  []byte // bytes not decoded yet
	pos    int    // bits of carry's first byte that are
	base   int64  // bytes of the stream before carry

	Tokens     int64 // so far
	ShaderData int64 // those of them that hold words of s_ttracedata, used or not
}

// Reset makes the lister ready for a new stream of a family.
func (l *Lister) Reset(f gpu.Family, h Header) {
	*l = Lister{plain: *newPlain(f), header: h, begun: f != gpu.GFX9, carry: l.carry[:0]}
}

// Feed lists the tokens of the stream's next bytes. A nil emit counts them, which is faster.
func (l *Lister) Feed(p []byte, emit func(*Packet) error) error { return l.feed(p, false, emit) }

// Close lists the tokens that were kept because more bytes could have followed.
func (l *Lister) Close(emit func(*Packet) error) error { return l.feed(nil, true, emit) }

func (l *Lister) feed(p []byte, final bool, emit func(*Packet) error) error {
	buf := p
	if len(l.carry) > 0 {
		l.carry = append(l.carry, p...)
		buf = l.carry
	}
	if !l.begun {
		if len(buf) < softwareHeaderBytes+2 && !final {
			l.carry = append(l.carry[:0], buf...)
			return nil
		}
		l.begun = true
		l.pos = headerBytes(l.header, buf) * 8
	}
	err := l.list(buf, final, emit)
	n := l.pos / 8
	l.carry = append(l.carry[:0], buf[n:]...)
	l.base += int64(n)
	l.pos %= 8
	return err
}

func (l *Lister) list(buf []byte, final bool, emit func(*Packet) error) error {
	var p Packet
	for {
		if emit == nil {
			l.skip(buf)
		}
		if !l.next(&p, buf, l.pos, final) {
			return nil
		}
		l.pos += int(p.Bits) // never 0
		l.Tokens++
		if p.Kind == KindShaderData || p.Kind == KindShaderDataShort {
			l.ShaderData++
		}
		if emit == nil {
			continue
		}
		p.Off += l.base * 8
		if err := emit(&p); err != nil {
			return err
		}
	}
}

// skip goes by tokens' lengths alone, as long as they say all: their times are lost.
func (l *Lister) skip(buf []byte) {
	const longest = 72
	if l.ext || l.family == gpu.GFX9 && l.look != 0 {
		return
	}
	keys, pos, n := l.keys, l.pos, int64(0)
	for pos+longest <= len(buf)*8 {
		i := pos >> 3
		k := &keys[uint8(binary.LittleEndian.Uint16(buf[i:i+2])>>(pos&4))]
		if k.bits == 0 || k.kind == KindHeader || k.kind == KindWaveStartExt || k.kind == KindShaderData || k.kind == KindShaderDataShort {
			break
		}
		pos += int(k.bits)
		n++
	}
	l.pos = pos
	l.Tokens += n
}

// OldestOpen is the time at which the oldest wave that runs started, the greatest time where none does.
func (d *WaveDecoder) OldestOpen() Cycles {
	oldest := Cycles(math.MaxInt64)
	if d.open == 0 {
		return oldest
	}
	for i := range d.live {
		if l := &d.live[i]; l.run == d.runs {
			oldest = min(oldest, l.start)
		}
	}
	return oldest
}

// TakeWaves gives the waves that ended since it was called last, for the time until the decoder is fed again, and forgets them, as it does the
// realtime markers in the result.
func (d *WaveDecoder) TakeWaves() []Wave {
	w := d.res.Waves
	d.res.Waves, d.res.Markers = w[:0], d.res.Markers[:0]
	return w
}
