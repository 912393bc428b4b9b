package shader

import "github.com/rigprof/rigprof/internal/isa"

// dppCtl moves data between lanes on the way to source 0.
type dppCtl struct {
	from       [64]int8 // lane to read, -1: none
	bound      bool     // a lane without a source reads 0 instead of being left out
	inactive   bool     // lanes that EXEC disables are read too
	rows, bank uint8
	eight      bool
}

// newDPP works out the lane table. Rows are 16 lanes, banks 4 lanes of a row.
func newDPP(in *isa.Inst) *dppCtl {
	d := &dppCtl{rows: 15, bank: 15}
	if in.Form == isa.DPP8 {
		sel := in.Field(isa.FieldDpp8)
		for l := range d.from {
			d.from[l] = int8(l&^7 | int(sel>>(3*(l&7))&7))
		}
		d.eight, d.bound = true, true
		d.inactive = in.Flag(isa.FieldDppFI)
		return d
	}
	d.bound = in.Flag(isa.FieldDppBC)
	d.inactive = in.Flag(isa.FieldDppFI)
	d.rows, d.bank = uint8(in.Field(isa.FieldDppRowMask)), uint8(in.Field(isa.FieldDppBankMask))
	ctrl := int(in.Field(isa.FieldDppCtrl))
	cdna := in.Arch.CDNA()
	for l := range d.from {
		row, i := l&^15, l&15
		from := -1
		in16 := func(j int) {
			if j >= 0 && j < 16 {
				from = row | j
			}
		}
		n := ctrl & 15
		switch {
		case ctrl < 0x100:
			from = l&^3 | ctrl>>(2*(l&3))&3
		case ctrl > 0x100 && ctrl < 0x110: // row_shl: data moves to lower lanes
			in16(i + n)
		case ctrl > 0x110 && ctrl < 0x120:
			in16(i - n)
		case ctrl > 0x120 && ctrl < 0x130:
			in16((i - n) & 15)
		case ctrl == 0x130 && cdna: // wave_shl:1
			from = l + 1
			if from > 63 {
				from = -1
			}
		case ctrl == 0x134 && cdna: // wave_rol
			from = (l + 1) & 63
		case ctrl == 0x138 && cdna: // wave_shr
			from = l - 1
		case ctrl == 0x13c && cdna: // wave_ror
			from = (l - 1) & 63
		case ctrl == 0x140:
			in16(15 - i)
		case ctrl == 0x141:
			in16(i ^ 7)
		case ctrl == 0x142 && cdna: // row_bcast:15: the last lane of a row to the next row
			from = row - 1
		case ctrl == 0x143 && cdna: // row_bcast:31
			if l >= 32 {
				from = 31
			}
		case ctrl >= 0x150 && ctrl < 0x160: // row_share, row_newbcast
			in16(n)
		case ctrl >= 0x160 && ctrl < 0x170 && !cdna:
			in16(i ^ n)
		}
		d.from[l] = int8(from)
	}
	return d
}

// dpp gathers v into t, which may be v itself.
func (w *wave) dpp(d *dppCtl, t, v *vreg) {
	var r vreg
	for l := range w.n {
		j := int(d.from[l])
		if j < 0 || j >= w.n || !d.inactive && w.exec>>j&1 == 0 {
			continue
		}
		r[l] = v[j]
	}
	*t = r
}

// dppMask is the lanes that the instruction may write.
func (w *wave) dppMask(d *dppCtl) (m uint64) {
	for l := range w.n {
		if d.rows>>(l>>4)&1 == 0 || d.bank>>(l>>2&3)&1 == 0 {
			continue
		}
		if !d.bound {
			j := int(d.from[l])
			if j < 0 || j >= w.n || !d.inactive && w.exec>>j&1 == 0 {
				continue
			}
		}
		m |= 1 << l
	}
	return m
}
