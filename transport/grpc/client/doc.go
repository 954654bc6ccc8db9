// Package client is the Go client of the native API, package seriatim.v1. It sends, publishes
// and consumes over any node of a cluster, follows the leader, and retries failed calls without
// executing them twice. docs/reference/grpc.md is the manual.
//
// # Design
//
// Each answer names its node and the leader. The client sends the next call to the leader if
// it knows the leader's endpoint, which saves a hop. It leaves an endpoint that it cannot reach
// for the next one.
//
// The client repeats a call whose status says that nothing was executed. After an unknown
// outcome it repeats a call only if that is harmless:
//
//   - a send to a FIFO queue or a publish to a FIFO topic, by the deduplication ids of its
//     messages, which the client draws where you give none;
//   - a receive from a FIFO queue and the acceptance of a session, by an attempt id;
//   - deletes and visibility changes, by receipt handles.
//
// Any other call returns the error.
package client
