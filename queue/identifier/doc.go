// Package identifier is how clients name what they sent and received: message ids,
// sequence numbers, receipt handles, ids of move tasks.
//
// # What it owns
//
// Their forms as bytes and as text, and how they follow from the key of the cluster
// and from counters of the state. Every replica derives the same ones, and without
// the key nobody can forge a handle.
//
// # What it refuses to know
//
// What they name. Whether a handle is the last one of its message, or its message
// is still there, is for the queue to say.
//
// # Who calls it
//
// Packages queue, topic and notification; package ops reads the text forms.
package identifier
