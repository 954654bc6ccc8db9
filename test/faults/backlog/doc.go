// Package backlog parks messages in a queue of their own while a cluster is broken
// around it, takes them out at the end, and judges what comes.
//
// # What it owns
//
// The messages, how they are sent, received and deleted, and the account of them: each
// acknowledged message comes exactly once with the body and the id it was sent with, in
// the order of its group, and nothing else comes.
//
// # What it refuses to know
//
// How a call reaches a node, and what was broken meanwhile. The history of a run, which
// must fit in memory: millions of messages do not. So a body follows from its group and
// its number, a group is sent in order, and the account needs some numbers a group.
//
// # Who calls it
//
// test/faults, in soaks with a backlog.
package backlog
