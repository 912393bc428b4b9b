package count

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/gpu"
)

//go:embed tables/blocks.tsv
var blocksTSV string

//go:embed tables/events.tsv
var eventsTSV string

// scope is what has copies of a block of its own.
type scope uint8

const (
	perDie scope = iota
	perEngine
	perWGP
)

// Which bits of INSTANCE_INDEX choose a copy.
const (
	byNone     = iota
	byInstance // all of them
	byWGP      // wgp << 2 | instance
)

// Numbers of instances that the GPU's shape gives.
const (
	manyChannels = -1 - iota
	manyUnits
)

// blockRow is a row of tables/blocks.tsv.
type blockRow struct {
	family    gpu.Family
	name      string
	scope     scope
	instances int
	counters  int
	bits      int
	field     string // of the select
	step      int
	index     int
}

// how an event's count comes about.
type how uint8

const (
	byNothing    how = iota
	byStart          // of waves as they start
	byEnd            // of waves as they end
	byLevel          // in flight now; its integral is known of waves that end
	byClock          // every cycle
	byBusy           // cycles with a wave in flight
	byBusyUnits      // the same, of each unit for itself
	byAccumulate     // the level of the register before, every cycle
	byL2
	byDie
)

// Quantities beside timing's stats, in what a term names.
const (
	qWaves = int(timing.NumStats) + iota
	qItems
	qGroups
	qInsts
	qWaveCycles
	qL2Hits
	qL2Misses
	qL2Reads
	qL2Writes
	qL2Atomics
	qMemReads
	qMemWrites
	qL2Busy
	qMemReadWait
	qMemWriteWait
	qHostReads
	qHostWrites
	qReplaced
	qReleased
	qTABusy
	qTCBusy
	qMemBusy
	qWalkBusy
)

// term is a part of a sum.
type term struct {
	what int // a timing.Stat or one of the above
	by   int64
	only cond
}

// cond restricts a term to some waves.
type cond uint8

const (
	always cond = iota
	wave32
	wave64
	eq32
	eq64
	lt16
	lt32
	lt48
	lt64
)

var conds = []string{"", "wave32", "wave64", "eq32", "eq64", "lt16", "lt32", "lt48", "lt64"}

func (c cond) holds(lanes int, wide bool) bool {
	switch c {
	case wave32:
		return !wide
	case wave64:
		return wide
	case eq32:
		return lanes == 32
	case eq64:
		return lanes == 64
	case lt16:
		return lanes < 16
	case lt32:
		return lanes < 32
	case lt48:
		return lanes < 48
	case lt64:
		return lanes < 64
	}
	return true
}

// event is what one event of a block counts.
type event struct {
	name  string
	how   how
	terms []term
	div   uint64
}

type eventKey struct {
	target, block string
	number        int
}

