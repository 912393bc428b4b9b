package isa

import (
	"math/bits"
	"strings"
)

// imageDim is the shape of an image as its addresses see it.
type imageDim struct {
	name   string
	coords int
	grads  int // words of derivatives
}

var imageDims = [8]imageDim{
	{"1D", 1, 2},
	{"2D", 2, 4},
	{"3D", 3, 6},
	{"CUBE", 3, 4},
	{"1D_ARRAY", 2, 2},
	{"2D_ARRAY", 3, 4},
	{"2D_MSAA", 3, 4},
	{"2D_MSAA_ARRAY", 4, 4},
}

// imageOp is what the name of an image operation says about its operands.
type imageOp struct {
	sampler, gather, store, atomic, cmpswap, bvh bool
	extra                                        int // words before the coordinates: offset, bias, compare value
	grads, g16, lod, noCoords                    bool
}

func imageOpOf(name string) imageOp {
	o := imageOp{bvh: strings.Contains(name, "_bvh")}
	rest := strings.TrimPrefix(name, "image_")
	switch {
	case strings.HasPrefix(rest, "sample"), strings.HasPrefix(rest, "gather4"), strings.HasPrefix(rest, "get_lod"):
		o.sampler = true
	}
	o.gather = strings.HasPrefix(rest, "gather4") || strings.HasPrefix(rest, "msaa_load")
	o.store = strings.HasPrefix(rest, "store")
	o.atomic = strings.HasPrefix(rest, "atomic")
	o.cmpswap = strings.HasSuffix(rest, "cmpswap")
	if rest == "get_resinfo" {
		o.noCoords, o.lod = true, true
	}
	for _, after, ok := strings.Cut(rest, "_"); ok; {
		var w string
		w, after, ok = strings.Cut(after, "_")
		switch w {
		case "c", "b", "o":
			if o.sampler {
				o.extra++
			}
		case "d":
			o.grads = o.sampler
		case "g16":
			o.g16 = true
		case "l", "cl", "mip":
			o.lod = true
		}
	}
	return o
}

// imageSizes is the number of data and address registers that dmask, dim and the flags ask for. LLVM knows no
// instruction for some combinations, or none that ends at v255: it then prints the smallest form of the encoding,
// and so does this.
func (in *Inst) imageSizes(o imageOp, nsa bool) (data, addr int) {
	if in.Arch == CDNA2 {
		return in.imageSize(o), 1
	}
	data = max(bits.OnesCount32(in.Field(FieldDmask)), 1)
	if o.gather {
		data = 4
	}
	if in.Flag(FieldD16) {
		data = (data + 1) / 2
	}
	if in.Flag(FieldTfe) {
		data++
	}
	d := imageDims[in.Field(FieldDim)]
	n, most := d.coords, 3
	if !o.sampler {
		most = 4
	}
	if o.noCoords {
		n = 0
	}
	if o.lod {
		n++
		if o.sampler {
			most++
		}
	}
	if in.Flag(FieldA16) {
		n = (n + 1) / 2
	}
	least := 1
	if o.grads {
		least++
		if o.g16 {
			n += (d.grads/2 + 1) &^ 1
			most += 4
		} else {
			n += d.grads
			most += 6
		}
	}
	addr, most, least = n+o.extra, most+o.extra, least+o.extra
	if !nsa {
		most = max(most, 4)
	}
	fields := 5
	if in.Arch == RDNA4 {
		fields = 4
	}
	last := int(in.Field(FieldVaddr)) + addr // just past the last register
	if nsa {
		last = 0
		if addr > fields {
			last = in.addressReg(fields-1) + addr - fields + 1
		}
		least = min(most, fields)
	}
	smallest := 1
	switch {
	case strings.HasPrefix(in.Op.Name, "image_msaa"):
		smallest = 4
	case o.gather || o.cmpswap:
		smallest = 2
	}
	if o.gather && o.sampler && in.Flag(FieldTfe) && in.Flag(FieldD16) || addr > most || nsa && addr < 2 && in.Arch != RDNA4 || o.atomic && (data < smallest || data > smallest*2+1) ||
		int(in.Field(FieldVdata))+data > 256 && data != smallest || last > 256 && addr != least {
		return smallest, least
	}
	return data, addr
}

