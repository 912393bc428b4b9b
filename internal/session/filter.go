package session

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
)

// filterCode is a GFX12 kernel that stores, at the address its kernel arguments have, the filter word of the VMID its wave runs
// in (see perfctr.Filter): no call of the driver tells it, a wave reads it.
var filterCode = []uint32{
	0xb8821e18,                         // s_getreg_b32 s2, hwreg(HW_REG_HW_ID2, 24, 4)
	0x80028102,                         // s_add_co_u32 s2, s2, 1
	0x84020281,                         // s_lshl_b32 s2, 1, s2
	0x8c028102,                         // s_or_b32 s2, s2, 1
	0x7e000280,                         // v_mov_b32_e32 v0, 0
	0x7e020202,                         // v_mov_b32_e32 v1, s2
	0xee068000, 0x008c0000, 0x00000000, // global_store_b32 v0, v1, s[0:1] scope:SCOPE_SYS
	0xbfb00000, // s_endpgm
}

const (
	filterRSRC1 = 3<<30 | 3<<18 // forward progress, ordered memory; f16 and f64 denormals kept; 8 VGPRs
	filterRSRC2 = 2 << 1        // two user registers: where the word goes
)

// filters tells whether a pass can count this process's waves alone.
func filters(g *gpu.GPU, names []string) bool {
	if g.Family != gpu.GFX12 || g.Dies != 1 || len(names) == 0 {
		return false
	}
	for _, n := range names {
		if !isSQ(g, n) {
			return false
		}
	}
	return true
}

func isSQ(g *gpu.GPU, name string) bool {
	for _, c := range perfctr.Counters(g) {
		if c.Name == name {
			return c.Block == "SQ"
		}
	}
	return false
}

// apart splits passes where that lets SQ counters be filtered.
func apart(g *gpu.GPU, passes [][]string) [][]string {
	if g.Family != gpu.GFX12 || g.Dies != 1 {
		return passes
	}
	var list [][]string
	for _, names := range passes {
		var sq, rest []string
		for _, n := range names {
			if isSQ(g, n) {
				sq = append(sq, n)
			} else {
				rest = append(rest, n)
			}
		}
		for _, part := range [][]string{sq, rest} {
			if len(part) > 0 {
				list = append(list, part)
			}
		}
	}
	return list
}

// checked is a pass's counters and, where a register is free, SQ_WAVES behind them: the launch's waves are known, so it tells whether
// the filter let all of them count. added are those that nobody asked for.
func checked(g *gpu.GPU, names []string) (all, added []string) {
	if !filters(g, names) || slices.Contains(names, waveCounter) || len(names) >= perfctr.Limit(g, "SQ") {
		return names, nil
	}
	added = []string{waveCounter}
	return slices.Concat(names, added), added
}

const waveCounter = "SQ_WAVES"

// counting is the words that start and stop a pass's counting, and the launches that run before and behind them.
type counting struct {
	start, stop   []uint32
	before, after []device.Part
	words         *device.Buffer // the filter words of the VMIDs before and after; nil: not filtered
}

const afterWord = 64 // offset of the word after: a cache line of its own

func (r *run) programs(ctx context.Context, l *perfctr.Layout, filtered bool, samples int64) (c counting, err error) {
	g := r.info.GPU
	if !filtered {
		if c.start, err = perfctr.Start(g, l); err == nil {
			c.stop, err = perfctr.Stop(g, r.info.Live, l, samples)
		}
		return c, err
	}
	code, err := r.alloc(ctx, uint64(len(filterCode)*4)+256, device.AllocOptions{Executable: true}) // 256: instructions are fetched ahead
	if err != nil {
		return c, fmt.Errorf("memory for the kernel that reads the VMID: %w", err)
	}
	for i, w := range filterCode {
		binary.LittleEndian.PutUint32(code.Bytes[4*i:], w)
	}
	if c.words, err = r.alloc(ctx, 2*afterWord, device.AllocOptions{Uncached: true}); err != nil {
		return c, fmt.Errorf("memory for the filter word: %w", err)
	}
	reader := func(at uint64) []device.Part {
		return []device.Part{device.Launch{
			Name: "rigprof: read the VMID", Entry: code.Addr, RSRC1: filterRSRC1, RSRC2: filterRSRC2, Kernarg: at,
			Properties: device.PropKernargSegmentPtr | device.PropWave32, Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{1, 1, 1},
		}}
	}
	c.before, c.after = reader(c.words.Addr), reader(c.words.Addr+afterWord)
	if c.start, err = perfctr.StartFiltered(g, l, int64(c.words.Addr)); err == nil {
		c.stop, err = perfctr.StopFiltered(g, r.info.Live, l, samples)
	}
	return c, err
}

// astray says why a filtered pass did not count the launch's waves, "" where nothing shows: the kernel driver may give the process
// another VMID at any time, and the filter chooses by the one that was read.
func (c *counting) astray() (why string, err error) {
	if c.words == nil {
		return "", nil
	}
	var b [2 * afterWord]byte
	if err := c.words.Read(0, b[:]); err != nil {
		return "", err
	}
	before, after := binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint32(b[afterWord:])
	switch {
	case before == 0 || after == 0:
		return "the kernel that reads the process's VMID stored nothing", nil
	case before != after:
		return fmt.Sprintf("the process's VMID changed from %d to %d while it ran", vmidOf(before), vmidOf(after)), nil
	}
	return "", nil
}

// vmidOf is the VMID that a filter word chooses.
func vmidOf(word uint32) int { return bits.TrailingZeros32(word >> 1) }

// missed compares the waves that a filtered pass counted with those launched: fewer is a count that failed, more is a remark, as preempted
// waves count again. Counts that are no exact number tell nothing.
func missed(readings []perfctr.Reading, launched int64) (why, remark string) {
	for i := range readings {
		n := readings[i].Total
		if readings[i].Counter.Name != waveCounter || n.NA != "" || n.AtLeast {
			continue
		}
		switch {
		case n.N < uint64(launched):
			why = fmt.Sprintf("only %d of the %d waves launched passed the filter: the process's VMID may have changed while it ran", n.N, launched)
		case n.N > uint64(launched):
			remark = fmt.Sprintf("%d waves passed the filter, %d were launched", n.N, launched)
		}
	}
	return why, remark
}
