// Command bench measures seriatim on this machine and writes down what it
// measured: make bench, bench-goals and bench-auth, and the documents of bench-peers and
// bench-streams.
//
// It owns the list of workloads and scenarios with the goals they stand for, the
// order in which they are run, and the form of RESULTS.md (goals 1 to 4), GOALS.md
// (goals 5 to 10), AUTH.md, PEERS.md, DISKS.md, STREAMS.md and of the pictures. It starts fresh clusters of three
// server processes. Workloads are run one after the other, all of them once before
// any a second time, so that a busy moment of the machine does not fall on all runs
// of one of them, and medians are taken. A scenario has a cluster of its own,
// because it fills it or breaks it; what is short in it is repeated.
//
// The folder results keeps the findings of scenarios and peers as JSON, so that one
// of them can be measured again alone and the document is still whole.
//
// `seriatim bench` makes the load; its command
// line stands beside each figure, and for other queues test/tools/peers. Figures
// of a machine that was busy, or that are from another machine, say nothing about
// the goals; the share of the servers' processor time per message is the one that
// moves least.
package main
