// Package crash stops a node at every moment at which its disk promised
// something, and looks whether it comes back with what it had promised.
//
// It owns a file system (FUSE) that writes down every write, truncation, name
// change and sync of a data directory, the states in which a power cut may leave
// such a directory, and the judgement of a node that starts from one: it starts,
// every operation that was acknowledged is there, the state is the one that the
// uninterrupted run had at the same index, and the term did not fall.
//
// The model of the disk promises as little as POSIX does: content is kept once
// the file was synced, a name once its directory was. What was not synced is kept
// or lost independently. Real file systems promise more, so what holds here holds
// there.
//
// It refuses to know how a node stores anything: files are bytes to it. A machine
// that cannot mount FUSE runs the simple form, a process that is killed at its
// n-th sync.
//
// Its callers are `make test`, with a short script and some of the states, and
// `make crash`, with all of them.
package crash
