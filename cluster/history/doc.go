// Package history keeps the recent past of a node as series of numbers: an hour in steps of 10
// seconds and a day in steps of 5 minutes, for the node, for the sum of all queues, and for the
// 1,000 queues that were in use most recently. Its memory is fixed: about 17 MB with all queues in
// use, see [value].
//
// The package has no clock and reads no state: the node passes samples to [History.Add]. Package
// cluster takes them and merges the series of several nodes with [Merge].
package history
