package cp

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/pm4"
)

// raw is a packet with any body.
func raw(op pm4.Op, body ...uint32) pm4.Stream {
	return append(pm4.Stream{3<<30 | uint32(len(body)-1)<<16 | uint32(op)<<8}, body...)
}

// Packets that the processor cannot execute are refused by name and reason; nothing panics, nothing is executed halfway as if it were right.
func TestRefusedPackets(t *testing.T) {
	const nowhere = 0x9000_0000
	far := []uint32{nowhere, 0}
	b := setup(t, "gfx1100", "SQ_THREAD_TRACE_CTRL")
	perf := uint32(b.reg(t, "SQ_PERFCOUNTER0_SELECT"))
	for name, c := range map[string]struct {
		s    pm4.Stream
		want string
	}{
		"set without values":        {raw(pm4.OpSetUconfigReg, 0x200), "length is wrong"},
		"set with odd offset":       {raw(pm4.OpSetUconfigReg, 1<<16, 0), "register offset 0x10000"},
		"set beyond the space":      {raw(pm4.OpSetUconfigReg, 0x3fff, 0, 0), "leave the space"},
		"set of no register":        {raw(pm4.OpSetUconfigReg, 0x3000, 0), "unknown on GC 11.0.0"},
		"event with address":        {raw(pm4.OpEventWrite, 0x407, 0, 0), "events with an address"},
		"write without data":        {raw(pm4.OpWriteData, 5<<8, memBase, 0), "length is wrong"},
		"write to GDS":              {raw(pm4.OpWriteData, 3<<8, memBase, 0, 1), "destination 3 is not modelled"},
		"write nowhere":             {raw(pm4.OpWriteData, append([]uint32{5 << 8}, append(far, 1)...)...), "0x90000000"},
		"write of no register":      {raw(pm4.OpWriteData, 0, 0x2fff, 0, 1), "unknown on GC"},
		"copy too short":            {raw(pm4.OpCopyData, 0, 0, 0, 0), "length is wrong"},
		"copy of GDS":               {raw(pm4.OpCopyData, 3|5<<8, 0, 0, memBase, 0), "source 3 is not modelled"},
		"copy to GDS":               {raw(pm4.OpCopyData, 5|3<<8, 1, 0, memBase, 0), "destination 3 is not modelled"},
		"copy from nowhere":         {raw(pm4.OpCopyData, 2|5<<8, nowhere, 0, memBase, 0), "0x90000000"},
		"wide copy from nowhere":    {raw(pm4.OpCopyData, 2|5<<8|1<<16, nowhere, 0, memBase, 0), "0x90000000"},
		"copy to nowhere":           {raw(pm4.OpCopyData, 5|5<<8, 1, 0, nowhere, 0), "0x90000000"},
		"wide copy to nowhere":      {raw(pm4.OpCopyData, 5|5<<8|1<<16, 1, 0, nowhere, 0), "0x90000000"},
		"copy of no register":       {raw(pm4.OpCopyData, 4|5<<8, 0x2fff, 0, memBase, 0), "unknown on GC"},
		"copy of a privileged one":  {raw(pm4.OpCopyData, 0|5<<8, 0x2fff, 0, memBase, 0), "unknown on GC"},
		"wait too short":            {raw(pm4.OpWaitRegMem, 3, 0, 0, 0, 0), "length is wrong"},
		"wide wait too short":       {raw(pm4.OpWaitRegMem64, 3, 0, 0, 0, 0, 0), "length is wrong"},
		"wait that writes":          {raw(pm4.OpWaitRegMem, 3|1<<6, 0, 0, 0, 0, 0), "HDP flush"},
		"wait for nowhere":          {raw(pm4.OpWaitRegMem, 3|1<<4, nowhere, 0, 0, 0, 0), "0x90000000"},
		"wide wait for nowhere":     {raw(pm4.OpWaitRegMem64, 3|1<<4, nowhere, 0, 0, 0, 0, 0, 0), "0x90000000"},
		"wait for no register":      {raw(pm4.OpWaitRegMem, 3, 0x2fff, 0, 0, 0, 0), "unknown on GC"},
		"register that stays":       {raw(pm4.OpWaitRegMem, 3, perf, 0, 7, 0xff, 0), "the wait for (it & 0xff) == 0x7 never ends"},
		"acquire of gfx9":           {raw(pm4.OpAcquireMem, 0, 0, 0, 0, 0, 0), "length is wrong"},
		"release too short":         {raw(pm4.OpReleaseMem, 0, 0, 0, 0, 0, 0), "length is wrong"},
		"release of other data":     {raw(pm4.OpReleaseMem, 0x14|5<<8, 5<<29, memBase, 0, 0, 0, 0), "data 5 is not modelled"},
		"release to nowhere":        {raw(pm4.OpReleaseMem, 0x14|5<<8, 1<<29, nowhere, 0, 0, 0, 0), "0x90000000"},
		"atomic too short":          {raw(pm4.OpAtomicMem, 79, 0, 0, 0, 0, 0, 0), "length is wrong"},
		"atomic of another kind":    {raw(pm4.OpAtomicMem, 1, memBase, 0, 1, 0, 0, 0, 0), "operation 1 is not modelled"},
		"atomic nowhere":            {raw(pm4.OpAtomicMem, 79, nowhere, 0, 1, 0, 0, 0, 0), "0x90000000"},
		"atomic that waits in vain": {raw(pm4.OpAtomicMem, 8|1<<8, memBase+64, 0, 1, 0, 9, 0, 0), "did not become 0x9"},
		"DMA too short":             {raw(pm4.OpDmaData, 0, 0, 0, 0, 0), "length is wrong"},
		"DMA into registers":        {raw(pm4.OpDmaData, 1<<20, memBase, 0, memBase, 0, 4), "only transfers into memory"},
		"DMA of GDS":                {raw(pm4.OpDmaData, 1<<29, memBase, 0, memBase, 0, 4), "source 1 is not modelled"},
		"DMA from nowhere":          {raw(pm4.OpDmaData, 0, nowhere, 0, memBase, 0, 4), "0x90000000"},
		"DMA to nowhere":            {raw(pm4.OpDmaData, 0, memBase, 0, nowhere, 0, 4), "0x90000000"},
		"indirect too short":        {raw(pm4.OpIndirectBuffer, memBase, 0), "length is wrong"},
		"indirect nowhere":          {raw(pm4.OpIndirectBuffer, nowhere, 0, 4), "0x90000000"},
		"dispatch too short":        {raw(pm4.OpDispatchDirect, 1, 1, 1), "length is wrong"},
		"indirect dispatch short":   {raw(pm4.OpDispatchIndirect, memBase, 0), "length is wrong"},
		"indirect dispatch nowhere": {raw(pm4.OpDispatchIndirect, nowhere, 0, 1), "0x90000000"},
		"predication too long":      {raw(pm4.OpPredExec, 1<<24|100), "100 dwords to predicate, 0 are left"},
		"condition too short":       {raw(pm4.OpCondExec, memBase, 0, 0), "length is wrong"},
		"condition beyond the end":  {raw(pm4.OpCondExec, memBase+64, 0, 0, 100), "100 dwords to skip"},
		"condition nowhere":         {raw(pm4.OpCondExec, nowhere, 0, 0, 1), "0x90000000"},
		"unknown opcode":            {raw(0xfe, 0), "opcode 0xfe is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			b.rec.grids = nil
			if err := b.run(t, c.s); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if b.rec.grids != nil {
				t.Error("a grid ran")
			}
		})
	}
}

