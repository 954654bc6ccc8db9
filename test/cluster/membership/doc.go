// Package membership tests changes of a running cluster from outside: real
// server processes with real disks, changed with the command-line tool while
// stock SDK clients with default retries send, receive and delete. It covers
// rolling restarts, growing and shrinking, a wiped node, a removed node, drained
// nodes, and a restart of all nodes with other addresses.
//
// It imports no package of the product. SERIATIM_ROLLS is how many rolling
// restarts of all nodes there are (default 1), SERIATIM_BINARY the program
// (default: built for the tests).
package membership
