// Package packedmap is an ordered map from numbers to values that takes little memory. A Codec packs a
// value. Copies share unchanged pages. Package queue keeps messages in it.
//
// # Design
//
// A page covers 64 numbers. An open page has a pointer to each value. A packed page is one string
// of records without pointers for the garbage collector; reading a value decodes it. A change opens
// a page. A map with too many open pages packs the one opened first. So the two ends of a queue are
// fast, and the middle, perhaps millions of messages, is small. A Loader packs the values of a
// snapshot at once.
//
// The first page is always open, because every command reads the oldest value. Nothing in the state
// depends on which pages are packed.
package packedmap
