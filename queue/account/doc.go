// Package account is what the state knows of accounts, which own queues and topics:
// how names tell them apart, how much each may have, and how much it has.
//
// # What it owns
//
// Qualified names, the [Quota] of an account, and its [Usage].
//
// # What it refuses to know
//
// Queues, topics, keys and policies, and which account a node is configured to have: that
// one is written without its number.
//
// # Who calls it
//
// Package queue counts and asks for room; package transport/aws puts names together and
// takes them apart.
//
// # Design
//
// A queue or a topic of an account is known to the state as account/name, and one of the
// cluster's own account by its plain name. No name has a slash, so the two never meet, and
// a state from before there were accounts means what it meant.
package account
