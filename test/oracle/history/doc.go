// Package history is what a fault run writes down: one line of JSON for each call
// by a client, each fault, each look at a node, in the order in which they ended.
//
// It owns the lines, how they are written and how they are read. It refuses to
// know what is right or wrong (check, test/oracle/logcheck), and how a run is made.
//
// The number of an operation is known before its call and is sent with it, as the
// operation id that the fault build puts into the log: that of a stock SDK is
// followed by a dot and the number of the SDK's try, since an SDK repeats calls by
// itself. Operations that were never sent are not in a history, so that numbers
// have gaps.
//
// Callers are test/faults, its checkers and its report, test/oracle/logcheck and
// test/oracle/linearizability.
package history
