// Package pages is a map from numbers to values, in order, that takes little memory. Copies
// share the pages that neither has changed. Package queue keeps the messages of a queue in one;
// a Codec packs a value.
//
// # Design
//
// The numbers are cut into pages of 64. A page is open, then it has a pointer to each
// value, or packed: then it is one string with a record of each, in which the garbage
// collector has nothing to follow, and a value read from it is made anew. Pages are
// opened by changes and packed in the order in which they were opened, once a map has
// more than a few open ones. So the values at both ends of a queue, where it is used, are
// ready, and those between, which may be millions, take what their content takes. A Loader
// packs what is read from a snapshot at once.
//
// The first page is always open: the oldest value is asked for with every command.
//
// Which pages are packed is the same on all replicas as long as all of them have applied
// the same commands from the same state; nothing depends on it.
package pages
