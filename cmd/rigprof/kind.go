package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/report"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// kind is what a file looks like by its beginning.
type kind struct {
	what  string // "gzip data"; empty: nothing that is known here
	try   string // what to do where a code object was wanted; may be empty
	trace bool
	sure  bool // so many bytes say so that no thread trace begins like that by chance
}

const (
	unpack  = "unpack it first"
	pull    = "fetch the file itself (git lfs pull)"
	compile = "compile and link it for the GPU first (clang --target=amdgcn-amd-amdhsa -mcpu=gfx1100, hipcc --offload-arch=gfx1100 --genco)"
)

// wrapped is what to do where the file that was wanted, whichever it is, may be behind this one; else nothing.
func (k kind) wrapped() string {
	if k.try == unpack || k.try == pull {
		return k.try
	}
	return ""
}

// magics are the beginnings of files that turn up beside code objects. Where several fit, the first counts.
var magics = []struct {
	begin string
	kind
}{
	{"\x1f\x8b\x08", kind{what: "gzip data", try: unpack, sure: true}},
	{"\x28\xb5\x2f\xfd", kind{what: "zstd data", try: unpack}},
	{"\xfd7zXZ\x00", kind{what: "xz data", try: unpack}},
	{"BZh", kind{what: "bzip2 data", try: unpack}},
	{"PK\x03\x04", kind{what: "a zip archive", try: unpack}},
	{"!<arch>\n", kind{what: "a static library", try: "take its members out (ar x), or give the linked program"}},
	{"BC\xc0\xde", kind{what: "LLVM bitcode", try: compile}},
	{"\x03\x02\x23\x07", kind{what: "SPIR-V", try: compile}},
	{"\x89PNG\r\n\x1a\n", kind{what: "a PNG image"}},
	{"\xff\xd8\xff", kind{what: "a JPEG image"}},
	{"%PDF-", kind{what: "a PDF document"}},
	{"SQLite format 3\x00", kind{what: "an SQLite database"}},
	{"MZ", kind{what: "a Windows program", try: "its code objects cannot be taken out here: give them as files (.co, .hsaco)"}},
	{"\xcf\xfa\xed\xfe", kind{what: "a macOS program"}},
	{"\x00asm", kind{what: "WebAssembly"}},
	{"version https://git-lfs", kind{what: "a Git LFS pointer", try: pull}},
}

// elfMachines names e_machine where the code is for a processor that people run programs on.
var elfMachines = map[uint16]string{3: "x86", 21: "POWER", 40: "Arm", 62: "x86-64", 183: "AArch64", 243: "RISC-V"}

// kindOf looks at the beginning of a file.
func kindOf(data []byte) kind {
	if len(data) == 0 {
		return kind{what: "empty", try: "was it written?"}
	}
	if capture.IsCapture(data) {
		return kind{what: "a rigprof capture", try: "it holds the code objects that ran: give hotspots, annotate, waves and export the capture alone"}
	}
	for _, m := range magics {
		if bytes.HasPrefix(data, []byte(m.begin)) {
			m.sure = m.sure || len(m.begin) >= 4
			return m.kind
		}
	}
	const ident = "\x7fELF"
	if bytes.HasPrefix(data, []byte(ident)) && len(data) < 64 || strings.HasPrefix(ident, string(data[:min(len(data), 8)])) {
		return kind{what: fmt.Sprintf("the first %d bytes of an ELF file", len(data)), try: "take a whole copy of it"}
	}
	if bytes.HasPrefix(data, []byte(ident)) {
		if m := elfMachines[binary.LittleEndian.Uint16(data[18:])]; m != "" && data[5] == 1 {
			return kind{what: "a program, library or object file for " + m + " without code for a GPU (no section .hip_fatbin)", try: "was it built for a GPU (hipcc --offload-arch=…), or is the code in a library beside it?"}
		}
		return kind{what: "an ELF file of another machine"}
	}
	if bytes.HasPrefix(data[min(257, len(data)):], []byte("ustar")) {
		return kind{what: "a tar archive", try: unpack}
	}
	if s := firstLine(data); s != "" {
		k := kind{what: fmt.Sprintf("text that begins %q", s)}
		if looksCompiled(data) {
			k.try = compile
		}
		return k
	}
	if f := sqtt.FamilyOf(data[:min(len(data), 64)]); f != gpu.Unknown {
		return kind{what: "a thread trace of " + f.String(), trace: true, try: "traces go before --code, as arguments of their own"}
	}
	return kind{}
}

