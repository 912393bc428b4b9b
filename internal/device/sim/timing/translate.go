package timing

// granule is log2 of the bytes that one translation covers at least.
const granule = 14

// tlb is the translations that a CU's vector path or a unit's scalar path has at hand.
type tlb [16]translation

type translation struct {
	tag   uint64 // address >> granule, above it the dispatch: page tables may change between two
	ready int64
	host  bool
}

type pageID struct {
	base  uint64
	shift uint8
	vmid  uint8
}

// maxWalked bounds the pages that a die remembers: more than any second-level TLB has entries.
const maxWalked = 1 << 16

// translate looks up the page of a line that is needed at t. The first to touch a page since the GPU was powered on waits until the
// page tables are read. known: l had it at hand.
func (m *Machine) translate(d *die, l *tlb, line uint64, t int64) (e *translation, known bool) {
	block := line >> (granule - lineShift)
	e = &l[(block^block>>4)&15]
	tag := block | uint64(m.dispatch)<<40
	if e.tag == tag {
		return e, true
	}
	p := Page{Shift: 21}
	if m.pages != nil {
		p = m.pages(line << lineShift)
		p.Shift = max(p.Shift, granule)
	}
	id := pageID{line << lineShift >> p.Shift, p.Shift, uint8(m.kernel.VMID)}
	ready, ok := d.walked[id]
	if !ok {
		if len(d.walked) >= maxWalked {
			clear(d.walked)
		}
		ready = t + m.p.walk
		d.walked[id] = ready
		d.walkSpan.add(t, ready, &d.busy.Walk)
	}
	*e = translation{tag, ready, p.Host}
	return e, false
}
