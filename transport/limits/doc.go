// Package limits bounds the resources that clients of a port can take: connections, bytes and time.
// It knows no protocol. The protocol servers of package transport use its numbers, and their
// connections come from its [Listener].
package limits
