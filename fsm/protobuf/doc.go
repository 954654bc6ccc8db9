// Package protobuf writes and reads protobuf messages, and converts the values that
// several kinds of messages hold.
//
// # What it owns
//
// How a message is encoded, so that equal ones give equal bytes, and the protobuf form
// of attributes, tags, policies and identifiers.
//
// # What it refuses to know
//
// Which commands, answers and records hold them.
//
// # Who calls it
//
// Packages codec and snapshot, for which package fsmpb has the messages.
package protobuf
