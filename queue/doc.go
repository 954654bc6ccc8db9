// Package queue is the domain of seriatim: queues, messages, groups, receipts, deduplication
// windows and topics, and the effect of every command on them. It is a deterministic state machine
// without clock, I/O, goroutines or randomness.
//
// Write with a [Command], applied by [Broker.Apply] at the time of its log entry. Read with the
// methods of [View]. Package fsm applies commands one at a time, in log order. Nothing here is safe
// for concurrent use, except that another goroutine may read a [Frozen] state.
//
// The rules are those of Amazon SQS and SNS, with the differences of Yandex Message Queue
// (CompatibilityProfile ymq) and features of Azure Service Bus (CompatibilityProfile servicebus):
// duplicate detection, scheduling, sessions, deferral, settlement under locks.
//
// A command is one file or a part of one: its struct, Validate, its form in the log (prepare), its
// result and apply. Package access has the commands about access keys, user policies and accounts.
//
// # Topics
//
// A publish is one command: it accepts a message at a topic and stores it in every subscribed
// queue. The stored messages share a topic.Publication; a receive builds the body from it. A purge
// must take the same time on every replica, so later commands release the publications that it
// dropped (published.go).
//
// A scheduled message waits in its topic. Before it executes a command, the Broker publishes those
// that are due, so that the command finds them in the queues. The leader proposes AdvanceClock for
// them when there is no other command.
//
// A topic with an ArchivePolicy keeps its publications by reference. The leader proposes a replay
// in bounded steps (ReplayMessages). Publications that arrive during a replay wait in the archive
// until the last step. Replayed messages skip the queue's deduplication.
package queue
