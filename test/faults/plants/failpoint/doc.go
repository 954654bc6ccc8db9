// Package failpoint marks places where a fault run may break the program.
//
// # What it owns
//
// The names of the places, what is to happen at each, and the language in which
// a run says so: name=action;name=action, where an action is panic, exit(code),
// sleep(duration), error(text) or hang, behind it any of .nth(n) for the n-th
// time only and .prob(p,seed) for a part of the times. off switches a place off.
//
// # What it refuses to know
//
// What the places mean, and where they are: edits of package plants put them into a
// fault build, and no other build has them.
//
// # Who calls it
//
// The edits at the places themselves, and those of the server that say what happens
// there.
package failpoint
