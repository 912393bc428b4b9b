package isa

import "strings"

// cache prints the cache policy bits.
func (p *printer) cache() {
	in := &p.in
	switch {
	case in.Arch == RDNA4:
		p.thScope()
	case in.Arch.CDNA() && in.Op.count == 0 && in.Op.Format == MUBUF: // write-backs and invalidations
		if in.Arch != CDNA2 {
			p.opt(FieldSC0, " sc0")
			p.opt(FieldSC1, " sc1")
		}
	case in.Arch == CDNA2 && in.Op.Format != SMEM:
		p.opt(FieldSC0, " glc")
		p.opt(FieldNT, " slc")
		p.opt(FieldSC1, " scc")
	case in.Arch.CDNA() && in.Op.Format != SMEM:
		p.opt(FieldSC0, " sc0")
		p.opt(FieldNT, " nt")
		p.opt(FieldSC1, " sc1")
	default:
		p.opt(FieldGLC, " glc")
		p.opt(FieldSLC, " slc")
		p.opt(FieldDLC, " dlc")
	}
}

var scopeNames = [4]string{"", " scope:SCOPE_SE", " scope:SCOPE_DEV", " scope:SCOPE_SYS"}

// thScope prints RDNA4's temporal hint and scope.
func (p *printer) thScope() {
	in := &p.in
	p.opt(FieldScaleOffset, " scale_offset")
	th, scope := in.Field(FieldTH), in.Field(FieldScope)
	switch {
	case th == 0:
	case in.Op.Has(FlagAtomic):
		p.str(" th:TH_ATOMIC_")
		switch {
		case th >= 4 && scope >= 2:
			p.str([...]string{"CASCADE_RT", "CASCADE_RT", "CASCADE_NT", "CASCADE_NT"}[th-4])
		case th >= 4:
			p.hex(uint64(th))
		default:
			p.str([...]string{"", "RETURN", "NT", "NT_RETURN"}[th])
		}
	case in.Op.Has(FlagStore):
		p.str(" th:TH_STORE_")
		switch {
		case th == 3 && scope == 3:
			p.str("BYPASS")
		default:
			p.str([...]string{"", "NT", "HT", "WB", "NT_RT", "RT_NT", "NT_HT", "NT_WB"}[th])
		}
	case th == 7:
		p.str(" th:0x7")
	default:
		p.str(" th:TH_LOAD_")
		switch {
		case th == 3 && scope == 3:
			p.str("BYPASS")
		default:
			p.str([...]string{"", "NT", "HT", "LU", "NT_RT", "RT_NT", "NT_HT"}[th])
		}
	}
	p.str(scopeNames[scope])
	p.opt(FieldNV, " nv")
}

func (p *printer) ds() {
	in := &p.in
	p.name()
	name := in.Op.Name
	for i := range in.NumArgs() {
		a := in.Arg(i)
		p.next()
		p.arg(&a)
	}
	two := strings.Contains(name, "2addr") || strings.HasPrefix(name, "ds_read2") || strings.HasPrefix(name, "ds_write2") || strings.Contains(name, "xchg2")
	switch {
	case name == "ds_nop":
	case name == "ds_swizzle_b32":
		p.swizzle(uint32(in.Offset()))
	case two:
		if v := in.Field(FieldOffset0); v != 0 {
			p.num(" offset0:", uint64(v))
		}
		if v := in.Field(FieldOffset1); v != 0 {
			p.num(" offset1:", uint64(v))
		}
	default:
		if v := in.Offset(); v != 0 {
			p.num(" offset:", uint64(v))
		}
	}
	switch {
	case p.family != familyCDNA:
		p.opt(FieldGds, " gds")
	case strings.HasPrefix(name, "ds_gws"): // CDNA has no other GDS
		p.str(" gds")
	}
}

// swizzle prints ds_swizzle's pattern.
func (p *printer) swizzle(v uint32) {
	if v == 0 {
		return
	}
	p.str(" offset:")
	switch {
	case v>>8 == 0x80:
		p.str("swizzle(QUAD_PERM")
		for i := range 4 {
			p.byte(',')
			p.dec(int64(v >> (2 * i) & 3))
		}
		p.byte(')')
	case v >= 0xe000:
		p.num("swizzle(FFT,", uint64(v&0x1f))
		p.byte(')')
	case v >= 0xc000:
		p.num("swizzle(ROTATE,", uint64(v>>10&1))
		p.num(",", uint64(v>>5&0x1f))
		p.byte(')')
	case v>>15 == 0:
		and, or, xor := v&0x1f, v>>5&0x1f, v>>10&0x1f
		switch {
		case and == 0x1f && or == 0 && xor != 0 && xor&(xor-1) == 0:
			p.num("swizzle(SWAP,", uint64(xor))
			p.byte(')')
		case and == 0x1f && or == 0 && xor != 0 && xor&(xor+1) == 0:
			p.num("swizzle(REVERSE,", uint64(xor+1))
			p.byte(')')
		case xor == 0 && and != 0x1f && and != 0 && (0x20-and)&(0x1f-and) == 0 && or < 0x20-and:
			p.num("swizzle(BROADCAST,", uint64(0x20-and))
			p.num(",", uint64(or))
			p.byte(')')
		default:
			p.str(`swizzle(BITMASK_PERM,"`)
			for i := 4; i >= 0; i-- {
				a, o, x := and>>i&1, or>>i&1, xor>>i&1
				zero, one := o^x, (a|o)^x // where lane bits 0 and 1 go
				switch {
				case zero == 0 && one == 0:
					p.byte('0')
				case zero == 1 && one == 1:
					p.byte('1')
				case zero == 0:
					p.byte('p')
				default:
					p.byte('i')
				}
			}
			p.str(`")`)
		}
	default:
		p.dec(int64(v))
	}
}

