package sqtt

import (
	"sync"

	"github.com/rigprof/rigprof/internal/gpu"
)

// walkTable11 and walkTable12 find, besides what waves need, what the walk does: nearly every other token.
var (
	walkTable11 = sync.OnceValue(func() *laneTable { return newLaneTable(gpu.GFX11, walkLaneEvents) })
	walkTable12 = sync.OnceValue(func() *laneTable { return newLaneTable(gpu.GFX12, walkLaneEvents) })
)

func walkLaneEvents(k Kind, bits, known uint32) bool {
	if k == KindReg && known == 16 && bits>>15 == 0 { // no compute register
		return false
	}
	return k == KindMisc || walkEvents(k)
}
