// Package logcheck judges a fault run by the committed log (faults.md 2.2, level B). Every
// operation passed the log, so the order for which a search would have to look is written down.
// It reads the taps, in which each node wrote every entry that it applied:
//
//	W1  the taps agree and have no gap
//	W2  the reference model, given the same commands, answers as the nodes did,
//	    and the clients got these answers
//	W3  the log keeps real time order
//	W4  a failed call had no effect
//	W5  an unknown call had at most one effect
//	W6  log time does not fall
//	W7  the messages left at the end are those that the drain found
//
// W2 and W3 together prove the history linearizable, at any size. With them go the parts of I13
// that status samples show.
//
// A second state machine replays the log alone and must arrive at the hashes that the nodes
// wrote down. So entries missing from all taps are found, and decisions that depend on anything
// but the log.
//
// test/faults judges each run with it, and its selftest shows that each check detects a bug.
// `make faults-check HISTORY=folder` judges a stored run again.
package logcheck
