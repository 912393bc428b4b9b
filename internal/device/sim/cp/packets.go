package cp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

// set is SET_SH_REG, SET_SH_REG_INDEX and SET_UCONFIG_REG.
func (p *Processor) set(base, end pm4.Reg, b []uint32, index bool) error {
	if len(b) < 2 {
		return errLength
	}
	first := base + pm4.Reg(b[0]&0xffff)
	if !index && b[0]&^0xffff != 0 {
		return fmt.Errorf("register offset %#x", b[0])
	}
	if first+pm4.Reg(len(b)-1) > end {
		return fmt.Errorf("registers from %#x on leave the space at %#x", uint32(first), uint32(end))
	}
	for i, v := range b[1:] {
		p.now += p.cost.register
		if err := p.write(first+pm4.Reg(i), v, bySet); err != nil {
			return err
		}
	}
	return nil
}

// event is EVENT_WRITE. On compute queues it has no address but for pipeline statistics, which are not modelled.
func (p *Processor) event(b []uint32) error {
	if len(b) != 1 {
		return fmt.Errorf("%w: events with an address are not modelled", errLength)
	}
	e := b[0] & 0xf3f
	for d := range p.files {
		if p.active>>d&1 == 0 {
			continue
		}
		for _, l := range p.listeners {
			l.Event(p.now, d, e)
		}
	}
	return nil
}

// Selectors of WRITE_DATA and COPY_DATA.
const (
	selRegister  = 0
	selMemoryOld = 1 // gfx9's source
	selL2        = 2
	selPerf      = 4
	selImmediate = 5 // source; as destination memory
	selAtomic    = 6 // source: what the last atomic returned
	selClock     = 9
	selSystem    = 10 // clock
)

func (p *Processor) writeData(b []uint32) error {
	if len(b) < 4 {
		return errLength
	}
	sel, keep := b[0]>>8&0xf, b[0]>>16&1 != 0
	data := b[3:]
	switch sel {
	case selRegister:
		for i, v := range data {
			r := pm4.Reg(b[1] & 0x3ffff)
			if !keep {
				r += pm4.Reg(i)
			}
			p.now += p.cost.register
			if err := p.write(r, v, byMapped); err != nil {
				return err
			}
		}
		return nil
	case selL2, selImmediate:
		addr, n := uint64(b[1]&^3)|uint64(b[2])<<32, uint64(len(data))
		if keep {
			data = data[len(data)-1:]
			n = 1
		}
		m, err := p.bytes(addr, 4*n, true)
		if err != nil {
			return err
		}
		for i, v := range data {
			binary.LittleEndian.PutUint32(m[4*i:], v)
		}
		p.now += p.cost.memory
		return nil
	}
	return fmt.Errorf("destination %d is not modelled", sel)
}

func (p *Processor) copyData(b []uint32) error {
	if len(b) != 5 {
		return errLength
	}
	src, dst, wide := b[0]&0xf, b[0]>>8&0xf, b[0]>>16&1 != 0
	from, to := uint64(b[1])|uint64(b[2])<<32, uint64(b[3])|uint64(b[4])<<32
	// Each die executes the packet: what it reads is its own, what it stores to memory overwrites the others'.
	for d := range p.files {
		if p.active>>d&1 == 0 {
			continue
		}
		v, err := p.copySource(d, src, from, wide)
		if err != nil {
			return err
		}
		if dst == selRegister || dst == selPerf {
			saved := p.active
			p.active = 1 << d
			err = p.copyToRegister(dst, pm4.Reg(to), v, wide)
			p.active = saved
		} else {
			err = p.copyToMemory(dst, to, v, wide)
		}
		if err != nil {
			return err
		}
	}
	if dst != selRegister && dst != selPerf {
		p.now += p.cost.memory
	}
	return nil
}

func how(sel uint32) access {
	if sel == selPerf {
		return byPerfSel
	}
	return byMapped
}

func (p *Processor) copySource(die int, src uint32, from uint64, wide bool) (uint64, error) {
	switch src {
	case selRegister, selPerf:
		v, err := p.read(die, pm4.Reg(from), how(src))
		if err != nil || !wide {
			return uint64(v), err
		}
		hi, err := p.read(die, pm4.Reg(from)+1, how(src))
		return uint64(v) | uint64(hi)<<32, err
	case selMemoryOld, selL2:
		p.now += p.cost.memory
		if wide {
			return p.load64(from &^ 7)
		}
		v, err := p.load32(from &^ 3)
		return uint64(v), err
	case selImmediate:
		return from, nil
	case selAtomic:
		return p.atomicRtn, nil
	case selClock, selSystem:
		return p.Ticks(p.now), nil
	}
	return 0, fmt.Errorf("source %d is not modelled", src)
}