// What memory holds after each packet that writes it.
func TestPacketsWrite(t *testing.T) {
	for name, c := range map[string]struct {
		s    pm4.Stream
		want []uint32 // from memBase on
	}{
		"write, one address":   {raw(pm4.OpWriteData, 5<<8|1<<16, memBase, 0, 7, 8, 9), []uint32{9, 0}},
		"write":                {raw(pm4.OpWriteData, 2<<8, memBase, 0, 7, 8, 9), []uint32{7, 8, 9}},
		"copy memory":          {append(raw(pm4.OpWriteData, 5<<8, memBase+8, 0, 5, 6), raw(pm4.OpCopyData, 2|5<<8|1<<16, memBase+8, 0, memBase, 0)...), []uint32{5, 6, 5, 6}},
		"wide, not aligned":    {raw(pm4.OpCopyData, 5|5<<8|1<<16, 0xdeadbeef, 0x1234, memBase+4, 0), []uint32{0, 0xdeadbeef, 0x1234}},
		"swap":                 {append(raw(pm4.OpAtomicMem, 7, memBase, 0, 5, 0, 0, 0, 0), raw(pm4.OpCopyData, 6|5<<8, 0, 0, memBase+4, 0)...), []uint32{5, 0}},
		"swap of 64 bits":      {append(raw(pm4.OpAtomicMem, 39, memBase, 0, 5, 6, 0, 0, 0), raw(pm4.OpCopyData, 6|5<<8|1<<16, 0, 0, memBase+8, 0)...), []uint32{5, 6, 0, 0}},
		"subtract":             {append(raw(pm4.OpAtomicMem, 80, memBase, 0, 1, 0, 0, 0, 0), raw(pm4.OpCopyData, 6|5<<8, 0, 0, memBase+4, 0)...), []uint32{^uint32(0), 0}},
		"subtract and return":  {append(raw(pm4.OpWriteData, 5<<8, memBase, 0, 9), append(raw(pm4.OpAtomicMem, 16, memBase, 0, 2, 0, 0, 0, 0), raw(pm4.OpCopyData, 6|5<<8, 0, 0, memBase+4, 0)...)...), []uint32{7, 9}},
		"compare, swap":        {append(raw(pm4.OpAtomicMem, 8, memBase, 0, 3, 0, 0, 0, 0), raw(pm4.OpAtomicMem, 8, memBase, 0, 4, 0, 1, 0, 0)...), []uint32{3}},
		"fill":                 {raw(pm4.OpDmaData, 2<<29|3<<20, 0x01020304, 0, memBase, 0, 10), []uint32{0x01020304, 0x01020304, 0x0304, 0}},
		"DMA of nothing":       {raw(pm4.OpDmaData, 0, 0, 0, 0, 0, 0), []uint32{0}},
		"release with data":    {raw(pm4.OpReleaseMem, 0x14|5<<8, 2<<29, memBase, 0, 1, 2, 0), []uint32{1, 2}},
		"wait of 64 bits":      {append(raw(pm4.OpWaitRegMem64, 3|1<<4, memBase, 0, 0, 0, ^uint32(0), ^uint32(0), 4), raw(pm4.OpWriteData, 5<<8, memBase, 0, 1)...), []uint32{1}},
		"condition that holds": {append(raw(pm4.OpWriteData, 5<<8, memBase, 0, 1), append(raw(pm4.OpCondExec, memBase, 0, 0, 5), raw(pm4.OpWriteData, 5<<8, memBase+4, 0, 2)...)...), []uint32{1, 2}},
		"condition that fails": {append(raw(pm4.OpCondExec, memBase, 0, 0, 5), append(raw(pm4.OpWriteData, 5<<8, memBase, 0, 1), raw(pm4.OpWriteData, 5<<8, memBase+4, 0, 2)...)...), []uint32{0, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, "gfx1100")
			if err := b.run(t, c.s); err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				if got := b.dword(4 * i); got != want {
					t.Errorf("dword %d is %#x, want %#x", i, got, want)
				}
			}
		})
	}
}

