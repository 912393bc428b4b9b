// Package report turns a capture into what people and programs read: tables, CSV, JSON, Chrome trace JSON.
//
// A view is computed from the capture's bytes each time, so every command and every format shows the same answer and a
// capture can be read again by a later version. Times are shader cycles of one engine unless a field's name says ns.
// What is unknown is nil or n/a with its reason, never 0.
package report
