// Package freeport reserves loopback ports for tests.
//
// It divides the ports below those of outgoing connections (32768 and up on Linux) among the test
// processes of a machine. A process reserves whole blocks by listening on the first port of each,
// so a node that is down for a while finds its ports free when it returns.
package freeport
