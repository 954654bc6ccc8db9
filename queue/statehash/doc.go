// Package statehash is the keyed hash behind the hash of the state, and behind all
// that is derived from the key: identifiers, receipt handles, deduplication keys.
//
// # What it owns
//
// The key of a cluster, the form of a hashed record, the kinds that keep the uses
// of the key apart, and sums of record hashes.
//
// # What it refuses to know
//
// Which records there are. Whatever has state hashes its own records and keeps
// their sum.
//
// # Who calls it
//
// Package queue and those below it that have records or derive something from the
// key.
package statehash
