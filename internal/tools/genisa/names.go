package main

// formatName maps the tables' encodings to the package's formats.
var formatName = map[string]string{
	"VOP3PX2": "VOP3PX", "VFLAT": "FLAT", "VGLOBAL": "GLOBAL", "VSCRATCH": "SCRATCH", "VBUFFER": "MUBUF", "VIMAGE": "MIMG",
	"VSAMPLE": "MIMG", "VDSDIR": "LDSDIR", "VEXPORT": "EXP",
}

// fieldName maps the tables' fields to the package's.
var fieldName = map[string]string{
	"a16": "A16", "abid": "Abid", "abs": "Abs", "acc": "Acc", "acc_cd": "AccCD", "addr": "Vaddr", "attr": "Attr",
	"attr_chan": "AttrChan", "bank_mask": "DppBankMask", "bc": "DppBC", "blgp": "Blgp", "cbsz": "Cbsz", "clmp": "Clamp",
	"d16": "D16", "data": "Data", "data0": "Data", "data1": "Data1", "dfmt": "Dfmt", "dim": "Dim", "dlc": "DLC",
	"dmask": "Dmask", "done": "Done", "dpp": "DppCtrl", "dst_sel": "DstSel", "dst_unused": "DstUnused", "en": "En",
	"fi": "DppFI", "format": "Format", "gds": "Gds", "glc": "GLC", "idxen": "Idxen", "imm": "Imm", "ioffset": "Offset",
	"lane_sel_0": "Dpp8", "lds": "Lds", "lwe": "Lwe", "neg": "Neg", "neg_hi": "NegHi", "nfmt": "Nfmt", "nt": "NT", "nv": "NV", "scale_offset": "ScaleOffset",
	"offen": "Offen", "offset": "Offset", "offset0": "Offset0", "offset1": "Offset1", "omod": "Omod", "opsel": "OpSel",
	"opsel_hi": "OpSelHi", "opsel_hi2": "OpSelHi2", "opx": "OpX", "opy": "OpY", "r128": "R128", "row": "Row",
	"row_mask": "DppRowMask", "rsrc": "Rsrc", "s0": "S0", "s1": "S1", "saddr": "Saddr", "samp": "Samp", "sbase": "Sbase",
	"sc0": "SC0", "sc1": "SC1", "scale_src0": "ScaleSrc0", "scale_src1": "ScaleSrc1", "scope": "Scope", "sd": "SD",
	"sdata": "Sdata", "sdst": "Sdst", "simm16": "Simm16", "slc": "SLC", "soffset": "Soffset", "soffset_en": "SoffsetEn",
	"src0": "Src0", "src0_abs": "Src0Abs", "src0_neg": "Src0Neg", "src0_sel": "Src0Sel", "src0_sext": "Src0Sext",
	"src1": "Src1", "src1_abs": "Src1Abs", "src1_neg": "Src1Neg", "src1_sel": "Src1Sel", "src1_sext": "Src1Sext",
	"src2": "Src2", "srcx0": "SrcX0", "srcy0": "SrcY0", "srsrc": "Rsrc", "ssamp": "Samp", "ssrc0": "Ssrc0", "ssrc1": "Ssrc1",
	"sve": "Sve", "target": "Target", "tfe": "Tfe", "th": "TH", "unrm": "Unorm", "da": "DA", "vaddr": "Vaddr", "vaddr0": "Vaddr",
	"vaddr1": "Vaddr1", "vaddr2": "Vaddr2", "vaddr3": "Vaddr3", "vaddr4": "Vaddr4", "vdata": "Vdata", "vdst": "Vdst",
	"vdstx": "VdstX", "vdsty": "VdstY", "vsrc0": "Src0", "vsrc1": "Src1", "vsrc": "Data", "vsrcx1": "SrcX1",
	"vsrcy1": "SrcY1", "wait_va_vdst": "WaitVdst", "wait_vdst": "WaitVdst", "wait_vm_vsrc": "WaitVmVsrc", "waitexp": "WaitExp",
	"tgt": "Target",
}

// expField holds EXP's data fields, whose names mean other things elsewhere.
var expField = map[string]string{"vsrc0": "Exp0", "vsrc1": "Exp1", "vsrc2": "Exp2", "vsrc3": "Exp3"}

// skipField lists fields that need no name: they only tell forms apart.
var skipField = map[string]bool{
	"dpp8_marker": true, "literal": true, "lane_sel_1": true, "lane_sel_2": true, "lane_sel_3": true, "lane_sel_4": true,
	"lane_sel_5": true, "lane_sel_6": true, "lane_sel_7": true,
}

var kindName = map[string]string{
	"VGPR": "KindVGPR", "VGPR_OR_ACCVGPR": "KindAV", "ACCVGPR": "KindAcc", "SREG": "KindSGPR", "SREG_NOVCC": "KindSGPR",
	"SDST": "KindSGPR", "SDST_NULL": "KindSGPR", "SREG_M0": "KindSGPR", "SREG_M0_INL": "KindSSrc", "SSRC": "KindSSrc",
	"SSRC_NOLIT": "KindSSrc", "SSRC_LANESEL": "KindSSrc", "SSRC_BARRIER_ID": "KindSSrc", "SREG_LITERAL": "KindSSrc", "SRC": "KindSrc",
	"SRC_NOLIT": "KindSrc", "SRC_SIMPLE": "KindSrc", "SRC_NOLDS": "KindSrc", "SRC_VGPR": "KindSrcV", "VGPR_OR_LDS": "KindSrcV",
	"SRC_VGPR_OR_INLINE": "KindSrcVI", "SRC_VGPR_OR_ACCVGPR": "KindSrcAV", "SRC_VGPR_OR_ACCVGPR_OR_CONST": "KindSrcAVI",
	"SRC_ACCVGPR": "KindSrcAcc", "SMEM_OFFSET": "KindSoff", "SMEM_OFFSET_NOK": "KindSoff",
}

var flagName = map[string]string{
	"atomic": "Atomic", "barrier": "Barrier", "branch": "Branch", "cache": "Cache", "call": "Call", "cond": "Cond",
	"crosslane": "Crosslane", "d16": "D16", "dot": "Dot", "dp": "DP", "dst_also_src": "DstAlsoSrc", "dual": "Dual",
	"endpgm": "End", "export": "Export", "flat": "Flat", "gds": "GDS", "hint": "Hint", "indirect": "Indirect", "lds": "LDS",
	"literal": "Literal", "load": "Load", "mfma": "MFMA", "msg": "Msg", "rtn": "Rtn", "rtn_opt": "RtnOpt",
	"scalar_mem": "ScalarMem", "smfmac": "SMFMAC", "store": "Store", "swmmac": "SWMMAC", "trans": "Trans", "w64": "W64",
	"wait": "Wait", "wmma": "WMMA", "writes_exec": "WritesExec", "writes_scc": "WritesSCC",
}

var formName = map[string]string{"dpp16": "DPP16", "dpp8": "DPP8", "sdwa": "SDWA", "x": "SlotX", "y": "SlotY"}
