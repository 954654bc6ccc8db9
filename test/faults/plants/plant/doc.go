// Package plant switches on bugs that were put into a copy of the product on purpose,
// to show that the fault tests find them.
//
// # What it owns
//
// Which of the numbered bugs of test/faults is switched on in this process, what time
// this machine has, and whether its node leads, as some bugs are those of followers.
//
// # What it refuses to know
//
// What the bugs are: each is an edit of package plants.
//
// # Who calls it
//
// The edits.
package plant