func (p *Processor) copyToRegister(dst uint32, r pm4.Reg, v uint64, wide bool) error {
	p.now += p.cost.register
	if err := p.write(r, uint32(v), how(dst)); err != nil || !wide {
		return err
	}
	return p.write(r+1, uint32(v>>32), how(dst))
}

func (p *Processor) copyToMemory(dst uint32, addr, v uint64, wide bool) error {
	if dst != selL2 && dst != selImmediate {
		return fmt.Errorf("destination %d is not modelled", dst)
	}
	return p.store(addr, v, wide)
}

// store writes one number; the host sees 64-bit stores whole.
func (p *Processor) store(addr, v uint64, wide bool) error {
	if !wide {
		m, err := p.bytes(addr&^3, 4, true)
		if err != nil {
			return err
		}
		atomic.StoreUint32((*uint32)(unsafe.Pointer(&m[0])), uint32(v))
		return nil
	}
	m, err := p.bytes(addr&^3, 8, true)
	if err != nil {
		return err
	}
	if addr&7 == 0 {
		atomic.StoreUint64((*uint64)(unsafe.Pointer(&m[0])), v)
		return nil
	}
	binary.LittleEndian.PutUint64(m, v)
	return nil
}

func (p *Processor) waitRegMem(ctx context.Context, b []uint32, wide bool) error {
	if !wide && len(b) != 6 || wide && len(b) != 8 {
		return errLength
	}
	cmp := pm4.Compare(b[0] & 7)
	mem, op := b[0]>>4&3 == 1, b[0]>>6&3
	ref, mask := uint64(b[3]), uint64(b[4])
	if wide {
		ref, mask = uint64(b[3])|uint64(b[4])<<32, uint64(b[5])|uint64(b[6])<<32
	}
	if op == 1 {
		return errors.New("the operation that writes one register and waits for another (HDP flush) is not modelled")
	}
	addr := uint64(b[1]&^3) | uint64(b[2])<<32
	look := func(die int) (uint64, error) {
		switch {
		case mem && wide:
			return p.load64(addr)
		case mem:
			m, err := p.bytes(addr, 4, false)
			if err != nil {
				return 0, err
			}
			return uint64(atomic.LoadUint32((*uint32)(unsafe.Pointer(&m[0])))), nil
		}
		v, err := p.read(die, pm4.Reg(b[1]&0x3ffff), byPerfSel)
		if err == nil && wide {
			var hi uint32
			hi, err = p.read(die, pm4.Reg(b[1]&0x3ffff)+1, byPerfSel)
			return uint64(v) | uint64(hi)<<32, err
		}
		return uint64(v), err
	}
	began := time.Now()
	for die := range p.files {
		if p.active>>die&1 == 0 {
			continue
		}
		for looks := 0; ; looks++ {
			v, err := look(die)
			if err != nil {
				return err
			}
			if cmp.Holds(v, mask, ref) {
				break
			}
			if !mem || looks == 0 { // how often memory is looked at depends on the host, which must not show in the time
				p.now += p.cost.wait
			}
			switch {
			case !mem && looks == maxRegWait:
				return fmt.Errorf("%s is %#x; the wait for (it & %#x) %s %#x never ends",
					p.regs.Name(pm4.Reg(b[1]&0x3ffff)), v, mask, compareText[cmp], ref)
			case mem && time.Since(began) > p.WaitLimit:
				return fmt.Errorf("the dword at %#x is %#x; the wait for (it & %#x) %s %#x did not end in %v",
					addr, v, mask, compareText[cmp], ref, p.WaitLimit)
			case mem: // somebody else may write it
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(min(time.Millisecond, time.Duration(looks)*time.Microsecond)):
				}
			}
		}
	}
	return nil
}

var compareText = [8]string{"always", "<", "<=", "==", "!=", ">=", ">", "?"}

// acquireMem is a cache packet: memory is coherent here, so it takes time only, and code is decoded anew.
func (p *Processor) acquireMem(b []uint32) error {
	n := 7
	if p.GPU.Family == gpu.GFX9 {
		n = 6
	}
	if len(b) != n {
		return errLength
	}
	p.now += p.cost.cache
	const icache, gliInv = 1 << 29, 3
	if n == 6 && b[0]&icache != 0 || n == 7 && b[6]&gliInv != 0 {
		p.Runner.CodeWritten()
	}
	return nil
}

