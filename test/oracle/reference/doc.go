// Package reference is a second, slow and obvious implementation of the rules of queues, topics
// and sessions, written from the specification alone. It exists to disagree with package queue:
// a difference is a bug in one of them. It must not import package queue.
//
// It uses plain maps and slices, linear searches, no indexes and no timers: every deadline is
// compared with the time of the command at hand. Message ids, receipt handles and sequence
// numbers are small integers.
package reference
