// Package oracle asks the reference model what the product should have
// answered to a command, and says how the two differ.
//
// # What it owns
//
// The way from a command of the product to a call of the model, the comparison
// of the two answers, and what binds the model's small integers to the
// product's opaque message ids, receipt handles, sequence numbers and tasks.
//
// # What it refuses to know
//
// Where commands and answers come from: random histories, the log of a
// cluster, or HTTP. It never applies a command to the product.
//
// # Who calls it
//
// Package test/rules/model with random histories, test/oracle/logcheck with what the nodes
// of a cluster applied, test/rules/onenode with what one node answered over HTTP.
package oracle
