// Package limits bounds the resources that clients of a port can take: connections, bytes and time.
// It knows no protocol. The protocol servers of package transport use its numbers, and their
// connections come from its [Listener].
package limits

import "time"

// Timeouts and sizes. Long polls set the lower bounds: a request may wait for 20 s, then look for a
// leader for up to 10 s. No timeout includes the time of the handler.
const (
	// HeaderTimeout bounds the wait for the first byte of a connection, the TLS handshake, and the
	// time from the first byte of a request to the end of its header.
	HeaderTimeout = 10 * time.Second
	// BodyTimeout bounds the time for receiving a body.
	BodyTimeout = 60 * time.Second
	// WriteTimeout is the time in which a client must read a small answer; see WriteLimit.
	WriteTimeout = 30 * time.Second
	// ScarceTimeout replaces BodyTimeout and WriteTimeout for bodies and answers that are counted
	// while memory is scarce.
	ScarceTimeout = 15 * time.Second
	// IdleTimeout bounds the time between two requests of a connection.
	IdleTimeout = 120 * time.Second
	// HeaderBytesMax bounds a header; presigned requests carry long query strings.
	HeaderBytesMax = 64 << 10
	// BodyBytesMax bounds a body. A batch holds 1 MiB of text. JSON may write each byte as \uXXXX
	// (six bytes); names, ids and structure fit into the remaining 2 MiB.
	BodyBytesMax = 8 << 20
	// FreeBytes is the part of a buffer or an answer that is not counted against the budget, so
	// that small requests need not ask.
	FreeBytes = 4 << 10
)

// WriteLimit returns the time in which a client must read an answer: 8 s more for each MiB, or 2 s
// while memory is scarce.
func WriteLimit(size int64, scarce bool) time.Duration {
	mebibytes := time.Duration(size >> 20)
	if size > FreeBytes && scarce {
		return ScarceTimeout + mebibytes*2*time.Second
	}
	return WriteTimeout + mebibytes*8*time.Second
}
