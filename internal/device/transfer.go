package device

import (
	"context"
	"fmt"

	"github.com/rigprof/rigprof/internal/profile"
)

// Write copies src into b from offset off on. The host runs the copy, so its event has no point.
func (b *Buffer) Write(off uint64, src []byte) error {
	if off > uint64(len(b.Bytes)) || uint64(len(src)) > uint64(len(b.Bytes))-off {
		return fmt.Errorf("%d bytes at %d do not fit a buffer of %d", len(src), off, len(b.Bytes))
	}
	return b.WriteBy(len(src), func() error { copy(b.Bytes[off:], src); return nil })
}

// WriteBy runs f, which writes n bytes of b, and records that as a copy which the host runs.
func (b *Buffer) WriteBy(n int, f func() error) error { return timed(profile.Host, b.Place, n, f) }

// ReadBy runs f, which reads n bytes of b, and records that as a copy which the host runs.
func (b *Buffer) ReadBy(n int, f func() error) error { return timed(b.Place, profile.Host, n, f) }

// Read copies from offset off of b into dst. The host runs the copy, so its event has no point.
func (b *Buffer) Read(off uint64, dst []byte) error {
	if off > uint64(len(b.Bytes)) || uint64(len(dst)) > uint64(len(b.Bytes))-off {
		return fmt.Errorf("a buffer of %d bytes has no %d at %d", len(b.Bytes), len(dst), off)
	}
	return b.ReadBy(len(dst), func() error { copy(dst, b.Bytes[off:]); return nil })
}

// timed runs a copy and records it unless it failed.
func timed(src, dst string, n int, f func() error) error {
	if !profile.Enabled() {
		return f()
	}
	e := profile.Event{Kind: profile.KindCopy, Src: src, Dst: dst, Bytes: uint64(n), Start: profile.Now()}
	if err := f(); err != nil {
		return err
	}
	e.Stop = profile.Now()
	profile.Record(e)
	return nil
}

// stagingBytes is a piece of a copy between devices.
const stagingBytes = 1 << 20

// CopyAcross copies n bytes between buffers of any two devices, by pieces through memory of the host: each piece is recorded
// once into it and once out of it. It waits for nothing that the devices run.
func CopyAcross(ctx context.Context, dst *Buffer, dstOff uint64, src *Buffer, srcOff, n uint64) error {
	staging := make([]byte, min(n, stagingBytes))
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		piece := staging[:min(n, uint64(len(staging)))]
		if err := src.Read(srcOff, piece); err != nil {
			return err
		}
		if err := dst.Write(dstOff, piece); err != nil {
			return err
		}
		k := uint64(len(piece))
		srcOff, dstOff, n = srcOff+k, dstOff+k, n-k
	}
	return nil
}

// Load allocates executable memory for an image of code, lets fill write it for its address, and records the load. binary is
// what the image was made of; it must not change afterwards.
func Load(ctx context.Context, d Device, name string, binary []byte, size uint64, fill func(addr uint64, mem []byte) error) (*Buffer, error) {
	b, err := d.Alloc(ctx, size, AllocOptions{Executable: true})
	if err != nil {
		return nil, fmt.Errorf("memory for %s: %w", name, err)
	}
	if err := fill(b.Addr, b.Bytes); err != nil {
		_ = b.Free() // the filling's error says more
		return nil, fmt.Errorf("load %s: %w", name, err)
	}
	if profile.Enabled() {
		now := profile.Now()
		profile.Record(profile.Event{Kind: profile.KindLoad, Device: d.Info().Name, Name: name, Address: b.Addr, Data: binary, Bytes: uint64(len(binary)), Start: now, Stop: now})
	}
	return b, nil
}
