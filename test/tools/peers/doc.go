// Command peers runs the same load on seriatim and on other queues, in turn on
// one machine, and records what it measured: make bench-peers.
//
// It owns how a peer is started and asked. Where a peer can promise it, three
// nodes hold every message on the disks of a majority before it is confirmed, as
// seriatim does, because anything else is a different promise; what each peer has
// promised when it answers is recorded with its figures. The load on seriatim is
// `seriatim bench`, as it is on other servers that speak SQS; on the others it is a
// client of their own protocol, one connection for each client (those of NATS share four), one call at a time.
//
// With -streams the workloads are those of the native API, whose streams stand beside
// what is asynchronous elsewhere: make bench-streams.
//
// With -disk every server has a disk of its own on which a sync takes a given time, which
// is what tells designs apart: on the one disk of a machine the syncs of several nodes
// wait for each other. Data lies in memory then, and strace lets each sync wait.
//
// A peer takes part if its program is installed or can be built as a Go module;
// otherwise the record says what is missing. All servers listen on the loopback
// interface, keep their data in a temporary directory, and end with this program.
//
// test/bench makes a document and a picture of the record.
//
// It is a module of its own, so that a peer's server is built from its source
// without being a dependency of the product.
package main
