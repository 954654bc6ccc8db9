// Package rate bounds the requests a second of each account at one node.
//
// # Design
//
// Each node counts only its own requests, so no request waits for a shared count: an account whose
// clients use three nodes has three times its limit. A bucket holds the requests of one second, which an
// idle account may send at once. Requests without a key have their own bucket for each account, so that
// they do not use up the limit of its owner.
package rate
