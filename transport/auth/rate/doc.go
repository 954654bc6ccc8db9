// Package rate bounds the requests a second of each account at one node.
//
// # Design
//
// Each node counts what it serves itself, without asking others: an account whose clients
// spread over three nodes has three times its limit, and no request waits for a count to
// be shared. A bucket holds what one second brings, so that an idle account may send that
// much at once. Callers without a key have a bucket of their own for each account, or they
// could take all requests of one from its owner. Accounts without a limit cost a look into
// the table of accounts.
package rate
