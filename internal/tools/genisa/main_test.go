package main

import (
	"testing"

	"github.com/rigprof/rigprof/internal/tools/gentest"
)

const tables = "../../isa/tables"

func TestGenerated(t *testing.T) {
	gentest.Committed(t, generate, tables, "../../isa/tables_gen.go")
}

// TestRefused changes one cell of a table at a time to something that makes no sense.
func TestRefused(t *testing.T) {
	gentest.Refused(t, generate, tables, []gentest.BadRow{
		{File: "formats.tsv", From: "offset0:0:8:uimm8", To: "offset0:0:8", Want: "field"},
		{File: "formats.tsv", From: "offset0:0:8:uimm8", To: "offzet0:0:8:uimm8", Want: "offzet0"},
		{File: "formats.tsv", From: "0xfc000000", To: "0xfcz", Want: "mask"},
		{File: "cdna.tsv", From: "ds_add_u32\tDS\t0\t", To: "ds_add_u32\tDS\tzero\t", Want: "zero"},
		{File: "cdna.tsv", From: "ds_add_u32\tDS\t0\t", To: "ds_add_u32\tDS\t1\t", Want: "taken"},
		{File: "cdna.tsv", From: "addr:in:32:VGPR:B32", To: "addr:sideways:32:VGPR:B32", Want: "sideways"},
		{File: "cdna.tsv", From: "addr:in:32:VGPR:B32", To: "addr:in:32:VGPR", Want: "operand"},
		{File: "cdna.tsv", From: "atomic,lds,load,store", To: "atomic,lds,load,sore", Want: "sore"},
		{File: "rdna3.tsv", From: "neg:7,clamp", To: "neg:99,clamp", Want: "neg:99"},
		{File: "rdna3.tsv", From: "neg:7,clamp", To: "nag:7,clamp", Want: "nag:7"},
		{File: "rdna4.tsv", From: "EXEC", To: "EXECUTE", Want: "EXECUTE"},
		{File: "trace_gfx9.tsv", From: "\tINST\t", To: "\tINSTANT\t", Want: "INSTANT"},
	})
}
