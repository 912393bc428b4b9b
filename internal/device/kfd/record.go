package kfd

import (
	"context"
	"errors"
	"strings"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/kfd/abi"
	"github.com/rigprof/rigprof/internal/profile"
)

// lane is the one queue's.
const lane = "COMPUTE:0"

// work is what a profile tells of a submission beside its times.
type work struct {
	name   string
	copies []copied
}

type copied struct {
	src, dst string
	bytes    uint64
}

// describe names a submission: after its launches, or after the kind of its first part. Where a copy's ends are is asked
// now, as buffers may be freed later.
func (d *Device) describe(parts []device.Part, launches []string) work {
	w := work{name: strings.Join(launches, ", ")}
	for i, p := range parts {
		kind := "words"
		switch p := p.(type) {
		case device.Copy:
			kind = "copies"
			w.copies = append(w.copies, copied{src: d.where(p.Src), dst: d.where(p.Dst), bytes: p.Bytes})
		case device.CopyRows:
			kind = "copies"
			w.copies = append(w.copies, copied{src: d.where(p.Src), dst: d.where(p.Dst), bytes: p.Bytes * p.Rows})
		case device.Fill:
			kind = "copies" // DMA_DATA, which moves copies too, fills; what such a path runs is named for it
		}
		if i == 0 && w.name == "" {
			w.name = kind
		}
	}
	return w
}

// where names the memory that an address is in.
func (d *Device) where(addr uint64) string {
	d.memMu.Lock()
	defer d.memMu.Unlock()
	for m := range d.mem {
		if addr >= m.addr && addr < m.addr+m.size {
			return d.place(m.flags)
		}
	}
	return d.info.Name
}

// place names the memory that an allocation's flags stand for.
func (d *Device) place(flags uint32) string {
	if flags&abi.AllocGTT != 0 {
		return profile.Host
	}
	return d.info.Name
}

// ended tells whether a submission has ended.
func (d *Device) ended(s *submission) bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// recorded waits for a submission's end and gives its events: none where it was aborted, no Work where it was not timed.
func (d *Device) recorded(ctx context.Context, s *submission) ([]profile.Event, error) {
	select {
	case <-s.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if errors.Is(s.err, device.ErrAborted) {
		return nil, nil
	}
	if s.err != nil {
		return nil, s.err
	}
	start, stop, errNs := s.submitNs, s.seenNs, int64(0)
	var evs []profile.Event
	if s.times.err == nil {
		start, stop, errNs = s.times.times.StartNs, s.times.times.StopNs, s.times.times.ErrorNs
		if s.work.name != "" { // a submission without parts is no work
			evs = append(evs, profile.Event{
				Kind: profile.KindWork, Device: d.info.Name, Lane: lane, Name: s.work.name, HasPoint: true, Point: s.seq,
				Start: start, Stop: stop, ErrorNs: errNs,
			})
		}
	}
	for _, c := range s.work.copies {
		evs = append(evs, profile.Event{
			Kind: profile.KindCopy, Src: c.src, Dst: c.dst, Bytes: c.bytes, HasPoint: true, Point: s.seq,
			Start: start, Stop: stop, ErrorNs: errNs,
		})
	}
	return evs, nil
}
