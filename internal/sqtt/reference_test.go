package sqtt

import "github.com/rigprof/rigprof/internal/gpu"

// referenceWaves pairs the plain decoder's tokens with maps: what the fast path is compared with.
func referenceWaves(f gpu.Family, h Header, buf []byte) Result {
	type slot struct{ cu, simd, slot uint64 }
	r := Result{Family: f, Bytes: int64(len(buf))}
	if f == gpu.GFX9 {
		r.Header = headerBytes(h, buf)
	} else {
		r.Family = gpu.GFX11
	}
	began := func(k slot, s *Packet) Wave {
		w := Wave{Start: s.Time, CU: uint8(k.cu), SIMD: uint8(k.simd), Slot: uint8(k.slot), ME: uint8(s.Field("me")), Pipe: uint8(s.Field("pipe"))}
		switch n := s.Field("count"); {
		case s.Family == gpu.GFX9 && n <= 64:
			w.Lanes = uint8(n)
		case s.Family != gpu.GFX9 && n >= 0x60:
			w.Lanes = uint8(n - 0x60 + 1)
		}
		return w
	}
	live := map[slot]Packet{}
	end := int64(r.Header) * 8
	stalled := Cycles(-1)
	stall := func(p *Packet, begin, end bool) {
		if end && stalled >= 0 {
			r.Losses.StallCycles += max(0, p.Time-stalled)
			stalled = -1
		}
		if begin {
			r.Losses.Stalls++
			if stalled < 0 {
				stalled = p.Time
			}
		}
	}
	for p := range PacketsWith(f, h, buf) {
		end = p.Off + int64(p.Bits)
		r.End, r.Family = p.Time, p.Family
		k := slot{p.Field("cu"), p.Field("simd"), p.Field("wave")}
		switch p.Family {
		case gpu.GFX11:
			k.cu = p.Field("wgp") | p.Field("sa")<<3
		case gpu.GFX12:
			k.cu = p.Field("wgp") | p.Field("sa")<<4
		}
		switch p.Kind {
		case KindWaveStart, KindWaveStartExt:
			if _, ok := live[k]; ok {
				r.Losses.DroppedStarts++
			}
			live[k] = p
		case KindWaveEnd:
			s, ok := live[k]
			if !ok {
				r.Losses.DroppedEnds++
				continue
			}
			delete(live, k)
			w := began(k, &s)
			w.Stop = p.Time
			r.Waves = append(r.Waves, w)
		case KindTimestamp:
			m, ok := p.Marker()
			if ok {
				r.Markers = append(r.Markers, m)
			} else if p.Field("pl") != 0 {
				r.Losses.PacketsLost++
			}
		case KindUnknown:
			r.Losses.UnknownBits += 4
		case KindHeader:
			r.Family = headerFamily(r.Family, p.Raw)
		case KindMisc:
			if p.Family == gpu.GFX9 {
				t := p.Field("type")
				stall(&p, t == 4, t == 5)
				if t == 2 {
					r.Losses.PacketsLost++
				}
			} else {
				fl := p.Field("flags")
				stall(&p, fl&16 != 0, fl&32 != 0)
			}
		}
	}
	if stalled >= 0 {
		r.Losses.StallCycles += max(0, r.End-stalled)
	}
	r.Losses.OpenAtEnd = int64(len(live))
	for k, p := range live {
		r.Open = append(r.Open, began(k, &p))
	}
	r.Losses.TailBits = r.Bytes*8 - end
	for i := 0; i+64 <= len(buf); i += 64 {
		if [64]byte(buf[i:]) == [64]byte{} {
			r.Losses.EmptyBytes += 64
		}
	}
	return r
}
