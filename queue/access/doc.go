// Package access holds access keys, user policies and accounts. Package transport/auth reads the
// [Table] with each request. The policies of queues and topics are their attributes; the Table has
// a copy.
//
// # Design
//
// A Table is immutable, and a change makes a new one that shares the unchanged parts, so requests
// read it without a lock.
//
// Verifying a signature of version 4 needs the secret itself. Package cluster/sealing encrypts it,
// so that only nodes of the cluster can read it.
package access
