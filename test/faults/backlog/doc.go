// Package backlog parks messages in a queue while a cluster is broken around it, and receives
// them at the end. Each acknowledged message must come exactly once, with its body and id, in
// the order of its group, and no other message may come.
//
// A body follows from its group and number, and a group is sent in order. So millions of
// messages need only some numbers for each group, where a history would not fit in memory.
package backlog
