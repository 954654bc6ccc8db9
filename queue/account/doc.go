// Package account qualifies the names of queues and topics by account, and holds the [Quota] and
// [Usage] of an account.
//
// A qualified name is account/name, or the plain name for the cluster's own account. A plain name
// has no slash, so the two never collide.
package account
