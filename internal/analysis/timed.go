package analysis

import "math/bits"

// Timed is latencies of one LDS instruction where a wait tells them: it waited for LDS alone, stood still for it, and its own fetch had no part in that. The data
// was there when the wait ended.
type Timed struct {
	Of    int64   // waits for LDS alone that waited for it
	N     int64   // of them
	Words int64   // dwords a lane that the wave had asked for and not got when the accesses were issued, their own included; in all
	count []int64 // by bucket
}

const (
	stalled  = 8   // cycles; a wait that was over at once takes 1, on GFX9 4
	codeLine = 256 // bytes of code that come together; where they run for the first time the first instruction stands still (captures of gfx11, gfx12)
)

// Latencies are counted in four buckets for each power of two.
const bucketBits = 2

func bucketOf(n int64) int {
	if n < 1<<bucketBits {
		return int(max(n, 0))
	}
	e := bits.Len64(uint64(n)) - 1 - bucketBits
	return e<<bucketBits + int(n>>e)
}

// bucketFrom is the least number in a bucket.
func bucketFrom(i int) int64 {
	if i < 1<<bucketBits {
		return int64(i)
	}
	e := i>>bucketBits - 1
	return int64(i&(1<<bucketBits-1)+1<<bucketBits) << e
}

func (t *Timed) add(latency, words int64) {
	i := bucketOf(latency)
	if i >= len(t.count) {
		t.count = append(t.count, make([]int64, i+1-len(t.count))...)
	}
	t.count[i]++
	t.N++
	t.Words += words
}

func (t *Timed) join(o *Timed) {
	if len(t.count) < len(o.count) {
		t.count = append(t.count, make([]int64, len(o.count)-len(t.count))...)
	}
	for i, n := range o.count {
		t.count[i] += n
	}
	t.Of += o.Of
	t.N += o.N
	t.Words += o.Words
}

// Median is a latency that half of the accesses or more reached, at most a fifth below the greatest such; 0 without any. A few that
// waited for something else do not change it.
func (t *Timed) Median() int64 {
	n := int64(0)
	for i := len(t.count) - 1; i >= 0; i-- {
		if n += t.count[i]; 2*n >= t.N && n > 0 {
			return bucketFrom(i)
		}
	}
	return 0
}
