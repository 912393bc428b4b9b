package pm4

import (
	"encoding/binary"
	"fmt"
)

// AQLBytes is the size of every AQL packet.
const AQLBytes = 64

// AQLType is bits 0..7 of an AQL packet's header.
type AQLType uint8

// The types. A vendor-specific AQL packet of format 1 runs PM4 words.
const (
	AQLVendor AQLType = iota
	AQLInvalid
	AQLKernelDispatch
	AQLBarrierAnd
	AQLAgentDispatch
	AQLBarrierOr
)

// Fence scopes of an AQL header: acquire in bits 9..10, release in bits 11..12.
const (
	FenceNone uint16 = iota
	FenceAgent
	FenceSystem
)

// AQLHeader composes the header's 16 bits. barrier holds the packet back until all earlier ones are complete.
func AQLHeader(t AQLType, barrier bool, acquire, release uint16) uint16 {
	h := uint16(t) | acquire<<9 | release<<11
	if barrier {
		h |= 1 << 8
	}
	return h
}

// AQLDispatch is the kernel dispatch packet (hsa_kernel_dispatch_packet_t).
type AQLDispatch struct {
	Header           uint16
	Dimensions       uint16 // setup: 1..3
	Workgroup        [3]uint16
	Grid             [3]uint32 // work-items
	PrivateBytes     uint32    // per work-item
	LDSBytes         uint32    // per workgroup
	KernelObject     uint64    // address of the kernel descriptor
	KernargAddress   uint64
	CompletionSignal uint64
}

// AppendTo appends the packet's 64 bytes.
func (d *AQLDispatch) AppendTo(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint16(b, d.Header)
	b = le.AppendUint16(b, d.Dimensions)
	for _, n := range d.Workgroup {
		b = le.AppendUint16(b, n)
	}
	b = le.AppendUint16(b, 0)
	for _, n := range d.Grid {
		b = le.AppendUint32(b, n)
	}
	b = le.AppendUint32(b, d.PrivateBytes)
	b = le.AppendUint32(b, d.LDSBytes)
	b = le.AppendUint64(b, d.KernelObject)
	b = le.AppendUint64(b, d.KernargAddress)
	b = le.AppendUint64(b, 0)
	return le.AppendUint64(b, d.CompletionSignal)
}

// ParseAQLDispatch reads a kernel dispatch packet.
func ParseAQLDispatch(b []byte) (AQLDispatch, error) {
	var d AQLDispatch
	if len(b) < AQLBytes {
		return d, fmt.Errorf("pm4: AQL packet of %d bytes, want %d", len(b), AQLBytes)
	}
	le := binary.LittleEndian
	d.Header = le.Uint16(b)
	if t := AQLType(d.Header); t != AQLKernelDispatch {
		return d, fmt.Errorf("pm4: AQL packet of type %d is no kernel dispatch", t)
	}
	d.Dimensions = le.Uint16(b[2:]) & 3
	for i := range d.Workgroup {
		d.Workgroup[i] = le.Uint16(b[4+2*i:])
		d.Grid[i] = le.Uint32(b[12+4*i:])
	}
	d.PrivateBytes, d.LDSBytes = le.Uint32(b[24:]), le.Uint32(b[28:])
	d.KernelObject, d.KernargAddress, d.CompletionSignal = le.Uint64(b[32:]), le.Uint64(b[40:]), le.Uint64(b[56:])
	return d, nil
}

// AQLBarrier is the barrier packet (and: waits until every signal is 0; or: until any is). A signal of 0 is none.
type AQLBarrier struct {
	Header           uint16
	Signals          [5]uint64
	CompletionSignal uint64
}

// AppendTo appends the packet's 64 bytes.
func (a *AQLBarrier) AppendTo(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(a.Header))
	for _, s := range a.Signals {
		b = le.AppendUint64(b, s)
	}
	b = le.AppendUint64(b, 0)
	return le.AppendUint64(b, a.CompletionSignal)
}

// ParseAQLBarrier reads a barrier packet of either kind.
func ParseAQLBarrier(b []byte) (AQLBarrier, error) {
	var a AQLBarrier
	if len(b) < AQLBytes {
		return a, fmt.Errorf("pm4: AQL packet of %d bytes, want %d", len(b), AQLBytes)
	}
	le := binary.LittleEndian
	a.Header = le.Uint16(b)
	if t := AQLType(a.Header); t != AQLBarrierAnd && t != AQLBarrierOr {
		return a, fmt.Errorf("pm4: AQL packet of type %d is no barrier", t)
	}
	for i := range a.Signals {
		a.Signals[i] = le.Uint64(b[8+8*i:])
	}
	a.CompletionSignal = le.Uint64(b[56:])
	return a, nil
}

// AQLPM4 is the vendor-specific AQL packet that runs PM4 words: the same layout on every generation we serve.
type AQLPM4 struct {
	Header           uint16
	Addr             uint64 // of the words
	Dwords           int
	CompletionSignal uint64
}

const (
	aqlFormatPM4  = 1
	aqlPM4Remain  = 10 // dwords of the packet after INDIRECT_BUFFER that the CP must skip
	aqlPM4IBWords = 4
)

// AppendTo appends the packet's 64 bytes.
func (p *AQLPM4) AppendTo(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint16(b, p.Header)
	b = le.AppendUint16(b, aqlFormatPM4)
	var room [aqlPM4IBWords]uint32
	for _, w := range Stream(room[:0]).IndirectBuffer(p.Addr, p.Dwords) {
		b = le.AppendUint32(b, w)
	}
	b = le.AppendUint32(b, aqlPM4Remain)
	b = append(b, make([]byte, 32)...)
	return le.AppendUint64(b, p.CompletionSignal)
}

// ParseAQLPM4 reads a vendor-specific AQL packet of the PM4 format.
func ParseAQLPM4(b []byte) (AQLPM4, error) {
	var p AQLPM4
	if len(b) < AQLBytes {
		return p, fmt.Errorf("pm4: AQL packet of %d bytes, want %d", len(b), AQLBytes)
	}
	le := binary.LittleEndian
	p.Header = le.Uint16(b)
	if t, f := AQLType(p.Header), le.Uint16(b[2:]); t != AQLVendor || f != aqlFormatPM4 {
		return p, fmt.Errorf("pm4: AQL packet of type %d and format %d holds no PM4", t, f)
	}
	if h := le.Uint32(b[4:]); Op(h>>8) != OpIndirectBuffer || h>>30 != 3 {
		return p, fmt.Errorf("pm4: AQL packet holds %#08x, not INDIRECT_BUFFER", h)
	}
	p.Addr = le.Uint64(b[8:])
	p.Dwords = int(le.Uint32(b[16:]) & MaxIndirect)
	p.CompletionSignal = le.Uint64(b[56:])
	return p, nil
}
