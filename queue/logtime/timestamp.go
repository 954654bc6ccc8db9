// Package logtime holds points and lengths of log time in milliseconds, the only time that the
// state knows. It does not import package time: its text form must be the same on every node,
// whatever the version of Go.
package logtime

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
