// Package gpu says what a GPU is: target, generation, GC version, geometry and clocks.
//
// A die is one XCC. Engines are numbered across dies: engine e is engine e mod SEs of die e / SEs.
// A unit is the compute unit on GFX9 and the work-group processor (two compute units) from GFX11 on.
package gpu

// Family is a generation whose packets, tokens and counters are alike.
type Family uint8

// The families that rigprof serves.
const (
	Unknown Family = iota
	GFX9           // gfx90a, gfx942, gfx950
	GFX11          // gfx1100..1103, gfx1150..1152
	GFX12          // gfx1200, gfx1201
)

func (f Family) String() string {
	switch f {
	case GFX9:
		return "gfx9"
	case GFX11:
		return "gfx11"
	case GFX12:
		return "gfx12"
	}
	return "unknown"
}

// GPU is one device's shape. Counts per die, engine or array are those the part is built with; Live says which units work.
type GPU struct {
	Name   string // marketing name, "Radeon RX 7900 XTX"
	Target string // "gfx1100"
	GC     string // GC version of the device, "11.0.0"
	Family Family

	Dies  int // XCCs
	SEs   int // shader engines of a die
	SAs   int // shader arrays of an engine
	Units int // WGPs of an array (compute units on GFX9), built ones

	SIMDs int // SIMDs of a unit
	Slots int // wave slots of a SIMD

	LDSBytes   int   // per workgroup at most
	VGPRs      int   // per SIMD and lane, at wave32 (GFX11 on) or wave64 (GFX9)
	ClockHz    int64 // shader clock that times are modelled at
	RefClockHz int64 // the constant clock of realtime markers and timestamps
	L2Channels int   // GL2C or TCC instances of a die that the board has
	PCIDevice  uint32

	L0Bytes, L1Bytes   int   // vector cache of a CU; of an array (0: none)
	L2Bytes, MALLBytes int   // of a die; of the device
	MemBytesPerSec     int64 // 0: not known

	Live [][]uint32 // Live[e][a]: mask of working units of array a of engine e; nil: all
}

// Engines is the number of shader engines of all dies.
func (g *GPU) Engines() int { return g.SEs * g.Dies }

// LiveUnits is Live, or every unit where Live is nil. The result is the caller's.
func (g *GPU) LiveUnits() [][]uint32 {
	live := make([][]uint32, g.Engines())
	for e := range live {
		live[e] = make([]uint32, g.SAs)
		for a := range live[e] {
			live[e][a] = uint32(uint64(1)<<g.Units - 1)
			if g.Live != nil {
				live[e][a] = g.Live[e][a]
			}
		}
	}
	return live
}
