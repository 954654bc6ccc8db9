// Package nodecert owns the mark in a certificate that makes its holder a node of the cluster: a
// DNS name in a reserved domain. A certificate for the client port has none.
//
// It refuses to know connections and files. Package peernet checks the mark, the command cert
// sets it.
package nodecert
