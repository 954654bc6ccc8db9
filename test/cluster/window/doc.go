// Package window fills a deduplication window of days with ids, as many as -ids says,
// and looks whether all of them are known, and how long what takes: after the death of
// the leader, after a restart of all nodes, when the window grows and shrinks, and while
// what it has left behind is forgotten.
//
// It owns this one scenario. go test runs it with a few thousand ids; make window with
// ten million, whose figures are in docs/guarantees/limits.md. Times are reported and
// never judged.
package window
