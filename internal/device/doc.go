// Package device says what rigprof needs of a GPU: memory, submissions, points to wait for, times.
//
// A Device takes packets as dwords beside launches, copies and fills, and gives back bytes; it knows
// neither trace tokens nor counters. Package kfd implements it over the Linux driver's ABI, with the real
// kernel or the simulated one below; package open chooses. Addresses are the GPU's, sizes bytes, times
// ticks of the GPU's constant clock (Info.GPU.RefClockHz) or nanoseconds of profile.Now.
//
// Work, copies and allocations are recorded in the takes of package profile that are open.
//
// Errors: what is lacking wraps ErrNotSupported and says whether kernel, permission or hardware lacks it;
// what a kernel did wrong is a *Fault; a device that is gone is a *Lost.
package device
