// Package access holds access keys with their sealing key, user policies and accounts, and the
// commands that change them. Package transport/auth reads the [Table] with each request. The
// policies of queues and topics are their attributes; the Table has a copy.
//
// The name of a queue or topic is qualified by its account: account/name, or the plain name for the
// cluster's own account. A plain name has no slash, so the two never collide. [Usages] counts the
// resources of each account against its [Quota].
//
// # Design
//
// A Table is immutable, and a change makes a new one that shares the unchanged parts, so requests
// read it without a lock. Usages change in place: read them through a queue.View.
//
// Verifying a signature of version 4 needs the secret itself. Package cluster/sealing encrypts it,
// so that only nodes of the cluster can read it.
package access