// firstLine is the first line of text that is not blank, cut short; nothing if the data is no text.
func firstLine(data []byte) string {
	const look, show = 512, 40
	head := data[:min(len(data), look)]
	for end := len(head); end >= 64 && len(head) > end-utf8.UTFMax && !utf8.Valid(head); { // a character may be cut where a file's beginning was
		head = head[:len(head)-1]
	}
	if !utf8.Valid(head) || bytes.ContainsFunc(head, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }) {
		return ""
	}
	s := strings.TrimSpace(string(head))
	s, _, _ = strings.Cut(s, "\n")
	if r := []rune(strings.TrimSpace(s)); len(r) > show {
		s = string(r[:show]) + "…"
	}
	return s
}

// looksCompiled tells whether text may be source of a GPU's code.
func looksCompiled(data []byte) bool {
	head := data[:min(len(data), 1<<16)]
	for _, word := range []string{"__kernel", "__global__", "kernel void", ".amdgcn_target", "#include", "target triple"} {
		if bytes.Contains(head, []byte(word)) {
			return true
		}
	}
	return false
}

// describe says what a file is; of an unknown one, its first bytes.
func (k kind) describe(data []byte) string {
	if k.what == "" {
		return fmt.Sprintf("of no kind that rigprof knows (it begins % x)", data[:min(len(data), 8)])
	}
	return k.what
}

// folder is err, or, where name turned out to be a folder, an error that says what to name instead.
func folder(name, instead string, err error) error {
	if errors.Is(err, syscall.EISDIR) {
		return fmt.Errorf("%s is a folder: name %s", name, instead)
	}
	return err
}

// What to name instead of a folder.
const (
	aTrace   = "the trace files in it (*.sqtt, *.att), or a capture"
	aCapture = "a capture in it (*.rigprof)"
)

// codeFile reads a file that is to hold code objects; - is standard input.
func (e *env) codeFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(e.In)
	}
	data, err := os.ReadFile(name)
	return data, folder(name, theCode, err)
}

// codeFileError is err of reading a file's code objects, with the file's name. Of a file that is none it tells what it is.
func codeFileError(name string, data []byte, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s ends early, at %d bytes: take a whole copy of it (%w)", name, len(data), err)
	}
	if !errors.Is(err, codeobj.ErrNotCodeObject) {
		return fmt.Errorf("%s: %w", name, err)
	}
	k := kindOf(data)
	try := k.try
	if try == "" {
		try = "want a code object (.co, .hsaco), an offload bundle, or a host program with one inside"
	}
	return fmt.Errorf("%s is not an AMDGPU code object but %s; %s", name, k.describe(data), try)
}

// captureError is err of opening a capture, with the file's name. Of a file that is none it tells what it is, and who reads that.
func captureError(name string, head []byte, err error) error {
	if !errors.Is(err, capture.ErrNotCapture) {
		return fmt.Errorf("%s: %w", name, err)
	}
	k, try := kindOf(head), ""
	switch {
	case capture.IsCapture(head):
		return fmt.Errorf("%s has no more than the first %d bytes of a rigprof capture: take a whole copy of it", name, len(head))
	case k.wrapped() != "":
		try = "; " + k.try
	case k.trace:
		try = "; 'rigprof decode' reads it, and hotspots, annotate, waves and export do"
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		k = kind{what: "an ELF file"}
		try = "; if it is a code object, 'rigprof trace' records its kernels"
	}
	return fmt.Errorf("%s is not a rigprof capture but %s%s", name, k.describe(head), try)
}

// whichCode tells which of the --code files cannot be read, where that is why err came; else it is err.
func whichCode(code []report.CodeFile, err error) error {
	if _, ok := errors.AsType[*codeobj.FormatError](err); !ok {
		return err
	}
	for _, c := range code {
		if _, cerr := codeobj.Objects(c.Data); cerr != nil {
			return codeFileError(c.Name, c.Data, cerr)
		}
	}
	return err
}
