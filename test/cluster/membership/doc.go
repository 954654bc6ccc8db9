// Package membership changes a running cluster of real server processes with the command-line
// tool while SDK clients send, receive and delete: rolling restarts, growing and shrinking, a
// wiped node, a removed node, drained nodes, and a restart of all nodes with other addresses.
//
// SERIATIM_ROLLS sets the number of rolling restarts (default 1).
package membership
