// Package reference is a second, slow and obvious implementation of the rules of
// queues, topics and sessions, written from the specification alone. It exists to disagree with
// package queue: the comparison in test/rules/model runs both on the same random
// histories and any difference is a bug in one of them.
//
// # What it owns
//
// Its own types, its own reading of the rules, plain maps and slices, linear
// searches, no indexes and no timers: every deadline is a number compared with
// the time of the command at hand.
//
// # What it refuses to know
//
// Package queue (it must not import it), encodings, hashes of state, and
// budgets. Message ids, receipt handles and sequence numbers are small
// integers here; the comparison binds each to the product's opaque value on
// first sight.
//
// # Who calls it
//
// Packages test/oracle and test/oracle/logcheck, and the tests of test/rules.
package reference
