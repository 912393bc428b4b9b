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

// TestAVXMemory compares the assembly for addresses and 64-bit lanes with plain loops.
func TestAVXMemory(t *testing.T) {
	if !hasAVX {
		t.Skip("the processor has no AVX2")
	}
	r := rand.New(rand.NewPCG(11, 12))
	data := make([]byte, 4096)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for range 2000 {
		var a, b, c, e, want, got, high, wantHigh lanes
		for i := range a {
			a[i], b[i], c[i], e[i] = pattern(r), pattern(r), pattern(r), pattern(r)
		}
		same := func(what string, want, got any) {
			t.Helper()
			if want != got {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
		}

		off := r.IntN(33) // the lane that is not as the others; 32: none
		base := pattern(r)
		for i := range got {
			got[i] = base + a[i]
			if i == off {
				got[i] ^= 1 << r.IntN(32)
			}
		}
		same("moved", off == 32, avxMoved(&got, &a, base))

		top := uint32(0)
		for _, x := range a {
			top = max(top, x)
		}
		same("largest", top, avxLargest(&a))

		// LDS: groups of eight lanes that are in a row, at one place or anywhere.
		for i := range e {
			switch g := i &^ 7; {
			case i == g || e[g]%3 == 0:
				e[i] = uint32(r.IntN(len(data) - 64))
			case e[g]%3 == 1:
				e[i] = e[g]
			default:
				e[i] = e[i-1] + 4
			}
		}
		var two [2]vreg
		avxLDS(&two[0], &e, unsafe.Pointer(&data[0]), 2)
		for i := range want {
			want[i], wantHigh[i] = le.Uint32(data[e[i]:]), le.Uint32(data[e[i]+4:])
		}
		same("lds", want, *lo(&two[0]))
		same("lds, second dword", wantHigh, *lo(&two[1]))
		wantData := bytes.Clone(data)
		for i, x := range e {
			le.PutUint32(wantData[x:], a[i])
		}
		avxLDSPut(&e, &a, unsafe.Pointer(&data[0]))
		same("lds put", string(wantData), string(data))

		// Scattered addresses, all inside or one lane just outside.
		var at [64]uint64
		gbase := r.Uint64() >> 1
		for i := range at {
			at[i] = gbase + uint64(r.IntN(len(data)-3))
		}
		if off < 32 {
			at[off] = gbase + [...]uint64{uint64(len(data) - 3), ^uint64(0), r.Uint64() | 1<<40}[r.IntN(3)]
		}
		same("gather", off == 32, avxGather(&got, (*[32]uint64)(at[:32]), unsafe.Pointer(&data[0]), gbase, uint64(len(data)-3)))
		if off == 32 {
			for i := range want {
				want[i] = le.Uint32(data[at[i]-gbase:])
			}
			same("gather", want, got)
		}
		size := uint64(1) << r.IntN(5)
		n := 4 << r.IntN(5)
		seen, rising := map[uint64]bool{}, true
		spread := uint64(1) << r.IntN(10)
		at[0] = gbase >> 2 &^ 15
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
		same("lines", lines, avxLines(&at, n, size))
		avxWidenU16(&got, unsafe.Pointer(&data[off]))
		for i := range want {
			want[i] = uint32(le.Uint16(data[off+2*i:]))
		}
		same("widen u16", want, got)
		step := uint32(r.IntN(100))
		for i := range want {
			want[i] = le.Uint32(data[uint32(i)*step:])
		}
		avxStrided(&got, unsafe.Pointer(&data[0]), step)
		same("strided", want, got)

		// Addresses in runs of eight, exact or with one lane off.
		origin := uint64(0x7f0000000000) + uint64(r.Uint32())
		by := uint64(r.IntN(64))
		for _, bits := range []int{48, 32} {
			var addr, wantAddr [32]uint64
			runs := uint32(15)
			for g := range 4 {
				start := r.Uint64() >> (64 - bits)
				for i := range 8 {
					x := (start + uint64(i)*by) & (1<<bits - 1)
					if l := 8*g + i; l == off {
						x ^= 1 << r.IntN(bits)
					}
					l := 8*g + i
					a[l], b[l] = uint32(x), uint32(x>>32)
					wantAddr[l] = origin + x
					if wantAddr[l] != wantAddr[8*g]+uint64(i)*by {
						runs &^= 1 << g
					}
				}
			}
			var got uint32
			if bits == 48 {
				got = avxAddress64(&addr, &a, &b, origin, by)
			} else {
				got = avxAddress32(&addr, &a, origin, by)
			}
			same("runs", runs, got)
			same("addresses", wantAddr, addr)
		}

		for i := range a {
			a[i], b[i], e[i] = pattern(r), pattern(r), pattern(r)
		}
		carries := uint32(0)
		for i := range a {
			s, cy := bits.Add64(uint64(a[i])*uint64(b[i]), uint64(c[i])|uint64(e[i])<<32, 0)
			want[i], wantHigh[i] = uint32(s), uint32(s>>32)
			carries |= uint32(cy) << i
		}
		high, got = e, c
		same("mad64 carries", carries, avxMad64(&got, &high, &a, &b, &got, &high))
		same("mad64", want, got)
		same("mad64 high", wantHigh, high)

		shift := r.IntN(33)
		for i := range a {
			s := (uint64(a[i])|uint64(b[i])<<32)<<shift + (uint64(c[i]) | uint64(e[i])<<32)
			want[i], wantHigh[i] = uint32(s), uint32(s>>32)
		}
		got, high = b, a // exchanged
		avxShlAdd64(&high, &got, &high, &got, &c, &e, uint64(shift))
		same("shladd64", want, high)
		same("shladd64 high", wantHigh, got)

		one := uint64(pattern(r)) | uint64(pattern(r))<<32
		for i := range a {
			s := (uint64(a[i])|uint64(b[i])<<32)<<shift + one
			want[i], wantHigh[i] = uint32(s), uint32(s>>32)
		}
		avxShlAddOne(&got, &high, &a, &b, one, uint64(shift))
		same("shladdone", want, got)
		same("shladdone high", wantHigh, high)

		// Selectors, all plain or with one odd one.
		plain := []uint32{0, 1, 2, 3, 4, 5, 6, 7, 12}
		for i := range c {
			c[i] = plain[r.IntN(9)] | plain[r.IntN(9)]<<8 | plain[r.IntN(9)]<<16 | plain[r.IntN(9)]<<24
			if i == off {
				c[i] |= 0x80 >> r.IntN(5) << (8 * r.IntN(4))
			}
			want[i] = permB32(a[i], b[i], c[i])
		}
		odd := false
		for _, x := range c {
			for k := 0; k < 32; k += 8 {
				s := x >> k & 255
				odd = odd || s > 7 && s != 12
			}
		}
		got = a
		same("perm", !odd, avxPerm(&got, &got, &b, &c))
		if odd {
			same("perm of odd selectors", a, got)
		} else {
			same("perm", want, got)
		}

		avxRsqF32(&got, &a)
		avxRcpF32(&high, &a)
		for i, x := range a {
			rsq, rcp := u32(float32(1/math.Sqrt(float64(f32(x))))), u32(1/f32(x))
			if got[i] != rsq && !(isNaN32(got[i]) && isNaN32(rsq)) || high[i] != rcp && !(isNaN32(high[i]) && isNaN32(rcp)) {
				t.Fatalf("rsq, rcp of %08x: %08x %08x, want %08x %08x", x, got[i], high[i], rsq, rcp)
			}
		}
	}
}
