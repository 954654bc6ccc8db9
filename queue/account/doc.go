// Package account tells apart the queues and topics of accounts by their names, and holds the
// [Quota] and the [Usage] of an account.
//
// The state names a queue or a topic of an account as account/name, and one of the cluster's own
// account by its plain name. A plain name has no slash, so the two never collide.
package account
