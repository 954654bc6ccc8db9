// Package check judges the history of a fault run by invariants, in one pass for
// each, and counts whether the run met what it was made for.
//
// It owns the invariants that a client's view alone can break, and the minimums
// of what must have happened. It refuses to know anything but the lines of the
// history, and which calls without an answer took effect if the caller can say so: a
// stored run is judged again by the same function. What else the committed log shows is in test/oracle/logcheck, the search for a linear order in
// test/oracle/linearizability.
//
// Callers are test/faults and whoever has a history of the same form.
package check
