// Package cp is the simulated command processor of a compute queue: it executes PM4 packets.
//
// Its sources are the packet and register tables of package pm4, the kernel's and the runtimes' headers that
// those name, and what the driver packages of other projects do with the packets. Registers are absolute dword
// addresses, times shader cycles since the GPU was powered on.
//
// AQL packets are executed as well: the registers that a dispatch packet stands for are set, then the same dispatch runs.
//
// A Processor stands for the processors of all dies: they read the same stream, so packets are executed once,
// on every die that PRED_EXEC lets through, in lockstep. Register files are per die; registers from 0xc000 on
// are per shader engine too, as GRBM_GFX_INDEX selects. Registers of the trace and counter units are theirs
// (Unit). What a dispatch runs is the business of a Runner.
//
// Everything that hardware would hang on is an error that names the packet, its place and the register: an
// unknown packet or register, a wait that cannot end, memory that is not mapped (*PacketError, *MemoryError).
//
// Modelled rather than known: how long packets take (cost). Simplified: a dispatch ends before the next packet
// starts, and caches are always coherent, so ACQUIRE_MEM and RELEASE_MEM only take time and order.
package cp
