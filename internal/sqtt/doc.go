// Package sqtt writes the programs that start and stop shader thread traces and decodes the traces of GFX9 (CDNA),
// GFX11 (RDNA3) and GFX12 (RDNA4) GPUs.
//
// A trace, or stream, is the bytes that one shader engine wrote for one run. Offsets are bits from its start, times
// shader cycles since its first token. What tokens, their fields and the ops of instruction tokens mean is generated from
// tables/tokens.tsv, fields.tsv and ops.tsv, where each row states its source.
//
//   - [Packets] lists every token: kind, place, time, fields.
//   - [DecodeWaves] gives the waves that start and end in a stream, realtime markers and losses, a [WaveDecoder]
//     those of a stream of any size in pieces; [NewClock] maps shader time to the GPU's clock.
//   - A [Lister] lists or counts the tokens of a stream in pieces.
//   - [Walk], or a [Walker] for pieces, gives the traced waves' instructions besides: when each was issued, how long it
//     stalled and lasted, and its address in a [Code], such as a [Program] of code objects.
//   - [ReadShaderData] gives the words that waves sent with s_ttracedata. No capture of ours holds any: layouts and rules are AMD's.
//
// An RDNA stream's format is taken from its HEADER tokens, whatever family is asked for: layout 4 is GFX12, any other
// layout, or no header, GFX11. GFX9 streams have no header of their own and go by the family.
//
// Decoding never fails: what cannot be read is counted and located in [Losses]. That a buffer was full no stream tells; the
// programs' [Length] and the trace's status do. Decoders are single-threaded values; to decode engines in parallel use one
// per engine.
//
// Left out: the meaning of UTIL_COUNTER, and which EXEC token belongs to which instruction.
package sqtt
