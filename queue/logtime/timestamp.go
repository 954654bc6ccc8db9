// Package logtime holds log time in milliseconds, the only time in the state. It does not import
// package time, whose text format may change between versions of Go.
package logtime

// Timestamp is a point in log time: milliseconds since 1970-01-01 UTC. The leader stamps it on a
// log entry; no replica reads its own clock.
type Timestamp int64

// Duration is a span of log time in milliseconds.
type Duration int64

// Units of log time.
const (
	Millisecond Duration = 1
	Second               = 1000 * Millisecond
	Minute               = 60 * Second
	Hour                 = 60 * Minute
)

// Seconds returns a Duration of s seconds.
func Seconds(s int64) Duration { return Duration(s) * Second }

// Add returns the point d after t.
func (t Timestamp) Add(d Duration) Timestamp { return t + Timestamp(d) }

// Sub returns the duration from u to t.
func (t Timestamp) Sub(u Timestamp) Duration { return Duration(t - u) }
