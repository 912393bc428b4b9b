package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stripped is vadd.co without its symbols, in a file of its own.
func stripped(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(vaddFile)
	if err != nil {
		t.Fatal(err)
	}
	at := binary.LittleEndian.Uint64(data[40:])
	for i := range uint64(binary.LittleEndian.Uint16(data[60:])) { // section headers
		typ := data[at+64*i+4:]
		if n := elf.SectionType(binary.LittleEndian.Uint32(typ)); n == elf.SHT_SYMTAB || n == elf.SHT_DYNSYM {
			binary.LittleEndian.PutUint32(typ, uint32(elf.SHT_NULL))
		}
	}
	file := filepath.Join(t.TempDir(), "stripped.co")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestListStripped checks that a kernel without a symbol has a row in every format: what the metadata tells, and nothing where only its descriptor would.
func TestListStripped(t *testing.T) {
	file := stripped(t)
	list := func(file, format string) string {
		t.Helper()
		code, out, messages := rigprof("list", "kernels", "--format", format, file)
		if code != 0 {
			t.Fatal(messages)
		}
		return out
	}
	rows := func(file string) map[string]string {
		t.Helper()
		all, err := csv.NewReader(strings.NewReader(list(file, "csv"))).ReadAll()
		if err != nil || len(all) != 2 {
			t.Fatalf("%q, %v", all, err)
		}
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = all[1][i]
		}
		return row
	}
	whole, got := rows(vaddFile), rows(file)
	for name, want := range whole {
		switch name {
		case "vgprs_allocated":
			want = ""
		case "stripped":
			if want != "no" {
				t.Errorf("the whole file's kernel: stripped %q", want)
			}
			want = "yes"
		}
		if got[name] != want {
			t.Errorf("csv: %s is %q, want %q", name, got[name], want)
		}
	}
	type kernel struct {
		Kernel      string
		Args        []struct{ Name string }
		Wave, VGPRs *int
		Stripped    bool
	}
	doc := func(file string) (d struct {
		Kernels  []kernel
		Unplaced []string
	},
	) {
		if err := json.Unmarshal([]byte(list(file, "json")), &d); err != nil || len(d.Kernels) != 1 {
			t.Fatalf("%+v, %v", d, err)
		}
		return d
	}
	a, b := doc(vaddFile), doc(file)
	if k := a.Kernels[0]; k.Stripped || k.Wave == nil || k.VGPRs == nil || len(a.Unplaced) != 0 {
		t.Errorf("json: %+v", a)
	}
	if k := b.Kernels[0]; k.Kernel != "vadd" || !k.Stripped || k.Wave == nil || *k.Wave != 32 || k.VGPRs != nil || !slices.Equal(k.Args, a.Kernels[0].Args) || !slices.Equal(b.Unplaced, []string{"vadd"}) {
		t.Errorf("json: %+v", b)
	}
	if table := list(file, "table"); !strings.Contains(table, "n/a") || !strings.Contains(table, `gfx1100, kernel vadd: no symbol "vadd.kd" in the file`) {
		t.Errorf("table:\n%s", table)
	}
}

// Without metadata nothing tells how many scalar registers a kernel uses: no number, and not 0.
func TestListWithoutMetadata(t *testing.T) {
	data, err := os.ReadFile(vaddFile)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte("AMDGPU\x00\x00")) // the note's owner
	if at < 0 {
		t.Fatal("no note")
	}
	data[at] = 'X'
	file := filepath.Join(t.TempDir(), "bare.co")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, messages := rigprof("list", "kernels", "--format", "json", file)
	if code != 0 || !strings.Contains(out, `"sgprs": null`) && !strings.Contains(out, `"sgprs":null`) {
		t.Errorf("exit code %d, %s%s", code, out, messages)
	}
	code, out, messages = rigprof("asm", file)
	if code != 0 || strings.Contains(out, "used:") || !strings.Contains(out, "# allocated: VGPRs ") {
		t.Errorf("exit code %d, %s%s", code, out, messages)
	}
}
