// Package onenode compares one node, asked over HTTP, with the reference model (faults.md 7.4):
// random calls, and after each the model must give the answer that the client got. Unlike
// test/rules/model it covers everything that a request passes: wire format, router, batching,
// log, disk. Each answer brings the log time at which it was true.
//
//	go test ./test/rules/onenode -args -calls 20000 -seed 7
package onenode
