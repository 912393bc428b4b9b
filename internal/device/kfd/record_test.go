package kfd

import (
	"context"
	"sync"
	"testing"

	"github.com/rigprof/rigprof/internal/profile"
)

// Totals of memory are recorded in the order in which they were reached, whoever allocates: each is a step from the one before.
func TestAllocatedInOrder(t *testing.T) {
	const workers, turns, size = 8, 2000, 4096
	d := &Device{}
	evs, err := profile.Take(t.Context(), func(context.Context) error {
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range turns {
					d.allocated(size)
					d.allocated(-size)
				}
			})
		}
		wg.Wait()
		return nil
	})
	if err != nil || len(evs) != 2*workers*turns {
		t.Fatal(len(evs), err)
	}
	total := int64(0)
	for i, e := range evs {
		if by := int64(e.Bytes) - total; by != size && by != -size {
			t.Fatalf("event %d: %d bytes after %d", i, e.Bytes, total)
		}
		total = int64(e.Bytes)
	}
	if total != 0 {
		t.Errorf("%d bytes at the end", total)
	}
}
