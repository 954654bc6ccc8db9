// Package history reads and writes the record of a fault run: one line of JSON for each call by
// a client, each fault, each look at a node, in the order in which they ended.
//
// The number of an operation is sent with its call, as the operation id in the log of a fault
// build. An SDK repeats calls by itself, so a dot and the number of its try follow. Operations
// that were never sent are not in a history: numbers have gaps.
package history
