// Package capture is the file that one recording leaves behind: everything that was measured, as it was measured, so that
// any view can be computed from it later.
//
// # Format, version 1
//
// All numbers are little-endian. A file is a 16-byte head and records up to its end:
//
//	head    "rigprof\n", u32 version (1), u32 0
//	record  u32 mark "RREC", u16 kind, u8 codec (0 plain, 1 zstd), u8 0, u32 stored bytes, u32 raw bytes,
//	        u32 CRC-32C of the stored payload, u32 CRC-32C of the 20 bytes before, then the stored payload
//
// Records are only ever appended. Raw payloads hold at most 4 MiB. Kinds:
//
//	1 meta      JSON of Meta: tool, command line, host
//	2 device    JSON of Device
//	3 object    JSON of Object: a code object as it was loaded
//	4 dispatch  JSON of Dispatch
//	5 trace     JSON of Trace: one engine's trace of one dispatch
//	6 counters  JSON of Counters: the layout and circumstances of one run's samples
//	7 note      JSON of Note: a remark on quality
//	8 data      u16 kind of the record that owns the bytes, u16 0, u32 its place among the records of its kind, from 0,
//	            u64 offset of the bytes in what it owns, then the bytes
//	9 event     JSON of Event: a slice, point or sample of the timeline
//	255 end     JSON of End: the recording was finished; a file without it was cut off
//
// A reader skips kinds it does not know and fields it does not know, so later versions add both without a new version
// number. A file that ends in the middle of a record is read up to its last whole one. A record whose payload does not match
// its checksum is left out and reported; where a head is damaged, reading ends.
package capture
