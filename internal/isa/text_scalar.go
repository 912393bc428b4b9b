package isa

import "strings"

// scalar prints SOP1, SOP2, SOPC, SOPK and SOPP.
func (p *printer) scalar() {
	in := &p.in
	p.name()
	name := in.Op.Name
	if in.Op.Format == SOPP {
		p.sopp(name)
		return
	}
	for i := range in.NumArgs() {
		a := in.Arg(i)
		if in.Op.Format == SOPK && a.Field == FieldSimm16 {
			continue
		}
		switch {
		case in.Op.Format == SOPK && (name == "s_setreg_b32" || name == "s_setreg_imm32_b32"):
			continue
		case a.Field == FieldSsrc0 && in.Op.Has(FlagMsg) && in.Op.Format == SOP1 && len(name) > 13 && name[:13] == "s_sendmsg_rtn":
			p.next()
			p.sendmsg(in.Field(FieldSsrc0), true)
			continue
		}
		p.next()
		if name == "s_set_gpr_idx_on" && a.Field == FieldSsrc1 {
			p.gprIdx(in.Field(FieldSsrc1))
			continue
		}
		p.arg(&a)
		if name == "s_fmamk_f32" && a.Field == FieldSsrc0 {
			p.next()
			p.hex(uint64(in.Lit))
		}
		if name == "s_barrier_signal_isfirst" && a.Kind == ArgScalar && a.Reg == in.Arch.M0() {
			p.byte(' ') // as LLVM prints it
		}
	}
	switch {
	case in.Op.Format == SOPK:
		p.sopk(name)
	case name == "s_fmaak_f32":
		p.next()
		p.hex(uint64(in.Lit))
	}
}

func (p *printer) sopk(name string) {
	in := &p.in
	imm := in.Field(FieldSimm16)
	switch name {
	case "s_getreg_b32":
		p.next()
		p.hwreg(imm)
	case "s_setreg_b32":
		p.next()
		p.hwreg(imm)
		p.next()
		p.sreg(uint16(in.Field(FieldSdst)), 1)
	case "s_setreg_imm32_b32":
		p.next()
		p.hwreg(imm)
		p.next()
		p.plainLiteral(in.Lit)
	case "s_call_b64", "s_cbranch_i_fork", "s_subvector_loop_begin", "s_subvector_loop_end":
		p.next()
		p.dec(int64(imm))
	case "s_version":
		p.next()
		p.version(imm)
	default:
		p.next()
		p.hex(uint64(imm))
	}
}

// plainLiteral prints a literal that LLVM does not mark: that of s_setreg_imm32_b32, and as a source of what has one anyway.
func (p *printer) plainLiteral(v uint32) {
	for i := range floatConst {
		if uint64(v) == floatConst[i][1] {
			p.str(floatText[i])
			return
		}
	}
	if n := int32(v); n >= -16 && n <= 64 {
		p.dec(int64(n))
		return
	}
	p.hex(uint64(v))
}

var versionNames = [...]string{0: "UC_VERSION_GFX7", 1: "UC_VERSION_GFX8", 2: "UC_VERSION_GFX9", 3: "UC_VERSION_GFX9_4", 4: "UC_VERSION_GFX10", 6: "UC_VERSION_GFX11", 9: "UC_VERSION_GFX12"}

var versionFlags = [...]string{"UC_VERSION_W64_BIT", "UC_VERSION_W32_BIT", "UC_VERSION_MDP_BIT"}

// version prints the operand of s_version: a generation and three flags, where the other bits are 0.
func (p *printer) version(imm uint32) {
	if imm&0x1f00 != 0 {
		p.hex(uint64(imm))
		return
	}
	at := len(p.b)
	if v := imm & 0xff; v < uint32(len(versionNames)) && versionNames[v] != "" {
		p.str(versionNames[v])
	} else {
		p.dec(int64(v))
	}
	flags := 0
	for i, name := range versionFlags {
		if imm>>(13+i)&1 == 0 {
			continue
		}
		if flags++; flags > 1 { // each further one puts the rest in brackets
			p.b = append(p.b, ' ', ' ')
			copy(p.b[at+1:], p.b[at:len(p.b)-2])
			p.b[at], p.b[len(p.b)-1] = '(', ')'
		}
		p.byte('|')
		p.str(name)
	}
}

// hwreg prints a hardware register with its bit range.
func (p *printer) hwreg(imm uint32) {
	id, off, size := imm&0x3f, imm>>6&0x1f, imm>>11&0x1f+1
	p.str("hwreg(")
	if n := hwregNames[p.family][id]; n != "" && (p.in.Arch != CDNA2 || id < 20) { // the later ones came with gfx940
		p.str(n)
	} else {
		p.dec(int64(id))
	}
	if off != 0 || size != 32 {
		p.num(", ", uint64(off))
		p.num(", ", uint64(size))
	}
	p.byte(')')
}

