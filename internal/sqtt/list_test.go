package sqtt

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// checkList compares a Lister with PacketsWith and CountPackets.
func checkList(t *testing.T, name string, f gpu.Family, buf []byte, piece int) {
	t.Helper()
	var want []Packet
	shader := int64(0)
	for p := range PacketsWith(f, HeaderAuto, buf) {
		want = append(want, p)
		if p.Kind == KindShaderData || p.Kind == KindShaderDataShort {
			shader++
		}
	}
	var got []Packet
	emit := func(p *Packet) error { got = append(got, *p); return nil }
	var list, count Lister
	list.Reset(f, HeaderAuto)
	count.Reset(f, HeaderAuto)
	for rest := buf; len(rest) > 0; {
		n := min(piece, len(rest))
		_, _ = list.Feed(rest[:n], emit), count.Feed(rest[:n], nil)
		rest = rest[n:]
	}
	_, _ = list.Close(emit), count.Close(nil)
	if i := firstDifference(got, want); i >= 0 {
		t.Fatalf("%s in pieces of %d: token %d differs: %d, want %d", name, piece, i, len(got), len(want))
	}
	if n := int64(len(want)); list.Tokens != n || count.Tokens != n || count.ShaderData != shader || list.ShaderData != shader {
		t.Fatalf("%s: %d and %d tokens, want %d; %d with words, want %d", name, list.Tokens, count.Tokens, n, count.ShaderData, shader)
	}
}

func TestLister(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for i := range 60 {
		f := []gpu.Family{gpu.GFX9, gpu.GFX11, gpu.GFX12}[i%3]
		buf := randomTrace(r, f, 2000)
		for range 40 { // broken in places
			buf[r.IntN(len(buf))] = byte(r.Uint32())
		}
		checkList(t, f.String(), f, buf, 1+r.IntN(500))
	}
	stop := errors.New("stop")
	var l Lister
	l.Reset(gpu.GFX11, HeaderAuto)
	n := 0
	if err := l.Feed(randomTrace(r, gpu.GFX11, 100), func(*Packet) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Errorf("%v after %d tokens", err, n)
	}
}

func TestListerCaptures(t *testing.T) {
	for _, s := range captureStreams(t, "*/gemm3k") {
		checkList(t, s.Name, s.Family, s.Buf, 4099)
	}
}

// The oldest open wave is a bound: no wave that ends later started earlier.
func TestOldestOpen(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for i := range 30 {
		f := []gpu.Family{gpu.GFX9, gpu.GFX11, gpu.GFX12}[i%3]
		buf := randomTrace(r, f, 2000)
		var d WaveDecoder
		d.Reset(f, HeaderAuto)
		bound, seen := Cycles(0), 0
		for len(buf) > 0 {
			n := min(200, len(buf))
			d.Feed(buf[:n])
			buf = buf[n:]
			for _, w := range d.TakeWaves() {
				seen++
				if w.Start < bound {
					t.Fatalf("%v: a wave started at %d, before %d", f, w.Start, bound)
				}
			}
			bound = min(d.OldestOpen(), d.now)
		}
		if seen == 0 {
			t.Errorf("%v: no waves", f)
		}
	}
}
