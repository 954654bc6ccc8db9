// Package arch holds the rules of the code base that a compiler does not
// check: who may import whom, how long files and functions may be, what things
// may not be called, and what makes the state machine deterministic.
//
// Every rule is a function from source to a list of problems, and has a test
// that shows it a violation. There is no list of exceptions: where the code and
// a rule disagree, one of them is changed.
//
// It refuses to know what the code does. go test calls it.
package arch
