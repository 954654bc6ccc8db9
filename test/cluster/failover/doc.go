// Package failover kills, stops and damages the nodes of a real three-node
// cluster while stock SDK clients, and the Go client of the native API, work with
// it, and checks the promises: acknowledged messages are kept, duplicates stay
// suppressed, group order holds, and a retried receive gives the same messages.
//
// It owns these scenarios and the clients that go on through every error. It
// refuses to know the API in detail, which is test/api/conformance, and how
// processes are run, which is test/kit/harness.
//
// SERIATIM_KILLS sets how often the leader is killed (default 10).
package failover
