// Package failover kills, stops and damages the nodes of a real three-node cluster while SDK
// clients and the Go client of the native API use it. Acknowledged messages are kept, duplicates
// stay suppressed, group order holds, and a retried receive gives the same messages.
//
// SERIATIM_KILLS sets how often the leader is killed (default 10).
package failover
