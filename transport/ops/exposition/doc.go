// Package exposition writes metrics in the text format of Prometheus.
//
// # What it owns
//
// The text format, version 0.0.4: one family after the other, each line appended to a
// buffer. Nothing is kept between two calls.
//
// # What it refuses to know
//
// What the metrics are, and where their values come from.
//
// # Who calls it
//
// Package ops, for the series of queues.
//
// # Design
//
// The library for metrics makes several objects for each series, sorts and checks
// them. That suits some hundred series; with ten thousand queues there are more than a
// hundred thousand, and a scrape would take seconds of a processor that clients need.
// Their names and labels are known to be right here, so a line is nothing but bytes.
package exposition
