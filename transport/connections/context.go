package connections

import (
	"context"
	"net"
)

// As returns the first connection that is a T among a connection and those that it wraps.
func As[T any](conn net.Conn) (found T, ok bool) {
	for conn != nil {
		if found, ok = conn.(T); ok {
			return found, true
		}
		above, wraps := conn.(interface{ NetConn() net.Conn })
		if !wraps {
			break
		}
		conn = above.NetConn()
	}
	return found, false
}

type contextKey struct{}

// With returns a context for the requests of a connection. The listener that accepted conn wrapped
// it in one with a method Connection; without it, From returns nil.
func With(ctx context.Context, conn net.Conn) context.Context {
	tracked, ok := As[interface{ Connection() *Connection }](conn)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, tracked.Connection())
}

// From returns the connection of a request, nil if it is unknown.
func From(ctx context.Context) *Connection {
	c, _ := ctx.Value(contextKey{}).(*Connection)
	return c
}
