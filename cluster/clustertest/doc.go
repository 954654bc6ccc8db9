// Package clustertest is what the tests of the packages of the cluster share.
//
// # What it owns
//
// Damage done to files, a stand-in for the end of the process, a clock moved by
// hand, log entries, certificates, contexts and loggers of tests, and Members: several
// members of a consensus group that write, elect and are compared.
//
// # What it refuses to know
//
// The packages it helps to test, beside fault, so that each of them can use it in
// its own package; Members sees a group by its methods.
//
// # Who calls it
//
// Tests, and nothing else.
package clustertest
