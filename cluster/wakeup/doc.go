// Package wakeup holds the three ways in which goroutines of a node wake each
// other: a Signal for one that works off what others leave, a Broadcast for all
// that wait for a change, and Sleep for a pause that a context can end.
//
// It owns nothing and knows nothing of what the news is: whoever is woken looks
// for itself. Most packages of the cluster use it.
package wakeup
