// Package session keeps the sessions of a queue, as on Azure Service Bus: the message groups
// that a receiver has locked, that have a state, or both.
//
// A session outlives the messages of its group. The table knows messages as numbers only. It
// ends nothing by itself: the caller compares times and removes what is over.
package session
