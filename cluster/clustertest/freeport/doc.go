// Package freeport hands out loopback ports to tests.
//
// It divides the ports below those that the system assigns to outgoing connections (32768 and up
// on Linux) among the test processes of a machine. A process reserves whole blocks by listening
// on the first port of each. So a node that is down for a while finds its ports free when it
// returns.
package freeport
