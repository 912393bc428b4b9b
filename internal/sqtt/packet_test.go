package sqtt

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// list is a stream's tokens but NOPs: bit, kind, time and the fields that are not 0.
func list(f gpu.Family, buf []byte) (out []string) {
	for p := range Packets(f, buf) {
		if p.Kind == KindNop {
			continue
		}
		s := fmt.Sprintf("%d %v %d", p.Off, p.Kind, p.Time)
		for _, fd := range p.AppendFields(nil) {
			if fd.Value != 0 {
				s += fmt.Sprintf(" %s=%#x", fd.Name, fd.Value)
			}
			if p.Field(fd.Name) != fd.Value {
				s += " Field differs"
			}
		}
		out = append(out, s)
	}
	return out
}

func TestPackets(t *testing.T) {
	tests := []struct {
		name   string
		family gpu.Family
		hex    string
		want   []string
	}{
		{"gfx11 start", gpu.GFX11, "91 01 90 68 00 00 00 00 d1 26 00 09 02 00 c2 00 00 01 40 00 00", []string{
			"0 HEADER 0 version=0x3 nsa=0x1 nwgp=0x4 ucf=0x1 dprate=0x6",
			"64 MISC 77 delta=0x4d",
			"88 REG 77 me=0x1 addr=0xc200 data=0x40010000",
		}},
		{"gfx11 waves and instructions", gpu.GFX11, "ac ac 80 de d1 28 00 31 28 91 2a 00 00 02 20 00 12 00 00 7e", []string{
			"0 WAVE_START 1 delta=0x1 sa=0x1 wgp=0x3 wave=0x5 me=0x1 count=0x6f",
			"32 MISC 82 delta=0x51",
			"56 UTIL_COUNTER 82 value=0x154894",
			"104 INST 82 op=0x1",
			"128 INST 83 delta=0x1",
			"152 ALU_EXEC 86 delta=0x3 src=0x1",
		}},
		{"gfx11 marker", gpu.GFX11, "01 30 2b 00 00 00 51 00 02 01 72 fa 02 80 34 d1 03 02", []string{
			"0 TIMESTAMP 691 value=0x2b3", "48 MISC 691 flags=0x2", "72 TIMESTAMP 691 rt=0x1 value=0x348002fa7", "120 MISC 698 delta=0x7 flags=0x2",
		}},
		{"gfx11 new pc", gpu.GFX11, "78 21 00 7f 19 40 00 00 08", []string{"0 TIME 11 delta=0x7", "8 NEW_PC 11 pc=0x8000040197f"}},
		{"gfx12 start", gpu.GFX11, "11 02 70 68 08 10 13 09 01 80 40 00 00 00 00 00 09 82 1e 00 01 00 00 00", []string{
			"0 HEADER 0 version=0x4 nsa=0x1 nwgp=0x3 ucf=0x1 dprate=0x6 dp_derate=0x4 exclude_barrier_wait=0x1",
			"64 TIMESTAMP 1032 value=0x408",
			"128 REG 1032 me=0x1 cs=0x1 addr=0x1e data=0x1",
		}},
		{"gfx12 new pc and wave end", gpu.GFX12, "11 02 70 68 08 10 13 09 6e 21 07 c1 19 40 00 00 08 00 15 04 02", []string{
			"0 HEADER 0 version=0x4 nsa=0x1 nwgp=0x3 ucf=0x1 dprate=0x6 dp_derate=0x4 exclude_barrier_wait=0x1",
			"64 ALU_EXEC 2 delta=0x2 src=0x1", "72 NEW_PC 9 delta=0x7 pc=0x800004019c1", "144 WAVE_END 9 simd=0x2 wave=0x4",
		}},
		{"gfx12 extension units", gpu.GFX12, "11 02 70 68 08 10 13 09 1c 00 00 c0 00 00 f1 03 15 04 02", []string{
			"0 HEADER 0 version=0x4 nsa=0x1 nwgp=0x3 ucf=0x1 dprate=0x6 dp_derate=0x4 exclude_barrier_wait=0x1",
			"64 WAVE_START_EXT 0 count=0x60", "112 EXTENSION 0", "120 EXTENSION 0", "128 EXTENSION 0",
		}},
		{"unknown bits", gpu.GFX11, "41 00", []string{"0 UNKNOWN 0"}},
		{"gfx9 start", gpu.GFX9, "11 80 0f 00 00 00 00 00 f0 2f 00 60 00 00 01 00 53 7d f8 ad 45 02 00 00 10 00 f0 2f 85 fe 07 00 00 00 00 00 01 00 b4 7f f8 ad 45 02", []string{
			"64 MISC 1020 delta=0xff type=0x1", "80 MISC 1016 type=0x3", "96 MISC 1016", "112 TIME 1016 timestamp=0x245adf87d53",
			"176 MISC 1016", "192 MISC 1020 delta=0x1", "208 MISC 2040 delta=0xff type=0x1", "224 REG_CS 1624 me_raw=0x1 addr=0x7f data=0x7", "272 MISC 1624", "288 TIME 1624 timestamp=0x245adf87fb4",
		}},
		{"gfx9 waves and instructions", gpu.GFX9, "53 80 00 04 70 00 0d 02 00 00 0a 90 d6 c0", []string{
			"0 WAVE_START 4 delta=0x1 cu=0x1 simd=0x2 count=0x10", "32 MISC 32 delta=0x7", "48 ISSUE 32 state0=0x2", "80 INST 32 type=0x12", "96 WAVE_END 36 delta=0x1 cu=0x3 simd=0x3",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := list(tt.family, unhex(t, tt.hex))
			if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestTablesAreGenerated(t *testing.T) {
	out := filepath.Join(t.TempDir(), "tokens_gen.go")
	cmd := exec.Command("go", "run", "../tools/gentokens", "-tokens", "tables/tokens.tsv", "-fields", "tables/fields.tsv", "-ops", "tables/ops.tsv", "-out", out)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("tokens_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("tokens_gen.go is not what go generate makes of the tables")
	}
}

func TestSoftwareHeader(t *testing.T) {
	header, reset := "11 80 0f 00 00 00 00 00", "f0 2f"
	tests := []struct {
		name, hex string
		ok        bool
	}{
		{"as captured", header + reset, true},
		{"legacy version 0, MI300", "00 a0 0f 0c 00 00 00 00" + reset, true},
		{"no TIME_RESET behind it", header + "00 00", false},
		{"reserved bits", "11 80 0f 00 02 00 00 00" + reset, false},
		{"version 3", "11 60 0f 00 00 00 00 00" + reset, false},
		{"alone", header, false},
	}
	for _, tt := range tests {
		buf := unhex(t, tt.hex)
		h, ok := ReadSoftwareHeader(buf)
		if ok != tt.ok {
			t.Errorf("%s: %v", tt.name, ok)
		}
		if ok && (h.SIMDs != 15 || h.Engine != int(buf[3]>>2) || h.Version < 4) {
			t.Errorf("%s: %+v", tt.name, h)
		}
		for _, c := range []struct {
			h    Header
			want int
		}{{HeaderYes, 8}, {HeaderNo, 0}, {HeaderAuto, map[bool]int{true: 8}[tt.ok]}} {
			if r := DecodeWavesWith(gpu.GFX9, c.h, buf); r.Header != c.want {
				t.Errorf("%s: choice %d leaves %d bytes out, want %d", tt.name, c.h, r.Header, c.want)
			}
		}
	}
}

func TestFamilyOf(t *testing.T) {
	for _, tt := range []struct {
		hex  string
		want gpu.Family
	}{
		{"91 01 90 68 00 00 00 00", gpu.GFX11},
		{"11 02 70 68 08 10 13 09", gpu.GFX12},
		{"91 02 70 68 08 10 13 09", gpu.GFX11}, // layout 5
		{"11 80 0f 00 00 00 00 00", gpu.Unknown},
		{"f0 2f 00 60 00 00 01 00", gpu.Unknown},
		{"91", gpu.Unknown},
	} {
		if got := FamilyOf(unhex(t, tt.hex)); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.hex, got, tt.want)
		}
	}
}
