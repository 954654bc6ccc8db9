// Package ops is the admin port: health, readiness, status, metrics, a look at
// stored messages, and profiles.
//
// # What it owns
//
// The paths and the JSON of the admin port, the Prometheus registry, and the
// request metrics of the client port.
//
// # What it refuses to know
//
// The SQS protocol; how anything is counted elsewhere. Package cluster hands
// its numbers over as plain values, and those of queues are read from the
// state when they are asked for.
//
// # Who calls it
//
// cmd/seriatim/server serves an [Admin] on the admin port and gives its
// [Requests] to the client listener.
//
// # Design
//
// Liveness never depends on the cluster: a node that waits for a quorum must
// not be restarted for it. Series per queue are capped, because a thousand
// queues are useful in a dashboard and a million are an outage of the monitor.
package ops
