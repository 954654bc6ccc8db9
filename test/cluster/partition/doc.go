// Package partition breaks the network below a real cluster in fixed ways and
// asks what clients are told on each side: leaders that are cut off in one or both
// directions, lines that flap, followers that hear nobody, members that change
// while the network is divided.
//
// It owns these scenarios; the ones drawn by a seed are in test/faults, which
// judges whole histories. It uses the lab of test/kit/lab/network, or, on a machine
// that permits no network namespaces, the proxies there, and says so.
package partition
