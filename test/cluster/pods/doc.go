// Package pods runs server processes as an orchestrator does: each in a network namespace with a
// stable name, a resolver that may not know the others yet, and another IP address after each
// restart.
//
// It needs Linux, and root or user namespaces. Otherwise it uses loopback addresses, and the
// ports change instead.
package pods