// stats by their names in the table.
var stats = map[string][]int{
	"waves": {qWaves}, "items": {qItems}, "groups": {qGroups}, "insts": {qInsts}, "wave_cycles": {qWaveCycles},
	"l2_hits": {qL2Hits}, "l2_misses": {qL2Misses}, "l2_reads": {qL2Reads}, "l2_writes": {qL2Writes}, "l2_atomics": {qL2Atomics},
	"mem_reads": {qMemReads}, "mem_writes": {qMemWrites}, "l2_busy": {qL2Busy}, "mem_read_wait": {qMemReadWait}, "mem_write_wait": {qMemWriteWait},
	"host_reads": {qHostReads}, "host_writes": {qHostWrites}, "replaced": {qReplaced}, "released": {qReleased}, "walk_busy": {qWalkBusy},
	"translate": one(timing.StatTranslate), "translate_hit": one(timing.StatTranslateHit),
	"ta_busy": {qTABusy}, "tc_busy": {qTCBusy}, "mem_busy": {qMemBusy},
	"valu_lane_cycles": one(timing.StatCyclesLanes),
	"fetch_level":      one(timing.StatLevelFetch), "flat_lds": one(timing.StatFlatLDS),
	"smem1": one(timing.StatSMEM1), "smem2": one(timing.StatSMEM2), "smem4": one(timing.StatSMEM4), "smem8": one(timing.StatSMEM8),
	"smem16": one(timing.StatSMEM16), "lds_load": one(timing.StatLDSLoad), "lds_store": one(timing.StatLDSStore), "lds_atomic": one(timing.StatLDSAtomic),
	"ta_cycles": one(timing.StatCyclesTA), "td_cycles": one(timing.StatCyclesTD), "buffer_cycles": one(timing.StatCyclesBuf),
	"l0_load": one(timing.StatL0Load), "l0_store": one(timing.StatL0Store), "l0_atomic": one(timing.StatL0Atomic),
	"l0_atomic_rtn": one(timing.StatL0AtomicRtn), "l0_hit": one(timing.StatL0Hit), "l0_miss": one(timing.StatL0Miss),
	"l0":      span(timing.StatL0Load, timing.StatL0AtomicRtn),
	"l2_load": one(timing.StatL2Load), "l2_load_wait": one(timing.StatL2LoadWait), "l2_store_wait": one(timing.StatL2StoreWait),
	"salu": one(timing.StatSALU), "smem": one(timing.StatSMEM), "smem_store": one(timing.StatSMEMStore),
	"valu": span(timing.StatVALU, timing.StatMatrixF6F4), "mfma": span(timing.StatMatrixI8, timing.StatMatrixF6F4),
	"add_f16": one(timing.StatAddF16), "add_f32": one(timing.StatAddF32), "add_f64": one(timing.StatAddF64),
	"mul_f16": one(timing.StatMulF16), "mul_f32": one(timing.StatMulF32), "mul_f64": one(timing.StatMulF64),
	"fma_f16": one(timing.StatFmaF16), "fma_f32": one(timing.StatFmaF32), "fma_f64": one(timing.StatFmaF64),
	"trans_f16": one(timing.StatTransF16), "trans_f32": one(timing.StatTransF32), "trans_f64": one(timing.StatTransF64),
	"int32": one(timing.StatInt32), "int64": one(timing.StatInt64), "cvt": one(timing.StatCvt),
	"mfma_i8": one(timing.StatMatrixI8), "mfma_f16": one(timing.StatMatrixF16), "mfma_bf16": one(timing.StatMatrixBF16),
	"mfma_f32": one(timing.StatMatrixF32), "mfma_f64": one(timing.StatMatrixF64), "mfma_f8": one(timing.StatMatrixF8),
	"mfma_f6f4":   one(timing.StatMatrixF6F4),
	"buffer_load": one(timing.StatBufferLoad), "buffer_store": one(timing.StatBufferStore),
	"buffer_atomic": one(timing.StatBufferAtomic), "buffer_atomic_rtn": one(timing.StatBufferAtomicRtn),
	"global_load": one(timing.StatGlobalLoad), "global_store": one(timing.StatGlobalStore),
	"global_atomic": one(timing.StatGlobalAtomic), "global_atomic_rtn": one(timing.StatGlobalAtomicRtn),
	"flat_load": one(timing.StatFlatLoad), "flat_store": one(timing.StatFlatStore),
	"flat_atomic": one(timing.StatFlatAtomic), "flat_atomic_rtn": one(timing.StatFlatAtomicRtn),
	"scratch_load": one(timing.StatScratchLoad), "scratch_store": one(timing.StatScratchStore), "image": one(timing.StatImage),
	"flat":         span(timing.StatFlatLoad, timing.StatFlatAtomicRtn),
	"flat_encoded": span(timing.StatGlobalLoad, timing.StatScratchStore),
	"tex_load": join(one(timing.StatBufferLoad), one(timing.StatBufferAtomicRtn), one(timing.StatGlobalLoad), one(timing.StatGlobalAtomicRtn),
		one(timing.StatScratchLoad), one(timing.StatImage)),
	"tex_store": join(one(timing.StatBufferStore), one(timing.StatBufferAtomic), one(timing.StatGlobalStore), one(timing.StatGlobalAtomic),
		one(timing.StatScratchStore)),
	"vmem_load": join(one(timing.StatBufferLoad), one(timing.StatBufferAtomicRtn), one(timing.StatGlobalLoad), one(timing.StatGlobalAtomicRtn),
		one(timing.StatFlatLoad), one(timing.StatFlatAtomicRtn), one(timing.StatScratchLoad), one(timing.StatImage)),
	"vmem_store": join(one(timing.StatBufferStore), one(timing.StatBufferAtomic), one(timing.StatGlobalStore), one(timing.StatGlobalAtomic),
		one(timing.StatFlatStore), one(timing.StatFlatAtomic), one(timing.StatScratchStore)),
	"lds": one(timing.StatLDS), "lds_direct": one(timing.StatLDSDirect), "branch": one(timing.StatBranch), "message": one(timing.StatMessage),
	"delay": one(timing.StatDelay), "export": one(timing.StatExport),
	"wait_any": one(timing.StatWaitAny), "wait_inst": one(timing.StatWaitInst), "wait_inst_lds": one(timing.StatWaitInstLDS),
	"lds_active": one(timing.StatLDSActive), "lds_conflict": one(timing.StatLDSConflict), "lds_level": one(timing.StatLevelLDS),
	"vmem_level": one(timing.StatLevelVMEM), "smem_level": one(timing.StatLevelSMEM), "valu_cycles": one(timing.StatCyclesVALU),
	"vmem_cycles": one(timing.StatCyclesVMEM), "salu_cycles": one(timing.StatCyclesSALU), "matrix_cycles": one(timing.StatCyclesMatrix),
	"mops_i8": one(timing.StatMopsI8), "mops_f16": one(timing.StatMopsF16), "mops_bf16": one(timing.StatMopsBF16),
	"mops_f32": one(timing.StatMopsF32), "mops_f64": one(timing.StatMopsF64), "mops_f8": one(timing.StatMopsF8),
	"mops_f6f4": one(timing.StatMopsF6F4), "dcache_hit": one(timing.StatDCacheHit), "dcache_miss": one(timing.StatDCacheMiss), "icache_hit": one(timing.StatICacheHit), "icache_miss": one(timing.StatICacheMiss),
}

