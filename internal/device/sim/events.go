package sim

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rigprof/rigprof/internal/device/kfd/abi"
)

const (
	eventSlots = 4096
	unsignaled = ^uint64(0) // of an event slot
)

// events are a process's. A signal event has a slot in the event page: an interrupt counts for those whose slot the GPU wrote.
type events struct {
	mu     sync.Mutex
	change *sync.Cond
	page   unsafe.Pointer // of slots; nil: the program gave none yet
	byID   map[uint32]*event
	next   uint32
	closed bool
}

type event struct {
	kind      uint32
	slot      uint32
	autoReset bool
	set       bool
	data      abi.EventData // what a memory or hardware exception event tells
}

func (e *events) init() {
	e.change = sync.NewCond(&e.mu)
	e.byID = map[uint32]*event{}
	e.next = 1
}

func (e *events) close() {
	e.mu.Lock()
	e.closed = true
	e.page = nil
	e.change.Broadcast()
	e.mu.Unlock()
}

func (e *events) create(p *process, a *abi.CreateEventArgs) error {
	p.mu.Lock()
	var page unsafe.Pointer
	if a.EventPageOffset != 0 {
		b := p.bos[a.EventPageOffset]
		if b == nil || b.size < eventSlots*8 {
			p.mu.Unlock()
			return unix.EINVAL
		}
		page = b.host
	}
	p.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if page != nil {
		if e.page != nil && e.page != page {
			return unix.EBUSY
		}
		if e.page == nil {
			e.page = page
			for i := range uint32(eventSlots) {
				atomic.StoreUint64(e.slot(i), unsignaled)
			}
		}
	}
	switch a.EventType {
	case abi.EventSignal:
		if e.page == nil {
			return unix.EINVAL
		}
	case abi.EventMemory, abi.EventHWException:
	default:
		return unix.EINVAL
	}
	if e.next >= eventSlots {
		return unix.ENOSPC
	}
	id := e.next
	e.next++
	e.byID[id] = &event{kind: a.EventType, slot: id, autoReset: a.AutoReset != 0}
	a.EventID, a.EventSlotIndex, a.EventTriggerData = id, id, id
	return nil
}

func (e *events) slot(i uint32) *uint64 { return (*uint64)(unsafe.Add(e.page, 8*i)) }

func (e *events) destroy(a *abi.EventArgs) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byID[a.EventID] == nil {
		return unix.EINVAL
	}
	delete(e.byID, a.EventID)
	e.change.Broadcast()
	return nil
}

func (e *events) set(a *abi.EventArgs, on bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	ev := e.byID[a.EventID]
	if ev == nil || ev.kind != abi.EventSignal {
		return unix.EINVAL
	}
	ev.set = on
	e.change.Broadcast()
	return nil
}

// interrupt is RELEASE_MEM's: the event whose id came with it, or any, whose slot was written.
func (e *events) interrupt(id uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.page == nil {
		return
	}
	for i, ev := range e.byID {
		if ev.kind == abi.EventSignal && (i == id || id == 0) && atomic.LoadUint64(e.slot(ev.slot)) != unsignaled {
			atomic.StoreUint64(e.slot(ev.slot), unsignaled)
			ev.set = true
		}
	}
	e.change.Broadcast()
}

// raise sets the exception events of a kind.
func (e *events) raise(kind uint32, data abi.EventData) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.byID {
		if ev.kind == kind {
			ev.set, ev.data = true, data
		}
	}
	e.change.Broadcast()
}

func (e *events) wait(a *abi.WaitEventsArgs) error {
	if a.NumEvents > eventSlots {
		return unix.EINVAL
	}
	out := unsafe.Slice((*abi.EventData)(pointer(a.EventsPtr)), a.NumEvents)
	const forever = 0xffffffff
	deadline := time.Now().Add(time.Duration(a.Timeout) * time.Millisecond)
	if a.Timeout != forever {
		t := time.AfterFunc(time.Until(deadline), func() {
			e.mu.Lock()
			e.change.Broadcast()
			e.mu.Unlock()
		})
		defer t.Stop()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		n := 0
		for i := range out {
			ev := e.byID[out[i].EventID]
			if ev == nil {
				a.WaitResult = abi.WaitFail
				return unix.EINVAL
			}
			if ev.set {
				n++
			}
		}
		if n > 0 && (a.WaitForAll == 0 || n == len(out)) {
			for i := range out {
				ev := e.byID[out[i].EventID]
				if !ev.set {
					continue
				}
				if ev.kind != abi.EventSignal {
					id := out[i].EventID
					out[i] = ev.data
					out[i].EventID = id
				}
				if ev.autoReset {
					ev.set = false
				}
			}
			a.WaitResult = abi.WaitComplete
			return nil
		}
		if e.closed {
			a.WaitResult = abi.WaitFail
			return unix.EIO
		}
		if a.Timeout != forever && !time.Now().Before(deadline) {
			a.WaitResult = abi.WaitTimeout
			return nil
		}
		e.change.Wait()
	}
}
