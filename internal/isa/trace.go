package isa

type traceRow struct{}
