// Package exposition writes metrics in the text format of Prometheus, version 0.0.4.
//
// The library for metrics makes several objects for each series, sorts them and checks them.
// That suits some hundred series. Ten thousand queues have more than a hundred thousand, and a
// scrape would take seconds of processor time. Names and labels are known to be right here, so a
// line is appended to a buffer.
package exposition
