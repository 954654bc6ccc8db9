// Package nodecert marks the certificates of nodes with a DNS name in a reserved domain, which
// certificates for the client port lack.
package nodecert

import (
	"crypto/x509"
	"slices"
	"strings"
)

// domain is reserved: it is not public.
const domain = ".node.seriatim"

// AnyNode is the node name in the mark of a certificate for all nodes.
const AnyNode = "*"

// Mark returns the DNS name that marks the certificate of a node.
func Mark(node string) string { return node + domain }

// IsMark reports whether a DNS name marks a node.
func IsMark(name string) bool { return strings.HasSuffix(name, domain) }

// Marked reports whether a certificate belongs to a node.
func Marked(c *x509.Certificate) bool { return slices.ContainsFunc(c.DNSNames, IsMark) }

// Names reports whether a certificate belongs to the named node.
func Names(c *x509.Certificate, node string) bool {
	return slices.Contains(c.DNSNames, Mark(node)) || slices.Contains(c.DNSNames, Mark(AnyNode))
}
