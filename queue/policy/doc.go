// Package policy reads and writes the JSON policies of a queue: its access
// policy, RedrivePolicy and RedriveAllowPolicy.
//
// # What it owns
//
// Which texts are a policy, what they say, and their stored form. What JSON is,
// package jsontext says.
//
// # What it refuses to know
//
// Queues, their state and the errors of a request. It says what is wrong with a
// policy, and package queue says it to the client.
//
// # Who calls it
//
// Package queue, before a command goes into the log; when a command is applied
// only for permissions, which are added to the stored policy.
package policy
