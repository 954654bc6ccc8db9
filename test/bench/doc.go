// Command bench measures seriatim on this machine: make bench, bench-goals and bench-auth.
//
// It holds the list of workloads and scenarios with their goals, and starts fresh clusters of three
// server processes. It runs each workload once before it runs any a second time, so that a busy
// moment of the machine does not affect all runs of one workload, and takes medians. Each scenario
// has its own cluster, because it fills or breaks it.
//
// The folder results keeps the findings of scenarios and the records of test/tools/peers as JSON,
// so that you can repeat a single one. test/results makes the pages of docs/results from them.
//
// `seriatim bench` makes the load. Figures of a busy or another machine say nothing about the
// goals. The servers' processor time for a message varies least.
package main
