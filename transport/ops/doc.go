// Package ops serves the admin port: health, readiness, status, metrics, stored messages, and
// profiles. It owns the paths and the JSON of the port and the Prometheus registry, and counts the
// requests of the client port ([Requests]). Package cluster provides its numbers as plain values.
//
// # Design
//
// Liveness never depends on the cluster: a node that waits for a quorum must not be restarted. Only
// a limited number of queues have metrics of their own, because a million series would overload the
// monitoring.
package ops
