// Package pods runs server processes as an orchestrator would: each in a network
// namespace with a stable name, a resolver that may not know the others yet, and
// another IP address after each restart.
//
// It needs Linux, and root or user namespaces. Without, the same happens on loopback
// addresses, where the ports change instead of the IP addresses, and the tests say so.
package pods