// Data of RELEASE_MEM.
const (
	dataNone = iota
	data32
	data64
	dataClock
	dataSystemClock
)

func (p *Processor) releaseMem(ctx context.Context, b []uint32) error {
	if len(b) != 7 {
		return errLength
	}
	p.now += p.cost.cache
	for d := range p.files {
		for _, l := range p.listeners {
			if p.active>>d&1 != 0 {
				l.Event(p.now, d, b[0]&0xf3f)
			}
		}
	}
	addr, v := uint64(b[2])|uint64(b[3])<<32, uint64(b[4])|uint64(b[5])<<32
	if p.Pace != nil {
		if err := p.Pace(ctx, p.now); err != nil {
			return err
		}
	}
	var err error
	switch sel := b[1] >> 29; sel {
	case dataNone:
	case data32:
		err = p.store(addr, v, false)
	case data64:
		err = p.store(addr, v, true)
	case dataClock, dataSystemClock:
		err = p.store(addr, p.Ticks(p.now), true)
	default:
		err = fmt.Errorf("data %d is not modelled", sel)
	}
	if err == nil && b[1]>>24&7 != 0 && p.Interrupt != nil {
		p.Interrupt(b[6])
	}
	return err
}

// Operations of ATOMIC_MEM, gfx12's numbers, which gfx9 and gfx11 share.
const (
	atomicSwap32    = 7
	atomicCmpSwap32 = 8
	atomicAddRtn32  = 15
	atomicSubRtn32  = 16
	atomicSwap64    = 39
	atomicAdd32     = 79
	atomicSub32     = 80
)