// Registers: packets that reach them by other ways than SET, the file's and a unit's, read back by both selectors and 64 bits wide.
func TestRegisterPackets(t *testing.T) {
	b := setup(t, "gfx942", "SQ_THREAD_TRACE_STATUS") // eight dies
	file, own, index := b.reg(t, "SQ_PERFCOUNTER0_SELECT"), b.reg(t, "SQ_THREAD_TRACE_STATUS"), b.reg(t, "GRBM_GFX_INDEX")
	var s pm4.Stream
	s = append(s, raw(pm4.OpWriteData, 0, uint32(file), 0, 11, 12)...)             // two registers
	s = append(s, raw(pm4.OpWriteData, 0|1<<16, uint32(file)+2, 0, 1, 2, 13)...)   // one, three times
	s = append(s, raw(pm4.OpCopyData, 5|0<<8|1<<16, 14, 15, uint32(file)+3, 0)...) // two at once
	s = append(s, raw(pm4.OpCopyData, 5|0<<8, 3<<16, 0, uint32(index), 0)...)      // engine 3
	s = append(s, raw(pm4.OpCopyData, 5|0<<8, 99, 0, uint32(own), 0)...)
	for i := range 5 { // engine 3's copies
		s = append(s, raw(pm4.OpCopyData, 0|5<<8, uint32(file)+uint32(i), 0, memBase+4*uint32(i), 0)...)
	}
	s = append(s, raw(pm4.OpCopyData, 0|5<<8|1<<16, uint32(file), 0, memBase+24, 0)...)
	s = append(s, raw(pm4.OpCopyData, 4|5<<8, uint32(own), 0, memBase+32, 0)...)
	s = append(s, raw(pm4.OpCopyData, 0|5<<8, uint32(index), 0, memBase+36, 0)...)
	s = append(s, raw(pm4.OpWaitRegMem64, 3, uint32(file), 0, 11, 12, ^uint32(0), ^uint32(0), 0)...)
	s = append(s, raw(pm4.OpCopyData, 9|5<<8|1<<16, 0, 0, memBase+40, 0)...)
	if err := b.run(t, s); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint32{11, 12, 13, 14, 15, 0, 11, 12, 0, 0} {
		switch i {
		case 8:
			want = 99
		case 9:
			want = 3 << 16
		}
		if got := b.dword(4 * i); got != want {
			t.Errorf("dword %d is %#x, want %#x", i, got, want)
		}
	}
	if b.dword(40) == 0 {
		t.Error("the clock stands at 0")
	}
	for die := range 8 { // each die wrote its own copy
		if v := b.rec.values[key(Select{Die: die, SE: 3}, own)]; v != 99 {
			t.Errorf("die %d: %v", die, b.rec.values)
		}
	}
}

