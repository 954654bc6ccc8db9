// Package codec encodes the entries of the log, and the answers that nodes send each other. It
// holds the table of commands with their numbers and format versions.
//
// # Design
//
// A log entry is an envelope around frames, one per command: group commit
// puts many commands into one entry, and a frame made by a follower is put
// into the leader's entry as it is. A frame says its number, version and
// length in front of a protobuf body, so that a node can refuse what it does
// not know without parsing it. Package wire encodes and decodes the body.
package codec
