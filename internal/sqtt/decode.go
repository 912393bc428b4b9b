package sqtt

import (
	"github.com/rigprof/rigprof/internal/gpu"
)

// DecodeWaves decodes the waves, realtime markers and losses of one engine's stream. A GFX9 software header is left out
// where the stream confirms it.
func DecodeWaves(f gpu.Family, buf []byte) *Result { return DecodeWavesWith(f, HeaderAuto, buf) }

// DecodeWavesWith is DecodeWaves with the choice whether a GFX9 stream starts with a software header.
func DecodeWavesWith(f gpu.Family, h Header, buf []byte) *Result {
	r := &Result{Family: f, Bytes: int64(len(buf))}
	if f == gpu.GFX9 {
		r.Header = headerBytes(h, buf)
	} else {
		r.Family = gpu.GFX11
	}
	t := pairer{r: r, live: map[waveKey]liveWave{}}
	last := int64(r.Header) * 8
	for p := range PacketsWith(f, h, buf) {
		t.packet(&p)
		last = p.Off + int64(p.Bits)
	}
	t.end(last)
	return r
}

// waveKey names the slot that a wave is in.
type waveKey struct{ cu, simd, slot uint8 }

type liveWave struct {
	start Cycles
	off   int64
	raw   uint64
}

// pairer pairs wave starts with ends and counts losses.
type pairer struct {
	r       *Result
	live    map[waveKey]liveWave
	stalled bool
	since   Cycles
}

// keyAt reads a GFX11 or GFX12 wave token's slot.
func (t *pairer) packet(p *Packet) {
	r := t.r
	r.Packets++
	r.End = p.Time
	r.Family = p.Family
	switch p.Kind {
	case KindWaveStart, KindWaveStartExt:
		k := slotOf(p)
		if old, ok := t.live[k]; ok {
			r.Losses.add(LossStart, old.off, old.start, 1)
		}
		t.live[k] = liveWave{p.Time, p.Off, p.Raw}
	case KindWaveEnd:
		k := slotOf(p)
		s, ok := t.live[k]
		if !ok {
			r.Losses.add(LossEnd, p.Off, p.Time, 1)
			return
		}
		delete(t.live, k)
		w := Wave{Start: s.start, Stop: p.Time, CU: k.cu, SIMD: k.simd, Slot: k.slot}
		r.Waves = append(r.Waves, w)
	case KindTimestamp:
		rt, lost, _ := timestamp(p.Family, p.Raw)
		if m, ok := p.Marker(); ok {
			r.Markers = append(r.Markers, m)
		}
		_ = rt
		if lost {
			r.Losses.add(LossPackets, p.Off, p.Time, 1)
		}
	case KindUnknown:
		r.Losses.add(LossUnknown, p.Off, p.Time, int64(p.Bits))
	case KindHeader:
		r.Family = headerFamily(p.Raw)
	}
}

func slotOf(p *Packet) waveKey {
	k := waveKey{simd: uint8(p.Field("simd")), slot: uint8(p.Field("wave"))}
	switch p.Family {
	case gpu.GFX9:
		k.cu = uint8(p.Field("cu"))
	case gpu.GFX11:
		k.cu = uint8(p.Field("wgp") | p.Field("sa")<<3)
	case gpu.GFX12:
		k.cu = uint8(p.Field("wgp") | p.Field("sa")<<4)
	}
	return k
}

func (t *pairer) end(last int64) {
	t.r.Losses.OpenAtEnd = int64(len(t.live))
	if n := t.r.Bytes*8 - last; n > 0 {
		t.r.Losses.add(LossTail, last, t.r.End, n)
	}
}