// sendmsg prints a message: named where the rest of the number fits the message.
func (p *printer) sendmsg(imm uint32, rtn bool) {
	plain := func(id, op, stream uint32) {
		p.num("sendmsg(", uint64(id))
		p.num(", ", uint64(op))
		p.num(", ", uint64(stream))
		p.byte(')')
	}
	if p.family != familyCDNA { // the whole low byte is the message
		switch name := msgNames[p.family][imm&0xff]; {
		case name != "": // bits above do not matter
			p.str("sendmsg(")
			p.str(name)
			p.byte(')')
		case imm > 0xff:
			p.dec(int64(imm))
		default:
			plain(imm, 0, 0)
		}
		return
	}
	id, op, stream := imm&0xf, imm>>4&7, imm>>8&3
	name := msgNames[familyCDNA][id]
	var ops []string
	switch id {
	case 2, 3:
		ops = []string{"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"}
	case 15:
		ops = []string{"", "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD", "SYSMSG_OP_HOST_TRAP_ACK", "SYSMSG_OP_TTRACE_PC"}
	}
	valid := name != "" && (ops == nil && op == 0 && stream == 0 || int(op) < len(ops) && ops[op] != "" && !(id == 2 && op == 0) && (stream == 0 || id != 15 && op != 0))
	switch {
	case valid:
		p.str("sendmsg(")
		p.str(name)
		if ops != nil {
			p.str(", ")
			p.str(ops[op])
			if id != 15 && op != 0 {
				p.num(", ", uint64(stream))
			}
		}
		p.byte(')')
	case imm&^0x37f != 0:
		p.dec(int64(imm))
	default:
		plain(id, op, stream)
	}
}

func (p *printer) sopp(name string) {
	in := &p.in
	imm := in.Field(FieldSimm16)
	switch {
	case name == "s_waitcnt":
		p.waitcnt(imm)
	case in.Op.Has(FlagBranch) || name == "s_sendmsg" || name == "s_sendmsghalt":
		p.byte(' ')
		if in.Op.Has(FlagBranch) {
			p.dec(int64(imm))
		} else {
			p.sendmsg(imm, false)
		}
	case name == "s_delay_alu":
		p.delay(imm)
	case name == "s_waitcnt_depctr" || name == "s_wait_alu":
		p.depctr(imm)
	case name == "s_endpgm":
		if imm != 0 {
			p.num(" ", uint64(imm))
		}
	case in.Op.count == 0:
	case name == "s_set_gpr_idx_mode":
		p.byte(' ')
		p.gprIdx(imm)
	case imm <= 64 && p.decimal(name):
		p.num(" ", uint64(imm))
	default:
		p.byte(' ')
		p.hex(uint64(imm))
	}
}

// decimal tells whether a small immediate prints as a decimal number.
func (p *printer) decimal(name string) bool {
	switch name {
	case "s_nop", "s_setkill", "s_sethalt", "s_sleep", "s_trap", "s_setprio", "s_denorm_mode", "s_barrier_wait", "s_incperflevel",
		"s_decperflevel":
		return true
	}
	return false
}

// gprIdx prints the operands whose indexing is on.
func (p *printer) gprIdx(imm uint32) {
	if imm > 15 {
		p.hex(uint64(imm))
		return
	}
	p.str("gpr_idx(")
	sep := ""
	for i, n := range [4]string{"SRC0", "SRC1", "SRC2", "DST"} {
		if imm>>i&1 != 0 {
			p.str(sep)
			p.str(n)
			sep = ","
		}
	}
	p.byte(')')
}

func (p *printer) waitcnt(imm uint32) {
	vm, exp, lgkm := imm>>10&0x3f, imm&7, imm>>4&0x3f
	vmMax, lgkmMax := uint32(63), uint32(63)
	if p.family == familyCDNA {
		vm, exp, lgkm, lgkmMax = imm&0xf|imm>>14&3<<4, imm>>4&7, imm>>8&0xf, 15
	}
	all := vm == vmMax && exp == 7 && lgkm == lgkmMax
	item := func(label string, v, most uint32) {
		if v != most || all {
			p.byte(' ')
			p.num(label, uint64(v))
			p.byte(')')
		}
	}
	item("vmcnt(", vm, vmMax)
	item("expcnt(", exp, 7)
	item("lgkmcnt(", lgkm, lgkmMax)
}

var delayIDs = [12]string{
	"NO_DEP", "VALU_DEP_1", "VALU_DEP_2", "VALU_DEP_3", "VALU_DEP_4", "TRANS32_DEP_1", "TRANS32_DEP_2", "TRANS32_DEP_3",
	"FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3",
}

