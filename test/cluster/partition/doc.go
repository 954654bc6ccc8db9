// Package partition breaks the network below a real cluster in fixed ways and checks the answers
// on each side: leaders that are cut off in one or both directions, flapping lines, followers
// that hear no node, members that change while the network is divided.
//
// It uses the lab of test/kit/lab/network, and skips on a machine without network namespaces.
// test/faults breaks networks by a seeded schedule.
package partition
