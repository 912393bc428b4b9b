package shader

import (
	"reflect"
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

// uop is a compiled instruction.
type uop struct {
	run     func(w *wave, u *uop)
	index   int32
	next    int32 // index of the operation to run then
	target  int32 // of a direct branch
	a, b, c opnd
	d       uint16 // first VGPR of the result
	sd      uint16 // scalar destination code
	n       uint8  // sources
	size    uint8  // bytes
	nop     bool   // run does nothing
	k1      func(d, a *lanes)
	k2      func(d, a, b *lanes)
	k3      func(d, a, b, c *lanes)
	cmp     func(a, b *lanes) uint32
	carry   func(d, a, b *lanes, ci uint32) uint32
	imm     int64
	x       *ext
}

// What an operand is read from.
const (
	fromNone = iota
	fromV
	fromS
	fromK
)

// opnd is a source operand.
type opnd struct {
	k    *vreg // fromK: the constant in every lane
	reg  uint16
	kind uint8
}

// ext is what only some instructions need.
type ext struct {
	def      *vdef
	in       *isa.Inst
	src      [3]srcMod
	kv       [3]uint64 // constants as 64-bit values
	dst      dstMod
	dpp      *dppCtl
	pair     *[2]uop
	mem      *memOp
	mat      *matrix
	cvt      *smallCvt
	fp       bool // result depends on MODE
	mix      uint8
	dppOn    uint8 // the source that DPP permutes
	subtract bool
	name     string
}

// srcMod is how a source value is made from its register.
type srcMod struct {
	typ            isa.Type
	bits           uint16
	neg, abs, half bool
	sext           bool
	sel            uint8
	negHi          bool
	opSel, opSelHi bool
	plain          bool // taken as it is
}

// dstMod is how a result goes into its register.
type dstMod struct {
	typ         isa.Type
	bits        uint16
	half        bool // into the high half
	keep        bool // the other half stays
	clamp       bool
	omod        uint8
	sdwa        bool
	sel, unused uint8
	opSel       uint8
}

func (d *dstMod) plain() bool { return d.bits >= 32 && !d.clamp && d.omod == 0 && !d.sdwa }

// compiler turns one instruction into a micro-operation.
type compiler struct {
	p    *Program
	in   *isa.Inst
	u    uop
	x    ext
	srcs int
	args [3]isa.Arg // of the sources
}

// constArg is source i's argument if it is an inline float constant.
func (c *compiler) constArg(i int) (isa.Arg, bool) {
	a := c.args[i]
	return a, a.Kind == isa.ArgConst && a.Reg >= 240
}

// compile never fails: what cannot run becomes an operation that faults.
func (p *Program) compile(pi *ProgInst) uop {
	c := &compiler{p: p, in: &pi.Inst}
	c.u.size = pi.Inst.Size
	p.note(&pi.Inst)
	switch pi.Inst.Op.Format {
	case isa.SOP1, isa.SOP2, isa.SOPC, isa.SOPK, isa.SOPP:
		c.scalar()
	case isa.SMEM:
		c.smem()
		pi.Mem = c.x.mem != nil
	case isa.VOP1, isa.VOP2, isa.VOPC, isa.VOP3, isa.VOP3SD, isa.VOP3P, isa.VOP3PX, isa.VINTERP:
		c.valu(pi.Inst.Op, false)
	case isa.VOPD:
		c.vopd()
	case isa.DS:
		c.ds()
		pi.Mem = c.x.mem != nil
	case isa.LDSDIR:
		c.ldsDirect()
		pi.Mem = c.x.mem != nil
	case isa.FLAT, isa.GLOBAL, isa.SCRATCH, isa.MUBUF, isa.MTBUF:
		c.vmem()
		pi.Mem = c.x.mem != nil
	}
	if c.u.run == nil {
		c.u.run = runUnsupported
	}
	c.u.nop = reflect.ValueOf(c.u.run).Pointer() == reflect.ValueOf(runNop).Pointer()
	return c.u
}

// ext gives the micro-operation its own copy of the extension.
func (c *compiler) ext() {
	x := c.x
	in := *c.in
	x.in = &in
	c.u.x = &x
}

// note records which registers a wave needs.
func (p *Program) note(in *isa.Inst) {
	args := func(n int, get func(int) isa.Arg) {
		for i := range n {
			a := get(i)
			top := int(a.Reg) + max(a.Regs(), 1)
			switch a.Kind {
			case isa.ArgVGPR:
				p.maxV = min(max(p.maxV, top), 256)
			case isa.ArgAGPR:
				p.maxA = min(max(p.maxA, top), 256)
			}
		}
	}
	p.maxV = max(p.maxV, 1)
	args(in.NumArgs(), in.Arg)
	args(in.NumArgsY(), in.ArgY)
	if strings.Contains(in.Op.Name, "movrel") || strings.Contains(in.Op.Name, "gpr_idx") || strings.Contains(in.Op.Name, "swaprel") {
		p.maxV = 256
	}
	p.ordered = p.ordered || ordersGroups(in)
	p.counts = p.counts || in.Op.Name == "ds_ordered_count"
}

// ordersGroups tells whether results may depend on the order in which workgroups run: the instruction is an atomic
// operation that returns a value or whose order matters, a load that is to see what other workgroups store, or an
// access to what they share beside memory. So may what is behind a jump to an address in registers, which is not known yet.
// Plain loads of what another workgroup stores are a race on hardware too.
func ordersGroups(in *isa.Inst) bool {
	switch in.Op.Format {
	case isa.FLAT, isa.GLOBAL, isa.MUBUF:
	case isa.DS:
		return in.Flag(isa.FieldGds) || in.Op.Has(isa.FlagGDS) || gdsOnly[in.Op.Name] != nil
	case isa.SOP1, isa.SOP2:
		return in.Op.Has(isa.FlagIndirect) || strings.HasPrefix(in.Op.Name, "s_cbranch_")
	default:
		return in.Op.Format == isa.SMEM && in.Op.Has(isa.FlagAtomic)
	}
	if in.Op.Has(isa.FlagAtomic) {
		if in.Returns() {
			return true
		}
		for _, s := range []string{"_f32", "_f64", "_pk_", "swap", "_inc", "_dec", "clamp", "cond_sub", "csub", "ordered"} {
			if strings.Contains(in.Op.Name, s) {
				return true
			}
		}
		return false
	}
	return in.Op.Has(isa.FlagLoad) && (in.Flag(isa.FieldGLC) || in.Flag(isa.FieldSC0) || in.Flag(isa.FieldSC1) || in.Flag(isa.FieldScope))
}

func regOf(a *isa.Arg) uint16 {
	if a.Kind == isa.ArgAGPR {
		return a.Reg + accBase
	}
	return a.Reg
}

// source resolves an argument as source i.
func (c *compiler) source(i int, a isa.Arg) {
	o := [3]*opnd{&c.u.a, &c.u.b, &c.u.c}[i]
	m := &c.x.src[i]
	*m = srcMod{
		typ: a.Type, bits: a.Bits, neg: a.Neg, abs: a.Abs, half: a.Hi, sext: a.Sext, sel: a.Sel,
		negHi: a.NegHi, opSel: a.OpSel, opSelHi: a.OpSelHi,
	}
	if m.sel > 6 {
		m.sel = 6
	}
	if m.bits == 24 || m.bits == 8 && a.Kind != isa.ArgVGPR {
		m.bits = 32
	}
	switch a.Kind {
	case isa.ArgVGPR, isa.ArgAGPR:
		o.kind, o.reg = fromV, regOf(&a)
	case isa.ArgScalar:
		o.kind, o.reg = fromS, a.Reg
	case isa.ArgConst, isa.ArgLiteral, isa.ArgImm, isa.ArgNone:
		var v uint64
		switch a.Kind {
		case isa.ArgConst:
			v = isa.ConstBits(a.Reg, a.Type, int(a.Bits))
		case isa.ArgLiteral:
			v = c.literal(a.Type, int(a.Bits), int(a.Count))
		case isa.ArgImm:
			v = uint64(a.Imm)
		}
		c.constant(i, v)
	}
	m.plain = !m.neg && !m.abs && !m.half && !m.sext && m.sel == 6
	c.srcs = max(c.srcs, i+1)
}

// keepsHalf tells whether an operation of gfx9 with a 16-bit result leaves the register's high half alone. Most clear it;
// AMD's documents except these, and clear it for v_mac_f16, which reads its destination as others that keep it do.
func keepsHalf(name string, readsDst bool) bool {
	switch strings.TrimSuffix(strings.TrimSuffix(name, "_e32"), "_e64") {
	case "v_mad_f16", "v_mad_u16", "v_mad_i16", "v_fma_f16", "v_div_fixup_f16":
		return true
	case "v_mac_f16":
		return false
	}
	return readsDst
}

// literal widens the literal dword: the high half of a float64, sign-extended for i64.
func (c *compiler) literal(t isa.Type, bits, count int) uint64 {
	v := uint64(c.in.Lit)
	switch {
	case t == isa.TypeF64:
		return v << 32
	case t == isa.TypeI64:
		return uint64(int64(int32(v)))
	}
	return v
}

func (c *compiler) constant(i int, v uint64) {
	o := [3]*opnd{&c.u.a, &c.u.b, &c.u.c}[i]
	o.kind = fromK
	c.x.kv[i] = v
	o.k = c.p.konst(uint32(v))
}

// konst is a vreg with the value in every lane, shared by all that need it.
func (p *Program) konst(v uint32) *vreg {
	if p.konsts == nil {
		p.konsts = map[uint32]*vreg{}
	}
	k := p.konsts[v]
	if k == nil {
		k = new(vreg)
		fill(k, v)
		p.konsts[v] = k
	}
	return k
}

// valuName is the operation's name without what only concerns its encoding.
func valuName(op *isa.Op) string {
	n := op.Base()
	if r, ok := strings.CutPrefix(n, "v_dual_"); ok {
		return "v_" + r
	}
	return n
}

// valu compiles a vector ALU instruction, or one half of a VOPD pair.
func (c *compiler) valu(op *isa.Op, y bool) {
	name := valuName(op)
	c.x.name = name
	n, get := c.in.NumArgs(), c.in.Arg
	if y {
		n, get = c.in.NumArgsY(), c.in.ArgY
	}
	c.u.sd = isa.VccLo
	var dst isa.Arg
	si := 0
	accDst := false
	for _, f := range [...]isa.Field{isa.FieldSrc0, isa.FieldSrcX0, isa.FieldSrcY0, isa.FieldSrc1, isa.FieldSrcX1, isa.FieldSrcY1, isa.FieldSrc2} {
		for i := range n {
			if a := get(i); a.Field == f && si < 3 {
				if raw := c.in.Field(f); f == isa.FieldSrc1 && a.Kind == isa.ArgVGPR && (op.Format == isa.VOP3 || op.Format == isa.VOP3SD || op.Format == isa.VINTERP) && raw < 256 {
					a = scalarArg(c.p.arch, a, raw)
				}
				c.source(si, a)
				c.args[si] = a
				si++
			}
		}
	}
	for i := range n {
		a := get(i)
		switch a.Field {
		case isa.FieldVdst, isa.FieldVdstX, isa.FieldVdstY:
			if a.Kind == isa.ArgScalar {
				c.u.sd = a.Reg
			} else {
				dst = a
				accDst = a.Dir == isa.InOut
			}
		case isa.FieldSdst:
			c.u.sd = a.Reg
		}
	}
	c.u.d = regOf(&dst)
	cdna := c.p.arch.CDNA()
	c.x.dst = dstMod{typ: dst.Type, bits: dst.Bits, half: dst.Hi, keep: !cdna || dst.Hi || keepsHalf(c.in.Op.Name, accDst), opSel: uint8(c.in.Field(isa.FieldOpSel))}
	if dst.Count > 1 {
		c.x.dst.typ = isa.TypeAny // packed: neither clamped nor scaled as a whole
	}
	if c.in.Op.Format != isa.VOPD {
		c.x.dst.clamp = c.in.Flag(isa.FieldClamp)
		c.x.dst.omod = uint8(c.in.Field(isa.FieldOmod))
	}
	switch c.in.Form {
	case isa.DPP16, isa.DPP8:
		c.x.dpp = newDPP(c.in)
	case isa.SDWA:
		c.x.dst.sdwa = c.in.HasField(isa.FieldDstSel)
		c.x.dst.sel = uint8(c.in.Field(isa.FieldDstSel))
		c.x.dst.unused = uint8(c.in.Field(isa.FieldDstUnused))
		if c.in.Op.Format == isa.VOPC {
			c.u.sd = isa.VccLo
			if c.in.Flag(isa.FieldSD) {
				c.u.sd = uint16(c.in.Field(isa.FieldSdst))
			}
		}
	}
	if strings.Contains(name, "fmamk") || strings.Contains(name, "madmk") {
		// D = S0*K + S1
		c.u.c, c.x.src[2], c.x.kv[2] = c.u.b, c.x.src[1], c.x.kv[1]
		c.x.src[1] = srcMod{typ: c.x.src[0].typ, bits: c.x.src[0].bits, sel: 6, plain: true}
		c.constant(1, uint64(c.in.Lit))
		c.srcs = 3
	} else if strings.Contains(name, "fmaak") || strings.Contains(name, "madak") {
		c.x.src[2] = srcMod{typ: c.x.src[0].typ, bits: c.x.src[0].bits, sel: 6, plain: true}
		c.constant(2, uint64(c.in.Lit))
		c.srcs = 3
	}
	if c.special(name) {
		c.ext()
		return
	}
	if strings.HasPrefix(name, "v_cmp") {
		c.compare(name)
		c.ext()
		return
	}
	d := vdefs[name]
	if d == nil || d.n == 0 {
		return
	}
	c.x.def = d
	if d.acc {
		c.accSource(d.n - 1)
	}
	c.u.n = uint8(d.n)
	c.u.k1, c.u.k2, c.u.k3 = d.k1, d.k2, d.k3
	c.x.fp = d.flush || d.m1 != nil || d.m2 != nil || d.m3 != nil
	if d.wide() {
		c.u.run = runWide
		c.shlAdd64(name)
		c.ext()
		return
	}
	fast := c.x.dst.plain() && c.x.dpp == nil && (d.k1 != nil || d.k2 != nil || d.k3 != nil)
	for i := range d.n {
		fast = fast && c.x.src[i].plain && c.x.src[i].bits >= 32
	}
	switch {
	case !fast:
		c.u.run = runNarrow
	case name == "v_mov_b32":
		c.u.run = runMov
	case d.n == 1 && !c.x.fp:
		c.u.run = runK1
	case d.n == 2 && !c.x.fp:
		c.u.run = runK2
	case d.n == 3 && !c.x.fp:
		c.u.run = runK3
	case d.n == 1:
		c.u.run = runF1
	case d.n == 2:
		c.u.run = runF2
	default:
		c.u.run = runF3
	}
	c.ext()
}

// accSource makes the destination source i too.
func (c *compiler) accSource(i int) {
	o := [3]*opnd{&c.u.a, &c.u.b, &c.u.c}[i]
	*o = opnd{kind: fromV, reg: c.u.d}
	c.x.src[i] = srcMod{typ: c.x.dst.typ, bits: c.x.dst.bits, half: c.x.dst.half, sel: 6, plain: !c.x.dst.half}
	c.srcs = max(c.srcs, i+1)
}

// vopd compiles both halves. They read before they write: where the second reads what the first writes
// they run in the other order, or the first one's result waits.
func (c *compiler) vopd() {
	var pair [2]uop
	for i := range pair {
		h := &compiler{p: c.p, in: c.in}
		if i == 0 {
			h.valu(c.in.Op, false)
		} else {
			h.valu(c.in.OpY, true)
		}
		if h.u.run == nil {
			return
		}
		pair[i] = h.u
	}
	c.x.pair = &pair
	switch {
	case !pair[1].reads(pair[0].d):
		c.u.run = runPair
	case !pair[0].reads(pair[1].d):
		pair[0], pair[1] = pair[1], pair[0]
		c.u.run = runPair
	default:
		c.u.run = runPairHeld
	}
	c.ext()
}

func (u *uop) reads(v uint16) bool {
	for _, o := range []opnd{u.a, u.b, u.c} {
		if o.kind == fromV && o.reg == v {
			return true
		}
	}
	return false
}

func runPair(w *wave, u *uop) {
	p := u.x.pair
	p[0].run(w, &p[0])
	p[1].run(w, &p[1])
}

func runPairHeld(w *wave, u *uop) {
	p := u.x.pair
	d := &w.v[p[0].d]
	old := *d
	p[0].run(w, &p[0])
	got := *d
	*d = old
	p[1].run(w, &p[1])
	*d = got
}

func runUnsupported(w *wave, u *uop) { w.fail(ErrUnsupported, u, "") }
func runTooLong(w *wave, u *uop)     { w.fail(ErrUnsupported, u, "program too long") }
func runNoCode(w *wave, u *uop) {
	f := w.fail(ErrMemory, u, "instruction fetch")
	f.Addr = f.PC
}

func runIllegal(w *wave, u *uop) {
	pc := w.prog.view()[u.index].PC
	b, _ := w.prog.mem.Map(pc, false)
	_, err := isa.DecodeLenient(w.arch, b)
	detail := ""
	if err != nil {
		detail = err.Error()
	}
	w.fail(ErrIllegal, u, detail)
}

// runJoin continues at code that was compiled before. It is no instruction.
func runJoin(w *wave, u *uop) {
	w.leave(int(u.index), false)
	w.first, w.ip, w.masked = int(u.target), int(u.target), int(u.target)
}

// scalarArg reads a source code below 256 of a field whose table row names VGPRs only, as subrev's does.
func scalarArg(arch isa.Arch, a isa.Arg, code uint32) isa.Arg {
	a.Reg = uint16(code)
	switch {
	case code == isa.SrcLiteral:
		a.Kind = isa.ArgLiteral
	case code >= 128 && code < isa.SrcSharedBase || code >= 240 && code <= 248:
		a.Kind = isa.ArgConst
	default:
		a.Kind = isa.ArgScalar
	}
	return a
}
