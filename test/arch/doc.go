// Package arch tests the rules of the code base that a compiler does not check: imports,
// lengths, names, log keys, and the determinism of the state machine.
//
// Every rule is a function from source to a list of problems, and has a test with violations.
// There is no list of exceptions: where the code and a rule disagree, change one of them.
package arch
