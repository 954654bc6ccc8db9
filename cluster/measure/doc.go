// Package measure counts observations of a running node in histograms.
//
// # What it owns
//
// The histogram: fixed buckets, and counting that takes no lock.
//
// # What it refuses to know
//
// What is observed, what it is called, and how it is exported: package cluster gives
// each histogram its name.
//
// # Who calls it
//
// The packages of the cluster that time or weigh something.
package measure