func (p *Processor) atomicMem(ctx context.Context, b []uint32) error {
	if len(b) != 8 {
		return errLength
	}
	op, loop := b[0]&0x7f, b[0]>>8&0xf == 1 // bit 6 of the operation is in no gfx9 header, but add_32 (79) is used there
	addr := uint64(b[1]&^3) | uint64(b[2])<<32
	wide := op == atomicSwap64
	n := uint64(4)
	if wide {
		addr, n = addr&^7, 8
	}
	m, err := p.bytes(addr, n, true)
	if err != nil {
		return err
	}
	began := time.Now()
	for d := range p.files {
		if p.active>>d&1 == 0 {
			continue
		}
		for {
			p.now += p.cost.memory
			if wide {
				p.atomicRtn = atomic.SwapUint64((*uint64)(unsafe.Pointer(&m[0])), uint64(b[3])|uint64(b[4])<<32)
				break
			}
			w := (*uint32)(unsafe.Pointer(&m[0]))
			switch op {
			case atomicSwap32:
				p.atomicRtn = uint64(atomic.SwapUint32(w, b[3]))
			case atomicCmpSwap32:
				p.atomicRtn = uint64(atomic.LoadUint32(w))
				if atomic.CompareAndSwapUint32(w, b[5], b[3]) {
					p.atomicRtn = uint64(b[5])
				}
			case atomicAddRtn32, atomicAdd32:
				p.atomicRtn = uint64(atomic.AddUint32(w, b[3]) - b[3])
			case atomicSubRtn32, atomicSub32:
				p.atomicRtn = uint64(atomic.AddUint32(w, -b[3]) + b[3])
			default:
				return fmt.Errorf("operation %d is not modelled", op)
			}
			if !loop || uint32(p.atomicRtn) == b[5] {
				break
			}
			if time.Since(began) > p.WaitLimit {
				return fmt.Errorf("the dword at %#x did not become %#x in %v", addr, b[5], p.WaitLimit)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
	}
	return nil
}

// dmaBytesPerCycle is how fast DMA_DATA moves data, a guess.
const dmaBytesPerCycle = 64

func (p *Processor) dmaData(b []uint32) error {
	if len(b) != 6 {
		return errLength
	}
	src, dst, n := b[0]>>29&3, b[0]>>20&3, uint64(b[5]&(1<<26-1))
	if n == 0 {
		return nil
	}
	if dst != 0 && dst != 3 || b[5]>>28&3 != 0 {
		return errors.New("only transfers into memory, with growing addresses, are modelled")
	}
	to, err := p.bytes(uint64(b[3])|uint64(b[4])<<32, n, true)
	if err != nil {
		return err
	}
	switch src {
	case 0, 3:
		from, err := p.bytes(uint64(b[1])|uint64(b[2])<<32, n, false)
		if err != nil {
			return err
		}
		copy(to, from)
	case 2:
		var v [4]byte
		binary.LittleEndian.PutUint32(v[:], b[1])
		k := copy(to, v[:])
		for k < len(to) { // doubling
			k += copy(to[k:], to[:k])
		}
	default:
		return fmt.Errorf("source %d is not modelled", src)
	}
	p.now += p.cost.memory + int64(n/dmaBytesPerCycle)
	return nil
}

// useThreadDimensions is a bit of COMPUTE_DISPATCH_INITIATOR: the packet counts work-items, not workgroups.
const useThreadDimensions = 1 << 5

// dispatch is DISPATCH_DIRECT: the grid that the COMPUTE registers describe.
func (p *Processor) dispatch(ctx context.Context, groups [3]uint32, initiator uint32) error {
	if initiator&pm4.InitiatorShaderEnable == 0 {
		return nil
	}
	first := p.files[p.die()]
	n := &p.names
	for die, f := range p.files { // no packet wrote it: listeners hear of the dispatch itself
		if p.active>>die&1 != 0 {
			f.set(n.initiator, initiator)
		}
	}
	d := Dispatch{
		Start: p.now, Groups: groups, Initiator: initiator,
		Entry: uint64(first.get(n.pgmLo))<<8 | uint64(first.get(n.pgmLo+1)&0xff)<<40,
		RSRC1: first.get(n.rsrc1), RSRC2: first.get(n.rsrc1 + 1), RSRC3: first.get(n.rsrc3),
		Tmpring: first.get(n.tmpring), ResourceLimits: first.get(n.limits),
		PacketAddr:  uint64(first.get(n.pktLo)) | uint64(first.get(n.pktLo+1))<<32,
		Wave32:      p.GPU.Family != gpu.GFX9 && initiator&pm4.InitiatorWave32 != 0,
		TraceEnable: first.get(n.traceEnable)&1 != 0, CountEnable: first.get(n.countEnable)&1 != 0,
	}
	if p.VMID != nil {
		d.VMID = p.VMID()
	}
	for i := range d.UserData {
		d.UserData[i] = first.get(n.userData + pm4.Reg(i))
	}
	for i := range d.Block {
		v := first.get(n.numThread + pm4.Reg(i))
		d.Block[i] = v & 0xffff
		if p.GPU.Family == gpu.GFX12 {
			d.Block[i] = v & 0x1fff // interleave bits above
		}
		if initiator&pm4.InitiatorPartial != 0 {
			if d.Partial[i] = v >> 16; d.Partial[i] == d.Block[i] {
				d.Partial[i] = 0
			}
		}
		if initiator&useThreadDimensions != 0 && d.Block[i] > 0 {
			threads := d.Groups[i]
			d.Groups[i] = (threads + d.Block[i] - 1) / d.Block[i]
			d.Partial[i] = threads % d.Block[i]
		}
		if start := first.get(n.start + pm4.Reg(i)); start != 0 && initiator&pm4.InitiatorStartAtZero == 0 {
			return fmt.Errorf("a grid that starts at workgroup %d is not modelled", start)
		}
	}
	items := uint64(d.Block[0]) * uint64(d.Block[1]) * uint64(d.Block[2])
	if items == 0 || items > 1024 {
		return fmt.Errorf("COMPUTE_NUM_THREAD says %d x %d x %d work-items, 1 to 1024 are possible", d.Block[0], d.Block[1], d.Block[2])
	}
	if p.Executable != nil && !p.Executable(d.Entry) {
		return &MemoryError{Addr: d.Entry, NoExec: true}
	}
	for die, f := range p.files {
		for _, r := range n.threadMgmt {
			d.ThreadMgmt = append(d.ThreadMgmt, f.get(r))
		}
		if p.active>>die&1 != 0 {
			d.Dies = append(d.Dies, die)
			d.ScratchBase = append(d.ScratchBase, uint64(f.get(n.scratchLo))<<8|uint64(f.get(n.scratchLo+1)&0xff)<<40)
		}
	}
	if groups[0] == 0 || groups[1] == 0 || groups[2] == 0 {
		return nil
	}
	end, err := p.Runner.Dispatch(ctx, &d)
	p.now = max(p.now, end)
	return err
}
