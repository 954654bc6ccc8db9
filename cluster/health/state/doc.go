// Package state measures what is in the replicated state: queues, topics and accounts that
// are at a limit, and messages that wait for a person.
//
// # What it owns
//
// Which of many values are worth a finding, and how many queues one read looks at: commands
// wait for a read.
//
// # What it refuses to know
//
// Thresholds, which are in package health, and nodes.
//
// # Who calls it
//
// Package cluster.
package state
