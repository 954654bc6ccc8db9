// Package codec encodes the entries of the log, and the answers that nodes send each other. It
// holds the table of commands with their numbers and format versions.
//
// # Design
//
// A command has a line in the table (table.go) and two functions that convert it, in
// the file of its family: those whose numbers have the same tens. A file for each
// command would soon be more than a folder may hold.
//
// A log entry is an envelope around frames, one per command: group commit
// puts many commands into one entry, and a frame made by a follower is put
// into the leader's entry as it is. A frame says its number, version and
// length in front of a protobuf body, so that a node can refuse what it does
// not know without parsing it.
//
// Sends, receives and deletes are encoded and decoded by hand (wire.go), in the bytes of
// the protobuf library: decoding was 15 to 25 per cent of the time a replica
// applies, and a forwarded command is decoded at the leader once more. By hand
// it takes half of that, encoding a third. What is left of applying is
// package queue's.
package codec
