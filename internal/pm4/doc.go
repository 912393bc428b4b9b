// Package pm4 writes, reads and names the type-3 packets that the command processor's compute queues take, and the AQL
// packets that can carry them.
//
// A stream is a slice of dwords. A type-3 header holds the number of dwords after it less one in bits 16..29 and the opcode
// in bits 8..15; 0xffff1000 is a NOP of one dword. Registers are absolute dword addresses (Reg), segment base included; SET
// packets take them relative to the start of their space, which Stream works out.
//
// Register, field, packet and enumeration names are generated from tables/*.tsv, whose heads name their sources. A device's GC
// version chooses the rows (RegsFor). Streams that come from outside are read by Packets and Disassemble, which return errors
// and never panic; the Stream builder panics for an impossible packet, since only our own tables choose what it is given.
package pm4

//go:generate go run ../tools/genpm4 -dir . -out tables_gen.go
