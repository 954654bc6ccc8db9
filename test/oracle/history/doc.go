// Package history reads and writes the record of a fault run: one line of JSON for each call of a
// client, each fault, and each measurement of a node, in the order in which they ended.
//
// The number of an operation is sent with its call, and a fault build writes it to the log as the
// operation id. An SDK repeats calls by itself, so its id ends with a dot and the number of the
// try. Operations that were never sent are not in a history, so numbers have gaps.
package history
