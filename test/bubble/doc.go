// Package bubble runs whole nodes inside testing/synctest: real consensus, real
// log stores, gossip, leader terms, forwarding and reads, on a network that lives in
// memory and under a clock that jumps from event to event, so that
// hours of a cluster's life with crashes, cuts, hung disks and wrong clocks pass in
// seconds (faults.md 7.2).
//
// # What it owns
//
// The network (drop, delay, loss, duplicates and reordering of packets, one-way
// cuts), the machines (crash with or without a word to the others, disks that are
// ten times slower or faster than the others, get slow or hang, clocks that are off), the schedule of faults, clients, and the
// referee, who reads every message of the consensus library on its way and checks
// what faults.md 7.2 asks of it. Histories are judged by test/oracle/check:
//
//	go test ./test/bubble                                a few seeds
//	go test ./test/bubble -run TestBubble -seeds 1000    seeds 1 to 1000
//	go test ./test/bubble -run TestBubble -seed 17       one seed
//
// A seed that fails leaves its trace and its history in the folder of -output.
//
// # What it refuses to know
//
// How package cluster works inside: nodes are opened, called and closed as package
// cmd does it.
//
// # What it is not
//
// A replay: one seed fixes load, faults and virtual times, but not the order in
// which goroutines run, so that a seed that fails once is a bug even if it passes
// the next time. And no real pause: a goroutine cannot be stopped, so a paused
// machine is one whose network and disk stand still. Files are real, on a memory
// file system where there is one; what a crash leaves is what had reached them, at
// the grain of one write of a store (test/kit/lab/disk goes below that).
//
// # Who calls it
//
// make test and make bubble.
package bubble
