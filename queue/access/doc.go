// Package access is the state of access keys, of the policies of their users, and of accounts.
// Requests are verified in transport/auth, which reads the [Table] with each request. The
// policies of queues and topics are attributes of those.
//
// # Design
//
// A Table is immutable, and a change makes another one, so that requests read the one of
// their moment without a lock. Changes are rare and share all that they leave alone.
//
// A signature of version 4 cannot be verified with less than the secret itself, so the
// secret has to be kept. It is kept sealed (package
// cluster/sealing): the state holds text that only the nodes of the cluster can open.
package access
