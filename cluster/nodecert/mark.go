// Package nodecert marks the certificates of nodes: a DNS name in a reserved domain, which
// certificates for the client port lack.
package nodecert

import (
	"crypto/x509"
	"slices"
	"strings"
)

// domain is reserved: it is no public name, and hosts have names of their own.
const domain = ".node.seriatim"

// AnyNode is the node name in the mark of a certificate that all nodes share.
const AnyNode = "*"

// Mark returns the DNS name that marks the certificate of a node, given the node's name.
func Mark(node string) string { return node + domain }

// IsMark reports whether a DNS name of a certificate is the mark of some node.
func IsMark(name string) bool { return strings.HasSuffix(name, domain) }

// Marked reports whether a certificate is that of a node.
func Marked(c *x509.Certificate) bool { return slices.ContainsFunc(c.DNSNames, IsMark) }

// Names reports whether a certificate is that of the node with a name.
func Names(c *x509.Certificate, node string) bool {
	return slices.Contains(c.DNSNames, Mark(node)) || slices.Contains(c.DNSNames, Mark(AnyNode))
}