// imageSize is the number of gfx90a's data registers. How many address registers there are only the resource tells: LLVM
// prints one, and so does this. Runs of registers are even there, or LLVM prints the smallest form.
func (in *Inst) imageSize(o imageOp) int {
	least, most := 1, 4
	switch {
	case o.cmpswap:
		least = 2
	case o.atomic:
		most = 3
	}
	n := max(bits.OnesCount32(in.Field(FieldDmask)), least)
	if in.Flag(FieldD16) {
		n = (n + 1) / 2
	}
	first := in.Field(FieldVdata)
	if n > most || n > 1 && first&1 != 0 || int(first)+n > 256 {
		return least
	}
	return n
}

func (p *printer) image() {
	in := &p.in
	p.name()
	o := imageOpOf(in.Op.Name)
	vdata, vaddr := int(in.Field(FieldVdata)), int(in.Field(FieldVaddr))
	nsa := in.Size == 12
	if o.bvh {
		p.bvh(vdata, vaddr, nsa)
		return
	}
	data, addr := in.imageSizes(o, nsa)
	file := "v"
	if in.Flag(FieldAcc) {
		file = "a"
	}
	if nsa && o.sampler && in.Arch != RDNA4 {
		p.byte(' ') // as LLVM prints these
	}
	p.next()
	p.tuple(file, vdata, data)
	p.next()
	switch {
	case !nsa:
		p.tuple("v", vaddr, addr)
	case in.Arch == RDNA4 && addr == 1:
		p.tuple("v", vaddr, 1)
	default:
		most := 5
		if in.Arch == RDNA4 {
			most = 4
		}
		p.addresses(addr, most)
	}
	for i := range in.NumArgs() {
		if a := in.Arg(i); a.Field == FieldRsrc {
			p.next()
			p.arg(&a)
		}
	}
	if o.sampler {
		for i := range in.NumArgs() {
			if a := in.Arg(i); a.Field == FieldSamp {
				p.next()
				p.arg(&a)
			}
		}
	}
	if v := in.Field(FieldDmask); v != 0 {
		p.str(" dmask:")
		p.hex(uint64(v))
	}
	if in.Arch != CDNA2 {
		p.str(" dim:SQ_RSRC_IMG_")
		p.str(imageDims[in.Field(FieldDim)].name)
	}
	p.opt(FieldUnorm, " unorm")
	p.cache()
	p.opt(FieldR128, " r128")
	p.opt(FieldA16, " a16")
	p.opt(FieldTfe, " tfe")
	p.opt(FieldLwe, " lwe")
	p.opt(FieldDA, " da")
	p.opt(FieldD16, " d16")
}

// addresses prints n address registers one by one; those beyond the last field follow it.
func (p *printer) addresses(n, most int) {
	p.byte('[')
	for i := range min(n, most) {
		if i > 0 {
			p.str(", ")
		}
		count := 1
		if i == most-1 {
			count = n - i
		}
		p.tuple("v", p.in.addressReg(i), count)
	}
	p.byte(']')
}

func (in *Inst) addressReg(i int) int {
	if i == 0 {
		return int(in.Field(FieldVaddr))
	}
	return int(in.Field(FieldVaddr1 + Field(i-1)))
}

// bvh prints ray intersections: node pointer, extent, origin, direction and its inverse.
func (p *printer) bvh(vdata, vaddr int, nsa bool) {
	in := &p.in
	wide := strings.Contains(in.Op.Name, "bvh64")
	a16 := in.Flag(FieldA16)
	sizes := []int{1, 1, 3, 3, 3}
	switch {
	case strings.Contains(in.Op.Name, "dual"):
		sizes = []int{2, 2, 3, 3, 2}
	case strings.Contains(in.Op.Name, "bvh8"):
		sizes = []int{2, 2, 3, 3, 1}
	case wide:
		sizes[0] = 2
	}
	if a16 {
		sizes = append(sizes[:3], 3)
	}
	p.next()
	n := 4
	if !wide && sizes[0] == 2 {
		n = 10
	}
	p.tuple("v", vdata, n)
	p.next()
	if !nsa {
		total := 0
		for _, s := range sizes {
			total += s
		}
		p.tuple("v", vaddr, total)
	} else {
		p.byte('[')
		for i, s := range sizes {
			if i > 0 {
				p.str(", ")
			}
			p.tuple("v", p.in.addressReg(i), s)
		}
		p.byte(']')
	}
	p.next()
	rsrc := in.Field(FieldRsrc)
	if in.Arch != RDNA4 {
		rsrc *= 4
	}
	p.sreg(uint16(rsrc), 4)
	p.opt(FieldA16, " a16")
}
