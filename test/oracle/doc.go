// Package oracle asks the reference model for the expected answer to a command, and compares it
// with the answer of the product. It binds the small integers of the model to message ids,
// receipt handles, sequence numbers and tasks of the product. It never applies a command to the
// product.
//
// test/rules/model uses it with random histories, test/oracle/logcheck with the log of a
// cluster.
package oracle
