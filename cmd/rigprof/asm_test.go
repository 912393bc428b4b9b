package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/report"
)

// rigprof runs the program and returns its exit code, output and messages.
func rigprof(args ...string) (code int, out, messages string) {
	var o, e bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

const vaddFile = "../../testdata/kernels/gfx1100/vadd.co"

// patched is vadd.co with other words at the start of its kernel, in a file of its own.
func patched(t *testing.T, words ...uint32) string {
	t.Helper()
	data, err := os.ReadFile(vaddFile)
	if err != nil {
		t.Fatal(err)
	}
	obj, err := codeobj.Open(bytes.Clone(data))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, obj.Bytes(obj.Kernels[0].Entry)[:obj.Kernels[0].Size])
	for i, w := range words {
		binary.LittleEndian.PutUint32(data[at+4*i:], w)
	}
	file := filepath.Join(t.TempDir(), "patched.co")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestAsmRefused shows bytes that LLVM refuses as data: those that hardware runs (a GFX11 capture holds the first), and
// those that are nothing.
func TestAsmRefused(t *testing.T) {
	code, out, messages := rigprof("asm", patched(t, 0xd9e40000, 0x20403000, 0xbf436a6a, 0xbf800000))
	if code != 0 {
		t.Fatal(messages)
	}
	for _, want := range []string{
		"d9e40000 20403000           .long 0xd9e40000, 0x20403000  // runs as ds_add_rtn_f32 v32, v0, v48\n",
		"bf436a6a                    .long 0xbf436a6a  // no such opcode\n",
		"bf800000                    s_nop 0\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%.900s", want, out)
		}
	}
}

// bundle is a plain clang offload bundle of the given files, each for the target whose folder it is in.
func bundle(t *testing.T, files ...string) string {
	t.Helper()
	head, body := []byte("__CLANG_OFFLOAD_BUNDLE__"), []byte{}
	head = binary.LittleEndian.AppendUint64(head, uint64(len(files)))
	const start = 4096
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		id := "hipv4-amdgcn-amd-amdhsa--" + filepath.Base(filepath.Dir(f))
		if strings.HasSuffix(id, "gfx942") {
			id += ":sramecc+:xnack-" // as hipcc names it, whatever the object says
		}
		for _, v := range []int{start + len(body), len(data), len(id)} {
			head = binary.LittleEndian.AppendUint64(head, uint64(v))
		}
		head = append(head, id...)
		body = append(body, data...)
	}
	name := filepath.Join(t.TempDir(), "fat.bin")
	if err := os.WriteFile(name, append(append(head, make([]byte, start-len(head))...), body...), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestAsmFat disassembles a bundle with two objects for one target and one for another.
func TestAsmFat(t *testing.T) {
	const dir = "../../testdata/kernels/"
	file := bundle(t, dir+"gfx1100/vadd.co", dir+"gfx942/vadd.co", dir+"gfx1100/transpose.co")
	turned := bundle(t, dir+"gfx942/vadd.co", dir+"gfx1100/vadd.co")
	if _, _, messages := rigprof("asm", turned); messages != "rigprof: this is gfx942:sramecc+:xnack-; the file has code for gfx1100 too: --target chooses\n" {
		t.Error(messages)
	}
	for _, c := range []struct{ target, kernel, want, told string }{
		{"", "", "vadd 1, transpose_naive 2, transpose_lds 2", "this is gfx1100; the file has code for gfx942:sramecc+:xnack- too"},
		{"gfx1100", "", "vadd 1, transpose_naive 2, transpose_lds 2", ""},
		{"gfx1100", "transpose_lds", "transpose_lds 0", ""},
		{"gfx942", "", "vadd 0", ""},
	} {
		code, out, messages := rigprof("asm", "--format", "json", "--target", c.target, "--kernel", c.kernel, file)
		var a report.Asm
		if err := json.Unmarshal([]byte(out), &a); code != 0 || err != nil {
			t.Fatal(messages, err)
		}
		var got []string
		for _, f := range a.Functions {
			got = append(got, f.Name+" "+strconv.Itoa(f.Object))
		}
		if s := strings.Join(got, ", "); s != c.want || !strings.Contains(messages, c.told) || c.told == "" && messages != "" {
			t.Errorf("--target %q --kernel %q: got %s and %q, want %s and %q", c.target, c.kernel, s, messages, c.want, c.told)
		}
	}
	if code, _, messages := rigprof("asm", "--target", "gfx1201", file); code != exitData || !strings.Contains(messages, "there is gfx1100, gfx942") {
		t.Errorf("exit code %d: %s", code, messages)
	}
}

// TestAsmCut disassembles a file cut off anywhere: an error that names it, or what is there.
func TestAsmCut(t *testing.T) {
	data, err := os.ReadFile(vaddFile)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cut.co")
	for n := 0; n < len(data); n += 97 {
		if err := os.WriteFile(file, data[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if code, _, messages := rigprof("asm", file); code != 0 && (code != exitData || !strings.Contains(messages, "cut.co")) {
			t.Fatalf("%d bytes: exit code %d: %s", n, code, messages)
		}
	}
}

// objdumpLine is an instruction as llvm-objdump prints it.
var objdumpLine = regexp.MustCompile(`(?m)^\t(.*?)\s*// ([0-9A-F]{12}):`)

// TestAsmObjdump compares every instruction of the bundled kernels, for seven targets and a generic one, with llvm-objdump's text.
func TestAsmObjdump(t *testing.T) {
	objdump, err := exec.LookPath("llvm-objdump-22")
	if err != nil {
		t.Skip("no llvm-objdump-22")
	}
	files, err := filepath.Glob("../../testdata/kernels/gfx*/*.co")
	if err != nil || len(files) < 7 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "../../internal/codeobj/testdata/generic.co") {
		text, err := exec.Command(objdump, "-d", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := map[uint64]string{}
		for _, m := range objdumpLine.FindAllStringSubmatch(string(text), -1) {
			addr, err := strconv.ParseUint(m[2], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			want[addr] = m[1]
		}
		code, out, messages := rigprof("asm", "--format", "json", file)
		var a report.Asm
		if err := json.Unmarshal([]byte(out), &a); code != 0 || err != nil {
			t.Fatal(messages, err)
		}
		for _, f := range a.Functions {
			for _, in := range f.Insts {
				if in.Text != want[in.Addr] {
					t.Errorf("%s: %#x: got %q, want %q", file, in.Addr, in.Text, want[in.Addr])
				}
			}
		}
	}
}
