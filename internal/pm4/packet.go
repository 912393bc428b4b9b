package pm4

import (
	"fmt"
	"iter"
)

// Op is the opcode of a type-3 packet.
type Op uint8

// OneDwordNop is the header of a NOP that has no body: the one count that stands for none.
const OneDwordNop = 0xffff1000

const (
	maxBody   = 1 << 14 // COUNT has 14 bits and holds the body's dwords less one
	type3     = 3 << 30
	predicate = 1 << 0
	compute   = 1 << 1 // shader type; compute queues ignore it
	resetCAM  = 1 << 2 // graphics queues of gfx10 and later: forget the register writes the CP filters
)

// Packet is one type-3 packet of a stream.
type Packet struct {
	Off  int // of its header, in dwords from the stream's start
	Op   Op
	Raw  []uint32 // header and body, part of the stream's memory
	Body []uint32 // Raw[1:]
}

// Predicated reports whether the header asks for the packet to be skipped under a false predicate.
func (p Packet) Predicated() bool { return p.Raw[0]&predicate != 0 }

// A PacketError tells where a stream stops being packets.
type PacketError struct {
	Off   int // dwords from the stream's start
	Word  uint32
	Want  int // dwords the packet takes; 0 if the word is no type-3 header
	Avail int // dwords left from Off on
}

func (e *PacketError) Error() string {
	if e.Want == 0 {
		return fmt.Sprintf("pm4: dword %d: %#08x is no type-3 header", e.Off, e.Word)
	}
	return fmt.Sprintf("pm4: dword %d: packet %v of %d dwords, %d are left", e.Off, Op(e.Word>>8), e.Want, e.Avail)
}

// Packets walks words as they are ranged over. It ends with words or after one *PacketError.
func Packets(words []uint32) iter.Seq2[Packet, error] {
	return func(yield func(Packet, error) bool) {
		for off := 0; off < len(words); {
			h := words[off]
			n := 2 + int(h>>16&0x3fff)
			switch {
			case h == OneDwordNop:
				n = 1
			case h>>30 != 3:
				yield(Packet{Off: off}, &PacketError{Off: off, Word: h, Avail: len(words) - off})
				return
			}
			if n > len(words)-off {
				yield(Packet{Off: off}, &PacketError{Off: off, Word: h, Want: n, Avail: len(words) - off})
				return
			}
			raw := words[off : off+n : off+n]
			if !yield(Packet{Off: off, Op: Op(h >> 8), Raw: raw, Body: raw[1:]}, nil) {
				return
			}
			off += n // n > 0: every turn advances
		}
	}
}
