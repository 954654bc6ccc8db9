// Package access is the state of who may use the cluster: access keys, the policies of
// the users they belong to, and accounts.
//
// # What it owns
//
// The [Table] of keys, policies and accounts, the [SealingKey], the sum of their record hashes and their size.
// It also has the policies of queues and topics, which are attributes of those.
//
// # What it refuses to know
//
// Signatures, and what a policy says: both are examined where requests arrive. It
// draws no secrets.
//
// # Who calls it
//
// Package queue, whose commands change the table, and package transport/auth, which
// asks it with every request.
//
// # Design
//
// A Table is immutable, and a change makes another one, so that requests read the one of
// their moment without a lock. Changes are rare and share all that they leave alone.
//
// A signature of version 4 cannot be verified with less than the secret itself, so the
// secret has to be kept. From format version 5 on it is kept sealed (package
// cluster/sealing): the state holds text that only the nodes of the cluster can open.
package access
