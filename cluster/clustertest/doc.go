// Package clustertest is what the tests of the packages of the cluster share.
//
// # What it owns
//
// Damage done to files, a stand-in for the end of the process, a clock moved by
// hand, and contexts and loggers of tests.
//
// # What it refuses to know
//
// The packages it helps to test, beside fault, so that each of them can use it in
// its own package.
//
// # Who calls it
//
// Tests, and nothing else.
package clustertest
