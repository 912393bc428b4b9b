package session

import (
	"context"
	"encoding/binary"
	"fmt"

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

// programs gives the words that start and stop a pass's counting, and what runs before them.
func (r *run) programs(ctx context.Context, l *perfctr.Layout, filtered bool, samples int64) (before []device.Part, start, stop []uint32, err error) {
	g := r.info.GPU
	if !filtered {
		if start, err = perfctr.Start(g, l); err == nil {
			stop, err = perfctr.Stop(g, r.info.Live, l, samples)
		}
		return nil, start, stop, err
	}
	code, err := r.alloc(ctx, uint64(len(filterCode)*4)+256, device.AllocOptions{Executable: true}) // 256: instructions are fetched ahead
	if err != nil {
		return nil, nil, nil, fmt.Errorf("memory for the kernel that reads the VMID: %w", err)
	}
	for i, w := range filterCode {
		binary.LittleEndian.PutUint32(code.Bytes[4*i:], w)
	}
	word, err := r.alloc(ctx, 8, device.AllocOptions{Uncached: true})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("memory for the filter word: %w", err)
	}
	before = []device.Part{device.Launch{
		Name: "rigprof: read the VMID", Entry: code.Addr, RSRC1: filterRSRC1, RSRC2: filterRSRC2, Kernarg: word.Addr,
		Properties: device.PropKernargSegmentPtr | device.PropWave32, Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{1, 1, 1},
	}}
	if start, err = perfctr.StartFiltered(g, l, int64(word.Addr)); err == nil {
		stop, err = perfctr.StopFiltered(g, r.info.Live, l, samples)
	}
	return before, start, stop, err
}
