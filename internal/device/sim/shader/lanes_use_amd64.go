//go:build !purego

package shader

// useAVX puts the assembly in the place of the plain loops.
func useAVX() {
	for name, k := range map[string]func(d, a, b *lanes){
		"v_add_f32": avxAddF32, "v_sub_f32": avxSubF32, "v_mul_f32": avxMulF32,
		"v_add_nc_u32": avxAdd, "v_add_nc_i32": avxAdd, "v_sub_nc_u32": avxSub, "v_sub_nc_i32": avxSub,
		"v_add_u32": avxAdd, "v_add_i32": avxAdd, "v_sub_u32": avxSub, "v_sub_i32": avxSub,
		"v_and_b32": avxAnd, "v_or_b32": avxOr, "v_xor_b32": avxXor, "v_mul_lo_u32": avxMul,
		"v_min_u32": avxMinU, "v_max_u32": avxMaxU, "v_min_i32": avxMinI, "v_max_i32": avxMaxI,
		"v_lshlrev_b32": avxShl, "v_lshrrev_b32": avxShr, "v_ashrrev_i32": avxSar, "v_mul_u32_u24": avxMulU24,
	} {
		d := *vdefs[name]
		d.k2 = k
		vdefs[name] = &d
	}
	for name, swapped := range map[string]func(d, a, b *lanes){
		"v_subrev_f32": avxSubF32, "v_subrev_nc_u32": avxSub, "v_subrev_u32": avxSub,
	} {
		d := *vdefs[name]
		d.k2 = func(d, a, b *lanes) { swapped(d, b, a) }
		vdefs[name] = &d
	}
	for name, k := range map[string]func(d, a, b, c *lanes){
		"v_fma_f32": avxFmaF32, "v_fmac_f32": avxFmaF32, "v_fmaak_f32": avxFmaF32, "v_fmamk_f32": avxFmaF32, "v_pk_fma_f32": avxFmaF32,
		"v_add3_u32": avxAdd3, "v_and_or_b32": avxAndOr, "v_or3_b32": avxOr3, "v_xor3_b32": avxXor3, "v_xad_u32": avxXad,
		"v_mad_u32_u24": avxMadU24, "v_lshl_add_u32": avxShlAdd, "v_lshl_or_b32": avxShlOr, "v_add_lshl_u32": avxAddShl, "v_bfe_u32": avxBfeU,
	} {
		d := *vdefs[name]
		d.k3 = k
		vdefs[name] = &d
	}
	for name, k := range map[string]func(d, a, b *lanes){"v_pk_mul_f32": avxMulF32, "v_pk_add_f32": avxAddF32} {
		d := *vdefs[name]
		d.k2 = k
		vdefs[name] = &d
	}
	for name, k := range map[string]func(d, a *lanes){"v_rsq_f32": avxRsqF32, "v_rcp_f32": avxRcpF32, "v_rcp_iflag_f32": avxRcpF32} {
		d := *vdefs[name]
		d.k1 = k
		vdefs[name] = &d
	}
	relations["u32"] = relation{avxLtU32, avxEqU32}
	relations["i32"] = relation{avxLtI32, avxEqU32}
	relations["f32"] = relation{avxLtF32, avxEqF32}
}