// DISPATCH_INDIRECT takes the grid from memory; an invisible shader stage runs nothing.
func TestDispatchIndirect(t *testing.T) {
	b := setup(t, "gfx1100")
	for i, n := range []uint32{3, 2, 1} {
		binary.LittleEndian.PutUint32(b.mem[4*i:], n)
	}
	entry := b.reg(t, "COMPUTE_PGM_LO")
	s := pm4.Stream(nil).SetSh(entry, memBase>>8, 0)
	s = s.SetSh(b.reg(t, "COMPUTE_NUM_THREAD_X"), 64, 1, 1)
	s = append(s, raw(pm4.OpDispatchIndirect, memBase, 0, 0)...) // without COMPUTE_SHADER_EN
	if err := b.run(t, append(s, raw(pm4.OpDispatchIndirect, memBase, 0, pm4.InitiatorShaderEnable|pm4.InitiatorStartAtZero)...)); err != nil {
		t.Fatal(err)
	}
	if len(b.rec.grids) != 1 || b.rec.grids[0].Groups != [3]uint32{3, 2, 1} || b.rec.grids[0].Entry != memBase {
		t.Errorf("%+v", b.rec.grids)
	}
}

// Waits end with their context, and code outside executable memory is not fetched.
func TestEndedContext(t *testing.T) {
	b := setup(t, "gfx1100")
	ctx, cancel := context.WithCancel(t.Context())
	for i, w := range raw(pm4.OpWaitRegMem, 3|1<<4, memBase, 0, 1, 1, 0) {
		binary.LittleEndian.PutUint32(b.mem[0x8000+4*i:], w)
	}
	b.p.WaitLimit = time.Minute
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := b.p.RunIndirect(ctx, b.q, 1, memBase+0x8000, 7); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := b.p.RunIndirect(ctx, b.q, 1, memBase+0x8000, 7); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that was cancelled before it began: %v", err)
	}
	b.q.Executable = func(addr uint64) bool { return addr != memBase+0x8000 }
	err := b.run(t, pm4.Stream(nil).Nop(2))
	if m, ok := errors.AsType[*MemoryError](err); !ok || !m.NoExec || !strings.Contains(err.Error(), "instruction fetch") {
		t.Errorf("%v", err)
	}
}
