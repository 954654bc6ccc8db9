// Command bench measures seriatim on this machine: make bench, bench-goals and bench-auth.
//
// It holds the list of workloads and scenarios with their goals, and starts fresh clusters
// of three server processes. It runs all workloads once before any a second time, so that
// a busy moment of the machine does not fall on all runs of one of them, and takes
// medians. Each scenario has a cluster of its own, because it fills it or breaks it.
//
// The folder results keeps the findings of scenarios and the records of test/tools/peers as
// JSON, so that you can measure one of them again alone. test/results makes the pages of
// docs/results from them.
//
// `seriatim bench` makes the load. Figures of a busy machine, or of another one, say
// nothing about the goals; the servers' processor time for a message moves least.
package main