func one(s timing.Stat) []int { return []int{int(s)} }

func span(first, last timing.Stat) []int {
	var out []int
	for s := first; s <= last; s++ {
		out = append(out, int(s))
	}
	return out
}

func join(lists ...[]int) []int { return slices.Concat(lists...) }

type tables struct {
	blocks []blockRow
	events map[eventKey]*event
}

var parsed = sync.OnceValue(func() *tables {
	t, err := parse(blocksTSV, eventsTSV)
	if err != nil {
		panic("count: " + err.Error()) // our own tables; a test reads them
	}
	return t
})

func parse(blocks, events string) (*tables, error) {
	t := &tables{events: map[eventKey]*event{}}
	err := rows(blocks, 9, func(c []string) error {
		b := blockRow{name: c[1], field: c[8]}
		var err error
		if b.family, err = pick(c[0], map[string]gpu.Family{"gfx9": gpu.GFX9, "gfx11": gpu.GFX11, "gfx12": gpu.GFX12}); err != nil {
			return err
		}
		if b.scope, err = pick(c[2], map[string]scope{"die": perDie, "se": perEngine, "wgp": perWGP}); err != nil {
			return err
		}
		if b.index, err = pick(c[3], map[string]int{"none": byNone, "i": byInstance, "wgp": byWGP}); err != nil {
			return err
		}
		if b.instances, err = pick(c[4], map[string]int{"l2": manyChannels, "units": manyUnits}); err != nil {
			if b.instances, err = strconv.Atoi(c[4]); err != nil {
				return err
			}
		}
		for i, p := range []*int{&b.counters, &b.bits, &b.step} {
			if *p, err = strconv.Atoi(c[5+i]); err != nil {
				return err
			}
		}
		t.blocks = append(t.blocks, b)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("tables/blocks.tsv: %w", err)
	}
	err = rows(events, 5, func(c []string) error {
		n, err := strconv.Atoi(c[2])
		if err != nil {
			return err
		}
		e, err := parseEvent(c[4])
		if err != nil {
			return err
		}
		e.name = c[3]
		for target := range strings.SplitSeq(c[0], ",") {
			k := eventKey{target, c[1], n}
			if t.events[k] != nil {
				return fmt.Errorf("event %d of %s is listed twice for %s", n, c[1], target)
			}
			t.events[k] = e
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("tables/events.tsv: %w", err)
	}
	return t, nil
}

func pick[T any](s string, from map[string]T) (T, error) {
	v, ok := from[s]
	if !ok {
		return v, fmt.Errorf("%q is none of the column's words", s)
	}
	return v, nil
}

// rows calls f with the columns of each row behind the comments and the head.
func rows(text string, columns int, f func([]string) error) error {
	head := true
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		c := strings.Split(line, "\t")
		if len(c) != columns {
			return fmt.Errorf("line %d: %d columns, not %d", n, len(c), columns)
		}
		if head {
			head = false
			continue
		}
		if err := f(c); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return nil
}

// parseEvent reads the table's last column.
func parseEvent(s string) (*event, error) {
	e := &event{div: 1}
	s, quad := strings.CutSuffix(s, "/4")
	if quad {
		e.div = 4
	}
	if how, ok := map[string]how{
		"zero": byNothing, "cycles": byClock, "active": byClock, "busy": byBusy, "busy_units": byBusyUnits, "accum": byAccumulate,
	}[s]; ok {
		e.how = how
		return e, nil
	}
	s, level := strings.CutPrefix(s, "level ")
	for part := range strings.SplitSeq(s, "+") {
		by := int64(1)
		if n, rest, ok := strings.Cut(part, "*"); ok {
			v, err := strconv.ParseInt(n, 10, 32)
			if err != nil {
				return nil, err
			}
			by, part = v, rest
		}
		name, condition, _ := strings.Cut(part, ":")
		only := slices.Index(conds, condition)
		whats, ok := stats[name]
		if !ok || only < 0 {
			return nil, fmt.Errorf("%q is nothing that is counted", part)
		}
		for _, w := range whats {
			h := byEnd
			switch {
			case w >= qTABusy:
				h = byDie
			case w >= qL2Hits:
				h = byL2
			case w == qWaves, w == qItems, w == qGroups:
				h = byStart
			}
			if e.how != byNothing && e.how != h {
				return nil, fmt.Errorf("%q is counted at another time than what stands before it", part)
			}
			e.how = h
			e.terms = append(e.terms, term{w, by, cond(only)})
		}
	}
	if level {
		if e.how != byEnd {
			return nil, fmt.Errorf("level of %q", s)
		}
		e.how = byLevel
	}
	return e, nil
}

// lookup finds what an event counts; nil: it is not modelled.
func lookup(target, block string, number int) *event {
	return parsed().events[eventKey{target, block, number}]
}

// Modelled tells whether the simulated GPU of a target counts an event of a block, and if not, why.
func Modelled(target, block string, number int) (ok bool, why string) {
	if lookup(target, block, number) != nil {
		return true, ""
	}
	switch block {
	case "SQ":
		if strings.HasPrefix(target, "gfx115") {
			return false, "what the event is on GFX11.5, which renumbers some, is not known"
		}
	case "TCP":
		return false, "the time model's vector caches know no stalls and no memory types"
	case "TA", "TD":
		return false, "the time model's texture units know no stalls"
	case "TCC", "GL2C":
		return false, "the time model's L2 knows no stalls and no memory types"
	case "SPI":
		return false, "the time model does not say why a wave launcher waits"
	case "TCA", "CPC", "CPF":
		return false, "the time model has no such unit"
	}
	return false, "the time model has no count of it"
}
