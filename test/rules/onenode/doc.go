// Package onenode compares one node, asked over HTTP, with the reference model
// (faults.md 7.4): random calls, and after each the model must give the answer
// that the client was given. Unlike test/rules/model it goes through everything that a
// request passes: wire format, router, batching, the log, the disk.
//
// # What it owns
//
// A generator of calls, their way onto the wire and back, and a shrinker, which
// takes calls out of a failing list as long as the rest still fails.
//
// # What it refuses to know
//
// The rules, which are the model's, and time: each answer brings the log time at
// which it was true.
//
// # Who calls it
//
// make test, with a few hundred calls, and whoever wants more:
//
//	go test ./test/rules/onenode -args -calls 20000 -seed 7
package onenode
