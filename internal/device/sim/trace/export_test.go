package trace

// Rewrite writes the packets of an RDNA stream, given as times, lengths and bits without their deltas, and returns the bytes written.
func Rewrite(gfx12 bool, times []int64, packets []Packet, mem Memory, size int64) int64 {
	l := &rdna3
	if gfx12 {
		l = &rdna4
	}
	var w writer
	s := sink{mem: mem, limit: size}
	w.reset(l, &s, 0)
	for i, p := range packets {
		w.add(times[i], token{lo: p.Lo, hi: p.Hi, kind: kinds[p.Type], bits: p.Bits, at: p.At, wide: p.Wide})
	}
	w.finish()
	return s.written
}

// Packet is one packet with its delta's place.
type Packet struct {
	Type     string
	Lo       uint64
	Hi       uint8
	Bits     uint8
	At, Wide uint8
}

var kinds = map[string]uint8{
	"HEADER": tokHeader, "REG": tokReg, "REG_INIT": tokReg, "EVENT": tokEvent, "MISC": tokReg, "WAVE_END": tokWaveEnd, "INST": tokInst,
	"VALU_INST": tokValu, "WAVE_READY": tokReady, "IMM_ONE": tokImm, "IMMEDIATE": tokImm, "UTIL_COUNTER": tokUtil,
	"WAVE_START": tokWaveStart, "ALU_EXEC": tokAlu, "VMEM_EXEC": tokMem, "NEW_PC": tokNewPC, "SHADER_DATA_SHORT": tokData,
	"TIMESTAMP": tokRealtime,
}
