// Package policy reads and writes the JSON policies of queues, topics and
// subscriptions: the access policies, RedrivePolicy and RedriveAllowPolicy of a
// queue, ArchivePolicy and DeliveryPolicy of a topic, RedrivePolicy and
// ReplayPolicy of a subscription. Filter policies have package filter.
//
// # What it owns
//
// Which texts are a policy, what they say, and their stored form. What JSON is,
// package jsontext says.
//
// # What it refuses to know
//
// Queues and topics, their state and the errors of a request. It says what is
// wrong with a policy, and packages queue and attributes say it to the client.
//
// # Who calls it
//
// Package queue and package attributes. The policies of queues are read before a
// command goes into the log; when one is applied, only permissions are added to the
// stored policy.
package policy
