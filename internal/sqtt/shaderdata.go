package sqtt

import "github.com/rigprof/rigprof/internal/gpu"

// ShaderData is one word that a wave sent with s_ttracedata, or the byte of an s_ttracedata_imm.
type ShaderData struct {
	Time  Cycles // when the token was written: somewhat after the instruction was issued
	Off   int64  // bits from the stream's start
	Value uint32
	Short bool  // from s_ttracedata_imm
	CU    uint8 // as in a Wave
	SIMD  uint8
	Slot  uint8
}

// ReadShaderData gives the words that waves sent, in stream order; see [Packet.ShaderData].
func ReadShaderData(f gpu.Family, h Header, buf []byte) (data []ShaderData) {
	for p := range PacketsWith(f, h, buf) {
		if d, ok := p.ShaderData(); ok {
			data = append(data, d)
		}
	}
	return data
}

// ShaderData is the word that the token holds; false where it holds none that counts.
//
// RDNA3 tokens whose exec bit is set are left out, as are those of RDNA4 of a kind other than 0, which a trap handler wrote.
// Source: AMD rocprof-trace-decoder (MIT). Our captures hold none but RDNA3's ignored ones, so hardware has confirmed
// neither the layouts nor this rule.
func (p *Packet) ShaderData() (ShaderData, bool) {
	if p.Kind != KindShaderData && p.Kind != KindShaderDataShort {
		return ShaderData{}, false
	}
	d := ShaderData{
		Time: p.Time, Off: p.Off, Value: uint32(p.Field("data")), Short: p.Kind == KindShaderDataShort,
		SIMD: uint8(p.Field("simd")), Slot: uint8(p.Field("wave")),
	}
	switch p.Family {
	case gpu.GFX9:
		d.CU = uint8(p.Field("cu"))
		return d, true
	case gpu.GFX12:
		d.CU = uint8(p.Field("wgp") | p.Field("sa")<<4)
		return d, p.Field("kind") == 0
	}
	d.CU = uint8(p.Field("wgp") | p.Field("sa")<<3)
	return d, p.Field("exec") == 0
}
