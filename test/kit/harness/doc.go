// Package harness runs real seriatim server processes for tests.
//
// It owns how the binary is built, which ports and folders its nodes get, how
// they are started, killed, stopped, paused and started again, and how a test
// waits until they agree. A node here is an operating system process on the
// loopback interface with its own data directory; nothing is simulated.
//
// It refuses to know what a queue is: the checks are in the packages that use
// it. It also holds the one way in which tests build an SDK client whose
// requests go round over all nodes.
//
// Callers are test/api/conformance and test/cluster/failover, and whatever else needs a
// real cluster. Each process is ended by its id when its Cluster is closed, and
// by the kernel if the test process dies first.
package harness
