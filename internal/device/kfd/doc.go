// Package kfd drives a compute queue of an AMD GPU through /dev/kfd and the GPU's render node, without a
// runtime library.
//
// It speaks to a System, a narrow seam of system calls: Linux itself, or the simulated kernel of
// internal/device/sim. Nothing above the seam knows which. Structures and request codes are package abi's; the
// order of calls follows Linux 6.12's amdkfd and its uapi headers.
//
// Addresses that the GPU uses are chosen here, by a bump allocator over a fixed range, so that runs repeat;
// host and GPU see a buffer at the same address. Each submission is one indirect buffer of packets: its begin
// and end are stamped with the GPU's clock by RELEASE_MEM, its completion is a 64-bit number in memory and an
// event. GPUs of one die take it through a PM4 queue, others through an AQL queue, which runs on every die.
//
// One owner closes each descriptor and mapping: the Device. Left out: SDMA queues, several GPUs in one address
// space, XNACK.
package kfd
