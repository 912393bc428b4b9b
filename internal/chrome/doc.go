// Package chrome writes Chrome trace event JSON, which Perfetto, chrome://tracing and speedscope load.
//
// Write turns the events of a profile into it: a process per device, a thread per lane. Writer is the layer below, for
// anything that is a slice on a lane, such as waves. Both stream: memory grows with the number of lanes and with how deep
// slices nest, not with the number of events.
//
// Times are microseconds from the origin with three decimals, so exact to the nanosecond (six decimals and the picosecond
// with Options.Picos, for clock cycles). On one thread slices nest or do not overlap: viewers draw nothing sensible
// otherwise. A slice that would reach out of the one it starts in goes to a further thread of its lane, "LANE (2)".
//
// Source: "Trace Event Format" of the Chromium project: phases X (complete), i (instant), C (counter), M (metadata).
package chrome
