// Package window fills a deduplication window of days with the number of ids of -ids and looks
// each id up: after the death of the leader, after a restart of all nodes, when the window grows
// and shrinks, and while old ids are forgotten. It reports times and never judges them.
//
// go test uses a few thousand ids; make window uses ten million.
package window
