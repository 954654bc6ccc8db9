// Command peers runs the same load on seriatim and on other queues, in turn on
// one machine, and records the results: make bench-peers.
//
// It starts each peer and calls it. If a peer supports that, three nodes confirm a message after a
// majority has it on disk, like seriatim. The record names the guarantee of each peer beside its
// figures. The load on seriatim is `seriatim bench`, as it is on other servers that speak SQS; on
// the others it is a client of their own protocol, one connection for each client (those of NATS
// share four), one call at a time.
//
// With -streams the workloads are those of the native API. Its streams are compared with the
// asynchronous calls of other queues: make bench-streams.
//
// With -links the workloads are those of links of AMQP 1.0, on seriatim beside its other protocols,
// and on RabbitMQ and ActiveMQ Artemis: make bench-links.
//
// With -disk every server has its own disk with a given time for a sync. On one shared disk, the
// syncs of several nodes wait for each other and hide the differences. The data is in memory then,
// and strace delays each sync.
//
// A peer takes part if its program is installed or can be built as a Go module;
// otherwise the record says what is missing. All servers listen on the loopback
// interface, keep their data in a temporary directory, and end with this program.
//
// `make results` writes the tables.
//
// It is a module of its own, so that a peer's server is built from its source
// without being a dependency of the product.
package main
