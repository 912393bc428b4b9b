// Package sqtt writes the programs that start and stop shader thread traces and decodes the traces of GFX9 (CDNA),
// GFX11 (RDNA3) and GFX12 (RDNA4) GPUs.
//
// A trace, or stream, is the bytes that one shader engine wrote for one run. Offsets are bits from its start, times
// shader cycles since its first token. Token layouts are generated from tables/tokens.tsv and tables/fields.tsv, where
// each row states its source.
//
//   - [Packets] lists every token: kind, place, time, fields.
//   - [DecodeWaves] gives the waves that start and end in a stream, realtime markers and losses; [ReadWaves] does so for
//     a reader in constant memory; [NewClock] maps shader time to the GPU's clock.
//
// An RDNA stream's format is taken from its HEADER tokens, whatever family is asked for: layout 4 is GFX12, any other
// layout, or no header, GFX11. GFX9 streams have no header of their own and go by the family.
//
// Decoding never fails: what cannot be read is counted and located in [Losses]. Decoders are single-threaded values; to
// decode engines in parallel use one per engine.
package sqtt
