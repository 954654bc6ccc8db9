// Package harness builds the server and runs real processes of it for tests: it starts, kills,
// stops, pauses and restarts nodes on the loopback interface, each with its own data directory,
// and waits until they agree. It also builds SDK clients whose requests go round over all nodes.
//
// A process ends when its Cluster is closed, or by the kernel if the test process dies first.
package harness
