// Package session is one recording: it loads a code object on a device, lets package launch fill its buffers, wraps the
// launch with the programs that trace or count, waits, reads back what the GPU wrote, and appends it all to a capture.
//
// A session knows no views. What it learns that the data does not tell by itself goes into the capture as notes.
// Errors of the user's launch are *launch.Error, of the GPU *device.Fault or *device.Lost, of the watch-dog *TimeoutError.
package session
