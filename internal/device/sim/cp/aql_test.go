package cp

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/pm4"
)

// Where the test's structures stand in memory.
const (
	atPacket = 0x1000
	atQueue  = 0x1100
	atDesc   = 0x1200
	atSignal = 0x1300
	atArgs   = 0x1400
	atBox    = 0x1500
	atCode   = 0x2000
)

func aqlBench(t *testing.T, name string) (*bench, *[]uint32) {
	t.Helper()
	b := setup(t, name)
	le := binary.LittleEndian
	le.PutUint64(b.mem[atDesc+descEntry:], atCode-atDesc)
	le.PutUint32(b.mem[atDesc+descRSRC3:], 13)
	le.PutUint32(b.mem[atDesc+48:], 11)
	le.PutUint32(b.mem[atDesc+52:], 12)
	le.PutUint16(b.mem[atDesc+descProperties:], propDispatchPtr|propQueuePtr|propKernargPtr|propDispatchID|propPrivateSize|propWave32)
	le.PutUint16(b.mem[atDesc+descPreload:], 2|1<<7) // two dwords from the second on
	for i := range 4 {
		le.PutUint32(b.mem[atArgs+4*i:], uint32(100+i))
	}
	le.PutUint32(b.mem[atQueue+queueTmpring:], 0x3004)
	le.PutUint64(b.mem[atQueue+queueScratch:], 0x123400)
	le.PutUint32(b.mem[atQueue+queueProperties:], queueProfiling)
	le.PutUint64(b.mem[atSignal+signalValue:], 1)
	le.PutUint64(b.mem[atSignal+signalMailbox:], memBase+atBox)
	le.PutUint32(b.mem[atSignal+signalEventID:], 5)
	var raised []uint32
	b.q.Interrupt = func(id uint32) { raised = append(raised, id) }
	return b, &raised
}

func (b *bench) aql(t *testing.T, packet []byte) error {
	t.Helper()
	copy(b.mem[atPacket:], packet)
	return b.p.AQL(t.Context(), b.q, 1<<b.p.GPU.Dies-1, memBase+atPacket, 7, memBase+atQueue)
}

func TestAQLDispatch(t *testing.T) {
	b, raised := aqlBench(t, "gfx1100")
	d := pm4.AQLDispatch{
		Header: pm4.AQLHeader(pm4.AQLKernelDispatch, true, pm4.FenceSystem, pm4.FenceSystem), Dimensions: 2,
		Workgroup: [3]uint16{64, 2, 1}, Grid: [3]uint32{100, 4, 1}, PrivateBytes: 24, LDSBytes: 1000,
		KernelObject: memBase + atDesc, KernargAddress: memBase + atArgs, CompletionSignal: memBase + atSignal,
	}
	must(t, b.aql(t, d.AppendTo(nil)))
	if len(b.rec.grids) != 1 {
		t.Fatalf("%d grids", len(b.rec.grids))
	}
	g := b.rec.grids[0]
	if g.Entry != memBase+atCode || g.RSRC1 != 11 || g.RSRC2 != 12|2<<15 || g.RSRC3 != 13 || g.Tmpring != 0x3004 || g.ScratchBase[0] != 0x123400 {
		t.Errorf("%+v", g)
	}
	if g.Groups != [3]uint32{2, 2, 1} || g.Block != [3]uint32{64, 2, 1} || g.Partial != [3]uint32{36, 0, 0} || !g.Wave32 || g.PacketAddr != memBase+atPacket {
		t.Errorf("%+v", g)
	}
	want := []uint32{memBase + atPacket, 0, memBase + atQueue, 0, memBase + atArgs, 0, 7, 0, 24, 101, 102}
	for i, v := range want {
		if g.UserData[i] != v {
			t.Errorf("user register %d is %#x, want %#x", i, g.UserData[i], v)
		}
	}
	le := binary.LittleEndian
	start, end := le.Uint64(b.mem[atSignal+signalStart:]), le.Uint64(b.mem[atSignal+signalEnd:])
	if le.Uint64(b.mem[atSignal+signalValue:]) != 0 || end <= start || le.Uint64(b.mem[atBox:]) != 5 || len(*raised) != 1 || (*raised)[0] != 5 {
		t.Errorf("signal %x, mailbox %d, interrupts %v", b.mem[atSignal:atSignal+64], b.mem[atBox], *raised)
	}
}

func TestAQLBarrierAndPM4(t *testing.T) {
	b, _ := aqlBench(t, "gfx942")
	barrier := func(kind pm4.AQLType, signals ...uint64) []byte {
		a := pm4.AQLBarrier{Header: pm4.AQLHeader(kind, true, 0, 0)}
		copy(a.Signals[:], signals)
		return a.AppendTo(nil)
	}
	const zero = memBase + atBox // all zero
	must(t, b.aql(t, barrier(pm4.AQLBarrierAnd)))
	must(t, b.aql(t, barrier(pm4.AQLBarrierAnd, zero)))
	must(t, b.aql(t, barrier(pm4.AQLBarrierOr, memBase+atSignal, zero)))
	if err := b.aql(t, barrier(pm4.AQLBarrierAnd, memBase+atSignal, zero)); err == nil || !strings.Contains(err.Error(), "1 of 2 signals are not 0") {
		t.Errorf("%v", err)
	}
	words := pm4.Stream(nil).WriteData(memBase+0x3000, 9)
	for i, w := range words {
		binary.LittleEndian.PutUint32(b.mem[atCode+4*i:], w)
	}
	p := pm4.AQLPM4{Header: pm4.AQLHeader(pm4.AQLVendor, true, 0, 0), Addr: memBase + atCode, Dwords: len(words), CompletionSignal: memBase + atSignal}
	must(t, b.aql(t, p.AppendTo(nil)))
	if b.dword(0x3000) != 9 || b.dword(atSignal+signalValue) != 0 {
		t.Errorf("%d, signal %d", b.dword(0x3000), b.dword(atSignal+signalValue))
	}
	for name, packet := range map[string][]byte{
		"agent":         {byte(pm4.AQLAgentDispatch), 0},
		"vendor format": {byte(pm4.AQLVendor), 0, 9, 0},
	} {
		clear(b.mem[atPacket : atPacket+64])
		if err := b.aql(t, packet); err == nil || !strings.Contains(err.Error(), "AQL packet 7 of type") {
			t.Errorf("%s: %v", name, err)
		}
	}
	d := pm4.AQLDispatch{Header: uint16(pm4.AQLKernelDispatch), KernelObject: 0x10}
	err := b.aql(t, d.AppendTo(nil))
	if m, ok := errors.AsType[*MemoryError](err); !ok || m.Addr != 0x10 {
		t.Errorf("%v", err)
	}
}
