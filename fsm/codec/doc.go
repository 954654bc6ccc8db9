// Package codec encodes the entries of the log, and the answers that nodes send each other. It
// holds the table of commands with their numbers and format versions.
//
// # Design
//
// A log entry is an envelope around frames, one for each command: group commit puts many commands
// into one entry, and the leader puts a frame from a follower into its entry unchanged. Number,
// version and length of the command precede its protobuf body, so a node can refuse an unknown
// command without parsing it. Package wire encodes and decodes the body.
package codec
