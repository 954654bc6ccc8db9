package queue

import "strconv"

// Timestamp is a point in log time: milliseconds since 1970-01-01 UTC. It is
// stamped by the leader on a log entry and never read from a local clock.
type Timestamp int64

// Duration is a length of log time in milliseconds.
type Duration int64

// Units of log time.
const (
	Millisecond Duration = 1
	Second               = 1000 * Millisecond
	Minute               = 60 * Second
	Hour                 = 60 * Minute
)

// Seconds is a Duration of s whole seconds.
func Seconds(s int64) Duration { return Duration(s) * Second }

// Add is the point d after t.
func (t Timestamp) Add(d Duration) Timestamp { return t + Timestamp(d) }

// Sub is the length from u to t.
func (t Timestamp) Sub(u Timestamp) Duration { return Duration(t - u) }

// SequenceNumber orders the messages of one queue. It counts from 1 in the
// order of commits and is never reused, not even by a queue created again
// under the same name. Zero means "none" (standard queues show none).
type SequenceNumber uint64

// sequenceBase makes every printed number 20 digits long, as on AWS.
const sequenceBase = 10_000_000_000_000_000_000

// String prints the number as AWS does: 20 digits without leading zero.
func (s SequenceNumber) String() string {
	return strconv.FormatUint(sequenceBase+uint64(s), 10)
}

// ParseSequenceNumber reads the 20-digit text form. It reports false for
// anything that String cannot have printed.
func ParseSequenceNumber(text string) (SequenceNumber, bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < sequenceBase || len(text) != 20 {
		return 0, false
	}
	return SequenceNumber(n - sequenceBase), true
}
