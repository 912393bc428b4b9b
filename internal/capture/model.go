package capture

// Meta says how a capture came to be.
type Meta struct {
	Tool      string   `json:"tool"`    // "rigprof trace"
	Version   string   `json:"version"` // rigprof's
	CreatedNs int64    `json:"created_ns"`
	Command   []string `json:"command,omitempty"`
	Host      Host     `json:"host"`
}

// Host is the machine that recorded.
type Host struct {
	OS     string `json:"os"`
	Kernel string `json:"kernel,omitempty"`
	CPUs   int    `json:"cpus"`
}

// Device is the GPU that ran the work. Counts are per die, engine, array, unit, SIMD in turn.
type Device struct {
	Name      string `json:"name"`
	Target    string `json:"target"`
	GC        string `json:"gc"`
	Family    string `json:"family"`
	Simulated bool   `json:"simulated"`

	Dies  int        `json:"dies"`
	SEs   int        `json:"engines"`
	SAs   int        `json:"arrays"`
	Units int        `json:"units"` // CUs on gfx9, WGPs from gfx11
	SIMDs int        `json:"simds"`
	Slots int        `json:"slots"`
	Live  [][]uint32 `json:"live,omitempty"` // [engine][array] mask of working units

	ClockHz     int64  `json:"clock_hz"`
	RefClockHz  int64  `json:"ref_clock_hz"`
	StablePower *bool  `json:"stable_power"` // nil: unknown
	Driver      string `json:"driver,omitempty"`
}

