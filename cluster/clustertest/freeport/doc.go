// Package freeport gives tests loopback ports that nothing else takes from them.
//
// # What it owns
//
// The division of the ports below those that the system hands out to connections
// that dial (32768 and up on Linux) among the test processes of a machine. A process
// owns whole blocks; it shows that by listening on the first port of each until it
// ends, so a node that is down for a while finds its ports free when it comes back.
//
// # What it refuses to know
//
// What the ports are for, and every other package of ours.
//
// # Who calls it
//
// Tests, and the harness that starts processes for them.
package freeport
