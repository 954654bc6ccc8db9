// Package session holds the sessions of a queue, as on Azure Service Bus: message groups that are
// locked or have a state.
//
// A session outlives the messages of its group. The table identifies messages by number. It expires
// nothing itself: the caller compares times and ends locks.
package session
