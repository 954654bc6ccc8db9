// Package plant switches on bugs that were put into the program on purpose, to
// show that the fault tests find them.
//
// # What it owns
//
// Which of the numbered bugs of the fault tests is switched on in this process:
// none, unless a fault build is told otherwise. The list is in test/faults.
//
// # What it refuses to know
//
// What the bugs are: each is where the code is that it breaks. Without the
// build tag faults Is is false for the compiler, which leaves them out.
//
// # Who calls it
//
// The code that may be broken, and the server's hooks. Package queue is below
// this one and has a switch of its own, which Set turns as well.
package plant
