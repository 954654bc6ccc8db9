// Package ops is the admin port: health, readiness, status, metrics, a look at stored messages,
// and profiles. It owns the paths and the JSON of the port and the Prometheus registry, and
// counts the requests of the client port ([Requests]). Package cluster hands its numbers over as
// plain values.
//
// # Design
//
// Liveness never depends on the cluster: a node that waits for a quorum must
// not be restarted for it. Series per queue are capped, because a thousand
// queues are useful in a dashboard and a million are an outage of the monitor.
package ops
