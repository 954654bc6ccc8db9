// Package logcheck judges a fault run by the committed log (faults.md 2.2, level
// B): every operation passed the log, so the order for which a search would have
// to look is written down.
//
// # What it owns
//
// Reading the taps, in which each node wrote every entry it applied, and the
// checks W1 to W7: the taps agree and have no gap (W1); the reference model,
// given the same commands, answers as the nodes did, and the clients were told
// just that (W2); the log keeps real time order (W3); what failed had no effect
// (W4); what is unknown had at most one (W5); log time does not fall (W6); and
// what is left at the end is what the drain found (W7). With them go the parts of
// I13 that status samples show. W2 and W3 together prove the history
// linearizable, at any size.
//
// # What it refuses to know
//
// How a run is made, and how the product applies a command: decoding commands
// and answers is all it takes of the state machine, except that a second one,
// which replays the log alone, has to arrive at the hashes that the nodes wrote
// down. That finds entries missing from all taps, and decisions that depend on
// anything but the log.
//
// # Who calls it
//
// test/faults after each run, and whoever wants to judge a stored one again:
//
//	go test ./test/oracle/logcheck -run TestStored -args -run-dir <folder of the run>
package logcheck
