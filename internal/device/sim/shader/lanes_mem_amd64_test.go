//go:build !purego

package shader

import (
	"bytes"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// avxCase is a turn of TestAVXMemory: random registers, and one lane that is not as the others.
type avxCase struct {
	*testing.T
	r          *rand.Rand
	n          int // lanes
	odd        int // n: no lane is
	a, b, c, e vreg
	data       []byte
}

func (t *avxCase) same(what string, want, got any) {
	t.Helper()
	if want != got {
		t.Fatalf("%s of %d lanes: %v, want %v", what, t.n, got, want)
	}
}

// random is a register; lanes from n on must stay as they are.
func (t *avxCase) random() (v vreg) {
	for i := range v {
		v[i] = pattern(t.r)
	}
	return v
}

// TestAVXMemory compares the assembly for addresses, data in memory and 64-bit lanes with plain loops.
func TestAVXMemory(t *testing.T) {
	if !hasAVX {
		t.Skip("the processor has no AVX2")
	}
	r := rand.New(rand.NewPCG(11, 12))
	data := make([]byte, 4096)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for turn := range 2000 {
		c := &avxCase{T: t, r: r, n: 32 + turn%2*32, data: data}
		c.odd = r.IntN(c.n + 1)
		c.a, c.b, c.c, c.e = c.random(), c.random(), c.random(), c.random()
		c.lds()
		c.global()
		c.lines()
		c.sums()
		c.perm()
	}
}

func (t *avxCase) lds() {
	r := t.r
	got := t.random()
	base := pattern(r)
	top := uint32(0)
	for i := range t.n {
		got[i] = base + t.a[i]
		if i == t.odd {
			got[i] ^= 1 << r.IntN(32)
		}
		top = max(top, t.a[i])
	}
	t.same("moved", t.odd == t.n, avxMoved(&got, &t.a, base, t.n))
	t.same("largest", top, avxLargest(&t.a, t.n))

	// Groups of eight lanes that are in a row, at one place or anywhere.
	e := &t.e
	for i := range e {
		switch g := i &^ 7; {
		case i == g || e[g]%3 == 0:
			e[i] = uint32(r.IntN(len(t.data) - 64))
		case e[g]%3 == 1:
			e[i] = e[g]
		default:
			e[i] = e[i-1] + 4
		}
	}
	two := [2]vreg{t.random(), t.random()}
	want := two
	for i := range t.n {
		want[0][i], want[1][i] = le.Uint32(t.data[e[i]:]), le.Uint32(t.data[e[i]+4:])
	}
	avxLDS(&two[0], e, unsafe.Pointer(&t.data[0]), 2, t.n)
	t.same("lds", want, two)
	wantData := bytes.Clone(t.data)
	for i := range t.n {
		le.PutUint32(wantData[e[i]:], t.a[i])
	}
	avxLDSPut(e, &t.a, unsafe.Pointer(&t.data[0]), t.n)
	t.same("lds put", string(wantData), string(t.data))
}

func (t *avxCase) global() {
	r := t.r
	// Scattered addresses, all inside or one lane just outside.
	var at [64]uint64
	base := r.Uint64() >> 1
	for i := range at {
		at[i] = base + uint64(r.IntN(len(t.data)-3))
	}
	if t.odd < t.n {
		at[t.odd] = base + [...]uint64{uint64(len(t.data) - 3), ^uint64(0), r.Uint64() | 1<<40}[r.IntN(3)]
	}
	got := t.random()
	want := got
	t.same("gather", t.odd == t.n, avxGather(&got, &at, unsafe.Pointer(&t.data[0]), base, uint64(len(t.data)-3), t.n))
	if t.odd == t.n {
		for i := range t.n {
			want[i] = le.Uint32(t.data[at[i]-base:])
		}
		t.same("gather", want, got)
	}
	off := r.IntN(33)
	got, want = t.a, t.a
	avxWidenU16(lo(&got), unsafe.Pointer(&t.data[off]))
	for i := range 32 {
		want[i] = uint32(le.Uint16(t.data[off+2*i:]))
	}
	t.same("widen u16", want, got)
	step := uint32(r.IntN(100))
	for i := range 32 {
		want[i] = le.Uint32(t.data[uint32(i)*step:])
	}
	avxStrided(lo(&got), unsafe.Pointer(&t.data[0]), step)
	t.same("strided", want, got)

	// Addresses in runs of eight, exact or with one lane off.
	origin := uint64(0x7f0000000000) + uint64(r.Uint32())
	by := uint64(r.IntN(64))
	for _, width := range []int{48, 32} {
		var low, high vreg
		addr := at
		wantAddr := at
		runs := uint32(0)
		for g := range t.n / 8 {
			start := r.Uint64() >> (64 - width)
			run := true
			for i := range 8 {
				l := 8*g + i
				x := (start + uint64(i)*by) & (1<<width - 1)
				if l == t.odd {
					x ^= 1 << r.IntN(width)
				}
				low[l], high[l] = uint32(x), uint32(x>>32)
				wantAddr[l] = origin + x
				run = run && wantAddr[l] == wantAddr[8*g]+uint64(i)*by
			}
			runs |= b2u(run) << g
		}
		var got uint32
		if width == 48 {
			got = avxAddress64(&addr, &low, &high, origin, by, t.n)
		} else {
			got = avxAddress32(&addr, &low, origin, by, t.n)
		}
		t.same("runs", runs, got>>(8-t.n/8))
		t.same("addresses", wantAddr, addr)
	}
}

func (t *avxCase) lines() {
	r := t.r
	size := uint64(1) << r.IntN(5)
	n := 4 << r.IntN(5)
	seen, rising := map[uint64]bool{}, true
	spread := uint64(1) << r.IntN(10)
	var at [64]uint64
	at[0] = r.Uint64() >> 2 &^ 15
	for i := range n {
		if i > 0 {
			at[i] = at[i-1] + r.Uint64N(spread)&^(size-1)
		}
		if r.IntN(200) == 0 {
			at[i] -= r.Uint64N(300)
		}
		rising = rising && at[i]>>7 == (at[i]+size-1)>>7 && (i == 0 || at[i] >= at[i-1])
		seen[at[i]>>7] = true
	}
	lines := -1
	if rising {
		lines = len(seen)
	}
	t.same("lines", lines, avxLines(&at, n, size))
}

func (t *avxCase) sums() {
	r := t.r
	a, b, c, e := &t.a, &t.b, &t.c, t.random()
	low, high := *c, e
	wantLow, wantHigh := *c, e
	carries := uint64(0)
	for i := range t.n {
		s, cy := bits.Add64(uint64(a[i])*uint64(b[i]), uint64(c[i])|uint64(e[i])<<32, 0)
		wantLow[i], wantHigh[i] = uint32(s), uint32(s>>32)
		carries |= cy << i
	}
	t.same("mad64 carries", carries, avxMad64(&low, &high, a, b, &low, &high, t.n))
	t.same("mad64", wantLow, low)
	t.same("mad64 high", wantHigh, high)

	shift := r.IntN(33)
	low, high = *b, *a // exchanged
	wantLow, wantHigh = *b, *a
	one := uint64(pattern(r)) | uint64(pattern(r))<<32
	wantOne, wantOneHigh := *c, *c
	for i := range t.n {
		x := (uint64(a[i]) | uint64(b[i])<<32) << shift
		s := x + (uint64(c[i]) | uint64(e[i])<<32)
		wantLow[i], wantHigh[i] = uint32(s), uint32(s>>32)
		wantOne[i], wantOneHigh[i] = uint32(x+one), uint32((x+one)>>32)
	}
	avxShlAdd64(&low, &high, &high, &low, c, &e, uint64(shift), t.n)
	t.same("shladd64", wantLow, low)
	t.same("shladd64 high", wantHigh, high)
	low, high = *c, *c
	avxShlAddOne(&low, &high, a, b, one, uint64(shift), t.n)
	t.same("shladdone", wantOne, low)
	t.same("shladdone high", wantOneHigh, high)

	var rsq, rcp lanes
	avxRsqF32(&rsq, lo(a))
	avxRcpF32(&rcp, lo(a))
	for i, x := range lo(a) {
		s, p := u32(float32(1/math.Sqrt(float64(f32(x))))), u32(1/f32(x))
		if rsq[i] != s && !(isNaN32(rsq[i]) && isNaN32(s)) || rcp[i] != p && !(isNaN32(rcp[i]) && isNaN32(p)) {
			t.Fatalf("rsq, rcp of %08x: %08x %08x, want %08x %08x", x, rsq[i], rcp[i], s, p)
		}
	}
}

// perm has selectors that are all plain, or one that is not.
func (t *avxCase) perm() {
	r := t.r
	a, b, c := lo(&t.a), lo(&t.b), lo(&t.c)
	plain := []uint32{0, 1, 2, 3, 4, 5, 6, 7, 12}
	var want lanes
	odd := false
	for i := range c {
		c[i] = plain[r.IntN(9)] | plain[r.IntN(9)]<<8 | plain[r.IntN(9)]<<16 | plain[r.IntN(9)]<<24
		if i == t.odd {
			c[i] |= 0x80 >> r.IntN(5) << (8 * r.IntN(4))
		}
		want[i] = permB32(a[i], b[i], c[i])
		for k := 0; k < 32; k += 8 {
			s := c[i] >> k & 255
			odd = odd || s > 7 && s != 12
		}
	}
	got := *a
	t.same("perm", !odd, avxPerm(&got, &got, b, c))
	if odd {
		want = *a
	}
	t.same("perm", want, got)
}
