// Package count is the performance-counter hardware of the simulated GPU: the
// select and value registers of every block instance, the controls that reset,
// start, stop and sample them, and the events they count.
package count
