// Package logtime is the time of the log: what the leader stamps on an entry, and
// the only time that the state knows.
//
// # What it owns
//
// Points and lengths of log time in milliseconds, their units, and the text form
// of RFC 3339 in which a client may write a point and is shown one.
//
// # What it refuses to know
//
// What time it is. Package time is not imported: how it reads a text may change
// with the version of Go, and what is read and written here must be the same on
// every node.
//
// # Who calls it
//
// Package queue, the packages below it, and whoever stamps or compares times of
// the log.
package logtime