var delaySkips = [6]string{"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"}

func (p *printer) delay(imm uint32) {
	if imm&0x7ff == 0 {
		p.str(" 0")
		return
	}
	id := func(label string, v uint32) {
		p.str(label)
		if int(v) < len(delayIDs) {
			p.str(delayIDs[v])
		} else {
			p.str("BAD_VALUE")
		}
		p.byte(')')
	}
	sep := " "
	if v := imm & 0xf; v != 0 {
		p.str(sep)
		id("instid0(", v)
		sep = " | "
	}
	if v := imm >> 4 & 7; v != 0 {
		p.str(sep)
		p.str("instskip(")
		if int(v) < len(delaySkips) {
			p.str(delaySkips[v])
		} else {
			p.str("BAD_VALUE")
		}
		p.byte(')')
		sep = " | "
	}
	if v := imm >> 7 & 0xf; v != 0 {
		p.str(sep)
		id("instid1(", v)
	}
}

// depctr prints the counters of s_waitcnt_depctr that are below their maximum, or hex where other bits are set.
func (p *printer) depctr(imm uint32) {
	fields := [...]struct {
		name   string
		lo, hi uint32
	}{{"hold_cnt", 7, 7}, {"sa_sdst", 0, 0}, {"va_vdst", 12, 15}, {"va_sdst", 9, 11}, {"va_ssrc", 8, 8}, {"va_vcc", 1, 1}, {"vm_vsrc", 2, 4}}
	all := imm == 0xff9f
	if imm&0x60 != 0 {
		p.byte(' ')
		p.hex(uint64(imm))
		return
	}
	for _, f := range fields {
		most := uint32(1)<<(f.hi-f.lo+1) - 1
		if v := imm >> f.lo & most; v != most || all {
			p.str(" depctr_")
			p.str(f.name)
			p.num("(", uint64(v))
			p.byte(')')
		}
	}
}

// smem prints scalar memory instructions: LLVM shows no cache bits where they mean nothing.
func (p *printer) smem() {
	p.smemOperands()
	n := p.in.Op.Name
	switch {
	case p.in.Op.count == 0, strings.HasPrefix(n, "s_atc"), strings.Contains(n, "prefetch"):
	case p.family == familyCDNA && (strings.HasPrefix(n, "s_mem") || strings.HasPrefix(n, "s_dcache")):
	default:
		p.cache()
	}
}

func (p *printer) smemOperands() {
	in := &p.in
	p.name()
	name := in.Op.Name
	prefetch := in.Arch == RDNA4 && len(name) > 10 && (name[:10] == "s_prefetch" || len(name) > 17 && name[:17] == "s_buffer_prefetch")
	if in.Op.count == 0 {
		return
	}
	soff := Arg{Kind: ArgNone}
	offset := true
	hasOffset := false
	for i := range in.NumArgs() {
		a := in.Arg(i)
		switch a.Field {
		case FieldSoffset:
			soff, hasOffset = a, true
			continue
		case FieldOffset:
			hasOffset = true
			continue
		case FieldSdata:
			if prefetch {
				continue
			}
		}
		p.next()
		if a.Field == FieldSdata && (name == "s_atc_probe" || name == "s_atc_probe_buffer") {
			p.atc(in.Field(FieldSdata))
			continue
		}
		p.arg(&a)
	}
	if !hasOffset {
		return
	}
	v := in.Offset()
	if prefetch {
		p.next()
		p.signedHex(int64(v))
		p.next()
		p.sreg(uint16(in.Field(FieldSoffset)), 1)
		p.next()
		p.dec(int64(in.Field(FieldSdata) & 0x1f))
		return
	}
	p.next()
	switch {
	case soff.Kind == ArgNone && v == 0 && in.Arch != RDNA4 && !in.Arch.CDNA():
		p.str("null")
		offset = false
	case soff.Kind == ArgNone:
		p.signedHex(int64(v))
		offset = false
	default:
		p.arg(&soff)
		switch {
		case in.Arch.CDNA():
			offset = in.Flag(FieldImm) && in.Flag(FieldSoffsetEn)
		case in.Arch != RDNA4:
			offset = v != 0
		}
	}
	if offset {
		p.str(" offset:")
		p.signedHex(int64(v))
	}
}

// atc prints the operand of the probes: a number in the data register's place.
func (p *printer) atc(v uint32) {
	if v <= 64 {
		p.dec(int64(v))
	} else {
		p.hex(uint64(v))
	}
}

func (p *printer) signedHex(v int64) {
	if v < 0 {
		p.byte('-')
		v = -v
	}
	p.hex(uint64(v))
}
