// Package session keeps the sessions of a queue: the message groups that are locked
// by a receiver or have a state, or both, as on Azure Service Bus.
//
// # What it owns
//
// The record of a session, which outlives the messages of its group; when locks end;
// in what order states were set; what is in flight under each lock and what of it was
// given back; the sum of the record hashes and an estimate of the size.
//
// # What it refuses to know
//
// Messages: they are numbers here. Whether a group may be locked and what the end of
// a lock makes receivable is for package queue to say. Nothing ends by itself: the
// caller compares times and takes out what is over.
//
// # Who calls it
//
// Package queue, one table for each queue.
package session