// Object is a code object and where it was loaded.
type Object struct {
	Name   string `json:"name"` // as the user named it
	Target string `json:"target"`
	Base   uint64 `json:"base"` // runtime address = Base + virtual address
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`

	Bytes Blob `json:"-"`
}

// Dispatch is one launch of a kernel.
type Dispatch struct {
	Launch  int       `json:"launch"` // which launch of the program this is: passes repeat it
	Run     int       `json:"run"`    // pass of a recording that needs several
	Kernel  string    `json:"kernel"`
	Object  int       `json:"object"` // index into Objects; -1: unknown
	Entry   uint64    `json:"entry"`  // runtime address of the kernel's first instruction
	Grid    [3]uint32 `json:"grid"`   // work items
	Groups  [3]uint32 `json:"groups"`
	Block   [3]uint32 `json:"block"`
	Wave    int       `json:"wave"` // lanes of a wave
	Waves   int64     `json:"waves_launched"`
	VGPRs   int       `json:"vgprs"`
	AGPRs   int       `json:"agprs"`
	SGPRs   int       `json:"sgprs"`
	LDS     int64     `json:"lds"`     // bytes per workgroup
	Scratch int64     `json:"scratch"` // bytes per lane

	// From the device's timestamps, host clock; nil where it could not be timed, with Untimed saying why.
	StartNs *int64 `json:"start_ns"`
	EndNs   *int64 `json:"end_ns"`
	Untimed string `json:"untimed,omitempty"`

	PlainNs *int64 `json:"plain_ns,omitempty"` // how long the same launch took without recording, where that was measured

	Checks []Check `json:"checks,omitempty"`
	Fault  string  `json:"fault,omitempty"` // what ended it early
}

// Check is what a launch file said about one buffer after the launch.
type Check struct {
	Buffer string `json:"buffer"`
	OK     bool   `json:"ok"`
	Text   string `json:"text,omitempty"` // the difference
}

// Trace is the bytes that one engine wrote during one dispatch.
type Trace struct {
	Dispatch int    `json:"dispatch"` // index into Dispatches; -1: none
	Engine   int    `json:"engine"`   // across dies; -1: unknown
	File     string `json:"file,omitempty"`
	Family   string `json:"family"`
	Buffer   int64  `json:"buffer"` // bytes the engine might write
	Length   int64  `json:"length"`
	Full     bool   `json:"full"`
	Dropped  int64  `json:"dropped,omitempty"` // what the hardware counted as lost: bytes on gfx9, its own unit from gfx11 on
	Error    string `json:"error,omitempty"`   // why the length cannot be trusted

	// Where instructions were traced; nil: nowhere.
	Detail *Detail `json:"detail"`

	Tokens    []string `json:"tokens,omitempty"`     // classes that were traced; none: the default ones
	WaveTypes []string `json:"wave_types,omitempty"` // stages whose waves were traced; none: all
	Counters  []string `json:"counters,omitempty"`   // gfx9: SQ counters sampled into it, in the order of the samples

	Bytes Blob `json:"-"`
}

// Detail names the unit whose instructions a trace holds.
type Detail struct {
	Array int    `json:"array"`
	Unit  int    `json:"unit"`
	SIMD  int    `json:"simd"`            // -1: several
	SIMDs uint32 `json:"simds,omitempty"` // mask of them; 0: every one
	Alive bool   `json:"alive"`           // false: harvested, so nothing runs there
}

// Has tells whether the instructions of a SIMD of the unit are in the trace.
func (d *Detail) Has(simd int) bool {
	if d.SIMD >= 0 {
		return simd == d.SIMD
	}
	return d.SIMDs == 0 || d.SIMDs>>simd&1 != 0
}

// Counters is one run's counter values: 64-bit little-endian words laid out as Layout says.
type Counters struct {
	Dispatch   int       `json:"dispatch"`
	Asked      []string  `json:"asked"`           // what the user wanted: counters and metrics, of all passes together
	Names      []string  `json:"names"`           // the counters of this pass, in the layout's order
	Added      []string  `json:"added,omitempty"` // those of them that nobody asked for: they check the others
	Layout     []Counter `json:"layout"`
	Filtered   bool      `json:"filtered"`   // only this process's waves counted
	Unverified bool      `json:"unverified"` // the user wants counters whose event numbers are not verified
	Size       int64     `json:"size"`

	Bytes Blob `json:"-"`
}

// Counter is a counter's place in a run's samples. The values stand die by die, then by instance, engine, array and WGP, the
// last varying fastest. Instances, engines, arrays and WGPs are per die, engine and array in turn; 1 where a block has none.
type Counter struct {
	Name      string `json:"name"`
	Block     string `json:"block"`
	Event     int    `json:"event"`
	Register  int    `json:"register"`
	Instances int    `json:"instances"`
	Engines   int    `json:"engines"`
	Arrays    int    `json:"arrays"`
	WGPs      int    `json:"wgps"`
	Offset    int    `json:"offset"` // bytes

	Unmeasured string `json:"unmeasured,omitempty"` // why the device could not count it
}

// Note levels.
const (
	Info    = "info"    // good to know
	Warning = "warning" // the data is less than was asked for
	Loss    = "loss"    // data is missing
)

// Note is a remark on a capture's quality that its data does not tell by itself.
type Note struct {
	Level  string `json:"level"`
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"` // the flag to change, what to try
}

// Event is an entry of the timeline. Times are ns of the host clock.
type Event struct {
	Kind    string `json:"kind"` // work, span, allocation, load, trace, counters, unmeasured, copy
	Device  string `json:"device,omitempty"`
	Lane    string `json:"lane,omitempty"`
	Name    string `json:"name,omitempty"`
	Start   int64  `json:"start"`
	Stop    int64  `json:"stop"`
	Point   uint64 `json:"point,omitempty"`
	ErrorNs int64  `json:"error_ns,omitempty"` // start and stop may be off by this
	Bytes   int64  `json:"bytes,omitempty"`
	Address uint64 `json:"address,omitempty"` // load: where
	Src     string `json:"src,omitempty"`
	Dst     string `json:"dst,omitempty"`
	Part    int32  `json:"part,omitempty"` // trace: which engine, across dies
	Runs    int    `json:"runs,omitempty"` // unmeasured: how many

	// Counters: their sums over the units that were measured, those of them that are no more than a lower bound, and why the others have none.
	Values     map[string]uint64 `json:"values,omitempty"`
	AtLeast    []string          `json:"at_least,omitempty"`
	Unmeasured map[string]string `json:"unmeasured,omitempty"`
}

// End closes a finished recording.
type End struct {
	Records int `json:"records"`
}
