// Package sim is a simulated Linux kernel with AMD GPUs: topology files, /dev/kfd, render nodes, and GPUs that
// execute what the queues hold.
//
// A Kernel implements the seam of package kfd in the process. Descriptors and memory are real: a device node is
// a memfd, an mmap offset is an offset in it, and GPU addresses are resolved through a table of mappings, so
// that the same kernel can later serve other programs' runtimes. Structures are package abi's, behaviour and
// errno values follow Linux 6.12's amdkfd as far as programs see it.
//
// A queue is a goroutine that sleeps until its doorbell is rung. Time on the GPU is modelled and does not depend
// on the host; only the moment at which the host sees a result does (a result is not seen earlier than the
// modelled time allows). A fault stops all of a process's queues, and is told through its events, and in
// full by Explain, as the kernel's log would.
//
// Several processes may have a GPU: each opened /dev/kfd is one, with a VMID of its own. Their queues take turns, packet buffers
// whole, on the same trace and counter units.
//
// Left out: SDMA queues, SVM, debugging.
package sim
