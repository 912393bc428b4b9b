package capture

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
)

// A blob read in pieces is the blob read whole, also in a damaged file.
func TestBlobReader(t *testing.T) {
	file, trace := sample(t)
	r := rand.New(rand.NewPCG(8, 8))
	for i := range 100 {
		b := bytes.Clone(file)
		if i > 0 {
			b[headBytes+r.IntN(len(b)-headBytes)] ^= 1 << r.IntN(8)
		}
		c := read(t, b)
		for k := range c.Traces {
			want, wantErr := c.Traces[k].Bytes.Bytes()
			rd := c.Traces[k].Bytes.Reader()
			got, err := io.ReadAll(rd)
			if !bytes.Equal(got, want) || (err != nil) != (wantErr != nil) {
				t.Fatalf("%d bytes, %v; want %d, %v", len(got), err, len(want), wantErr)
			}
			if err := rd.Close(); err != nil {
				t.Fatal(err)
			}
			if i == 0 && k == 1 && !bytes.Equal(got, trace) {
				t.Fatalf("%d bytes, want %d", len(got), len(trace))
			}
		}
	}
}