func (p *printer) flat() {
	in := &p.in
	p.name()
	var vdst, addr, data, saddr Arg
	hasAddr, hasSaddr, hasData := false, false, false
	for i := range in.NumArgs() {
		a := in.Arg(i)
		switch a.Field {
		case FieldVdst:
			vdst = a
			if in.Arch == CDNA2 && in.Op.Format != FLAT && in.Flag(FieldSve) {
				continue // it goes to LDS
			}
			if a.Dir != OutRtn || in.Returns() {
				p.next()
				p.arg(&vdst)
			}
		case FieldVaddr:
			addr, hasAddr = a, true
		case FieldData:
			data, hasData = a, true
		case FieldSaddr:
			saddr, hasSaddr = a, true
		}
	}
	if hasAddr {
		p.next()
		p.arg(&addr)
	}
	if hasData {
		p.next()
		p.arg(&data)
	}
	if hasSaddr {
		p.next()
		p.arg(&saddr)
	}
	if in.HasField(FieldOffset) && in.Op.count > 0 {
		v := int64(in.Offset())
		if in.Op.Format == FLAT && in.Arch != RDNA4 {
			v = int64(in.Raw[0] & 0x1fff) // LLVM prints all 13 bits of FLAT as an unsigned number
		}
		if v != 0 {
			p.str(" offset:")
			p.dec(v)
		}
	}
	p.cache()
	if in.Arch == CDNA2 {
		p.opt(FieldSve, " lds")
	}
}

func (p *printer) buffer() {
	in := &p.in
	p.name()
	if in.Op.count == 0 {
		if p.family == familyCDNA {
			p.cache()
		}
		return
	}
	for i := range in.NumArgs() {
		if a := in.Arg(i); a.Field == FieldVdata && a.Kind != ArgNone {
			p.next()
			p.arg(&a)
		}
	}
	addr := Arg{Kind: ArgNone, Bits: 32}
	hasAddr := false
	for i := range in.NumArgs() {
		if a := in.Arg(i); a.Field == FieldVaddr {
			addr, hasAddr = a, true
		}
	}
	if hasAddr {
		p.next()
		p.arg(&addr)
	}
	for _, f := range [...]Field{FieldRsrc, FieldSoffset} {
		for i := range in.NumArgs() {
			if a := in.Arg(i); a.Field == f {
				p.next()
				p.arg(&a)
			}
		}
	}
	if in.Op.Format == MTBUF {
		p.format()
	}
	p.opt(FieldIdxen, " idxen")
	p.opt(FieldOffen, " offen")
	if v := in.Offset(); v != 0 {
		p.str(" offset:")
		p.dec(int64(v))
	}
	if in.Op.Has(FlagStore) {
		p.opt(FieldLds, " lds")
	}
	p.cache()
	p.opt(FieldTfe, " tfe")
	if !in.Op.Has(FlagStore) {
		p.opt(FieldLds, " lds")
	}
}

// format prints MTBUF's data format.
func (p *printer) format() {
	in := &p.in
	if in.Arch.CDNA() {
		d, n := in.Field(FieldDfmt), in.Field(FieldNfmt)
		switch {
		case d == 1 && n == 0:
		case d == 1:
			p.str(" format:[")
			p.str(nfmtNames[p.family][n])
			p.byte(']')
		default:
			p.str(" format:[")
			p.str(dfmtNames[p.family][d])
			if n != 0 {
				p.byte(',')
				p.str(nfmtNames[p.family][n])
			}
			p.byte(']')
		}
		return
	}
	f := in.Field(FieldFormat)
	if f == 1 {
		return
	}
	if n := bufformatNames[p.family][f]; n != "" {
		p.str(" format:[")
		p.str(n)
		p.byte(']')
		return
	}
	p.num(" format:", uint64(f))
}

func (p *printer) ldsdir() {
	in := &p.in
	p.name()
	p.next()
	p.tuple("v", int(in.Field(FieldVdst)), 1)
	if in.Op.Code == 0 {
		p.num(", attr", uint64(in.Field(FieldAttr)))
		p.byte('.')
		p.byte("xyzw"[in.Field(FieldAttrChan)])
	}
	if in.Arch == RDNA4 {
		p.num(" wait_va_vdst:", uint64(in.Field(FieldWaitVdst)))
		p.num(" wait_vm_vsrc:", uint64(in.Field(FieldWaitVmVsrc)))
		return
	}
	p.num(" wait_vdst:", uint64(in.Field(FieldWaitVdst)))
}

func (p *printer) export() {
	in := &p.in
	p.name()
	p.next()
	switch t := in.Field(FieldTarget); {
	case t < 8:
		p.num("mrt", uint64(t))
	case t == 8:
		p.str("mrtz")
	case t >= 12 && t < 17:
		p.num("pos", uint64(t-12))
	case t == 20:
		p.str("prim")
	case t == 21 || t == 22:
		p.num("dual_src_blend", uint64(t-21))
	default:
		p.num("invalid_target_", uint64(t))
	}
	p.n = 0
	for i := range 4 {
		p.next()
		if in.Field(FieldEn)>>i&1 == 0 {
			p.str("off")
			continue
		}
		p.tuple("v", int(in.Field(FieldExp0+Field(i))), 1)
	}
	p.opt(FieldDone, " done")
	p.opt(FieldRow, " row_en")
}
