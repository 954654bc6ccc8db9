// Command bench measures seriatim on this machine and writes down what it
// measured: make bench.
//
// It owns the list of workloads with the goals they stand for, the order in
// which they are run, and the form of RESULTS.md. It starts a fresh cluster of
// three server processes, runs the workloads one after the other, all of them
// once before any a second time, so that a busy moment of the machine does not
// fall on all runs of one of them, and takes medians.
//
// It refuses to know how load is made: that is `seriatim bench`, whose command
// line stands beside each figure. Figures of a machine that was busy, or that
// are from another machine, say nothing about the goals; the share of the
// servers' processor time per message is the one that moves least.
package main
