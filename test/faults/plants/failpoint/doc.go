// Package failpoint breaks the program at named places of a fault build.
//
// A run writes name=action;name=action, where an action is panic, exit(code), sleep(duration),
// error(text), hang or off. Behind it may stand .nth(n), for the n-th time only, and
// .prob(p,seed), for a part of the times.
package failpoint
