package gpu

import (
	"math/bits"
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	for _, tc := range []struct {
		name, want             string
		dies, ses, sas, units  int
		live                   int
		lds, vgprs, l2, clockM int
	}{
		{"gfx1100", "Radeon RX 7900 XTX", 1, 6, 2, 4, 48, 65536, 1536, 24, 2500},
		{"gfx1201", "Radeon RX 9070 XT", 1, 4, 2, 4, 32, 65536, 1536, 32, 2970},
		{"gfx1200", "Radeon RX 9060 XT", 1, 2, 2, 4, 16, 65536, 1536, 16, 3130},
		{"gfx1151", "Radeon 8060S", 1, 2, 2, 5, 20, 65536, 1536, 8, 2900},
		{"gfx942", "Instinct MI300X", 8, 4, 1, 10, 304, 65536, 512, 16, 2100},
		{"gfx950", "Instinct MI355X", 8, 4, 1, 10, 256, 163840, 512, 16, 2400},
		{"gfx90a", "Instinct MI250X", 1, 8, 1, 14, 110, 65536, 512, 32, 1700},
		{"gfx942:sramecc+:xnack-", "Instinct MI300X", 8, 4, 1, 10, 304, 65536, 512, 16, 2100},
		{"rx-7900-xt", "Radeon RX 7900 XT", 1, 6, 2, 4, 42, 65536, 1536, 24, 2400},
		{"Radeon RX 9070", "Radeon RX 9070", 1, 4, 2, 4, 28, 65536, 1536, 32, 2520},
		{"MI210", "Instinct MI210", 1, 8, 1, 14, 104, 65536, 512, 32, 1700},
	} {
		g, err := Lookup(tc.name)
		if err != nil {
			t.Error(err)
			continue
		}
		n := 0
		for _, e := range g.Live {
			for _, a := range e {
				n += bits.OnesCount32(a)
			}
		}
		if g.Name != tc.want || g.Dies != tc.dies || g.SEs != tc.ses || g.SAs != tc.sas || g.Units != tc.units || n != tc.live ||
			g.LDSBytes != tc.lds || g.VGPRs != tc.vgprs || g.L2Channels != tc.l2 || g.ClockHz != int64(tc.clockM)*1e6 {
			t.Errorf("%s: %+v with %d live units, want %+v", tc.name, g, n, tc)
		}
		if g.Family == Unknown || g.RefClockHz != 100e6 || g.SIMDs != 4 || g.Slots == 0 || len(g.Live) != g.Engines() {
			t.Errorf("%s: %+v", tc.name, g)
		}
	}
	if _, err := Lookup("gfx1030"); err == nil || !strings.Contains(err.Error(), "gfx1100") {
		t.Errorf("gfx1030: %v", err)
	}
}

func TestModelsAreTheCallers(t *testing.T) {
	a, b := Models(), Models()
	if len(a) < 20 {
		t.Fatalf("%d models", len(a))
	}
	a[0].Live[0][0] = 0
	a[0].Name = ""
	if b[0].Live[0][0] == 0 || b[0].Name == "" || Models()[0].Live[0][0] == 0 {
		t.Error("a change shows elsewhere")
	}
}

func TestHarvestIsEven(t *testing.T) {
	mi300x, err := Lookup("mi300x")
	if err != nil {
		t.Fatal(err)
	}
	for d := range mi300x.Dies {
		n := 0
		for e := d * mi300x.SEs; e < (d+1)*mi300x.SEs; e++ {
			n += bits.OnesCount32(mi300x.Live[e][0])
		}
		if n != 38 {
			t.Errorf("die %d has %d CUs, want 38", d, n)
		}
	}
	if live := harvest(1, 1, 32, 0); live[0][0] != 0xffffffff {
		t.Errorf("32 units: %#x", live[0][0])
	}
}

func TestByPCI(t *testing.T) {
	for _, tc := range []struct {
		id   uint32
		rev  uint8
		want string
	}{
		{0x744c, 0xc8, "Radeon RX 7900 XTX"},
		{0x744c, 0xcc, "Radeon RX 7900 XT"},
		{0x744c, 0x01, "Radeon RX 7900 XTX"},
		{0x1586, 0xd4, "Radeon 8050S"},
		{0x75a3, 0, "Instinct MI355X"},
	} {
		if g, ok := ByPCI(tc.id, tc.rev); !ok || g.Name != tc.want {
			t.Errorf("%04x rev %02x: %v %v, want %s", tc.id, tc.rev, g, ok, tc.want)
		}
	}
	if _, ok := ByPCI(0x1234, 0); ok {
		t.Error("an unknown device is known")
	}
}

func TestFamilyOf(t *testing.T) {
	for target, want := range map[string]Family{
		"gfx90a:sramecc+:xnack-": GFX9, "gfx942": GFX9, "gfx950": GFX9, "gfx1103": GFX11, "gfx1150": GFX11, "gfx1201": GFX12,
		"gfx1030": Unknown, "gfx908": Unknown, "": Unknown, "gfx12": Unknown,
	} {
		if got := FamilyOf(target); got != want {
			t.Errorf("%q: %v, want %v", target, got, want)
		}
	}
}

func TestBadModels(t *testing.T) {
	head := strings.ReplaceAll(modelColumns, " ", "\t") + "\n"
	row := "N\tgfx1100\tyes\t11.0.0\t744c\tc8\t1\t6\t2\t4\t48\t4\t16\t1536\t65536\t32\t256\t6144\t24\t96\t2500\t960\t\n"
	if m, err := parseModels(head + row); err != nil || len(m) != 1 {
		t.Fatalf("a good row: %v", err)
	}
	for _, tc := range []struct{ from, to, want string }{
		{head, "name\n", "line 1: columns"},
		{"\tyes", "", "line 2: 22 cells, want 23"},
		{"gfx1100", "gfx1030", `target "gfx1030" is of no family`},
		{"744c", "x", "pci_id"},
		{"\t48\t", "\t49\t", "live: 49 of 48 units"},
		{"\t6\t2\t", "\t6\t0\t", "0 arrays"},
		{"1536", "-1", "vgprs"},
	} {
		_, err := parseModels(strings.Replace(head+row, tc.from, tc.to, 1))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q for %q: %v, want %q", tc.to, tc.from, err, tc.want)
		}
	}
}
