// Package ledger compares what clients were told about their sends with what the
// queue delivers: nothing acknowledged is lost, nothing refused is there, nothing
// comes twice, and each message group keeps its order.
//
// It owns the account of one queue while a cluster is broken around it. It refuses
// to know how calls are made, which of them are repeated, and what was broken; what
// whole histories say beyond that is in test/oracle.
//
// Callers are the suites below test/cluster and test/bench.
package ledger
