package report

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/isa"
)

// TestFindFunction compares the innermost function with that of a search through all, where functions overlap, nest and leave gaps.
func TestFindFunction(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		list := make([]AsmFunc, r.IntN(12))
		for i := range list {
			list[i] = AsmFunc{Addr: r.Uint64N(64), size: r.Uint64N(24)}
		}
		slices.SortStableFunc(list, func(a, b AsmFunc) int { return cmp.Compare(a.Addr, b.Addr) })
		m := newCodeMap(isa.RDNA3, make([]*codeobj.Object, 1), []string{"a.co"})
		m.set(0, list)
		for pc := range uint64(96) {
			want := -1
			for i := range list {
				if list[i].Addr <= pc && pc < list[i].Addr+list[i].size {
					want = i
				}
			}
			if got := m.find(0, pc); got != want {
				t.Fatalf("at %d: function %d, want %d of %+v", pc, got, want, list)
			}
		}
	}
}

// TestFindPadding checks that an address behind a function that no other holds takes no search through those before it.
func TestFindPadding(t *testing.T) {
	const n = 1 << 16
	m := newCodeMap(isa.RDNA3, make([]*codeobj.Object, 1), []string{"a.co"})
	list := make([]AsmFunc, 0, n+1)
	list = append(list, AsmFunc{Addr: 0, size: 256 * n / 2}) // holds the first half
	for i := range uint64(n) {
		list = append(list, AsmFunc{Addr: 256 * i, size: 128})
	}
	m.set(0, list)
	for i := range n {
		want := int32(-1)
		if i < n/2 {
			want = 0
		}
		if got := m.outer[0][i+1]; got != want {
			t.Fatalf("behind function %d comes %d, want %d", i+1, got, want)
		}
		if got := m.find(0, 256*uint64(i)+200); got != int(want) {
			t.Fatalf("in the padding behind %d: function %d, want %d", i+1, got, want)
		}
	}
}
