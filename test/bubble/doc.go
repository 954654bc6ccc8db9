// Package bubble runs whole nodes inside testing/synctest: consensus, log stores, gossip, leader
// terms, forwarding and reads, on a network in memory and under virtual time. Hours of a
// cluster's life with crashes, cuts, hung disks and wrong clocks pass in seconds (faults.md
// 7.2).
//
// The referee reads every message of the consensus library and checks the rules of faults.md
// 7.2. test/oracle/check judges the histories of the clients:
//
//	go test ./test/bubble                                a few seeds
//	go test ./test/bubble -run TestBubble -seeds 1000    seeds 1 to 1000
//	go test ./test/bubble -run TestBubble -seed 17       one seed
//
// A failing seed leaves its trace and its history in the folder of -output. A seed fixes load,
// faults and virtual times, but not the order of goroutines: a seed that fails once is a bug
// even if it passes the next time.
//
// A paused machine is one whose network and disk stand still. Files are real, on a memory file
// system if there is one. A crash keeps every write of a store that was made; test/kit/lab/disk
// breaks smaller units.
package bubble
