package transport

import (
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"github.com/seriatimq/seriatim/transport/amqp"
)

// AMQP over WebSocket, as clients of Azure Service Bus use it. The path may end in a slash.
const (
	webSocketPath     = "/$servicebus/websocket"
	webSocketProtocol = "AMQPWSB10"
)

// withWebSocket serves AMQP over WebSocket, and all other requests with next. ctx is the parent of the
// connections. Browsers on pages of other sites are refused: without --auth they could do anything.
//
// A ping or an empty message is no input for the time-outs of AMQP, so a flood of them ends with
// those. The messages of a client are a stream of bytes, whatever their lengths.
func withWebSocket(ctx context.Context, server *amqp.Server, next http.Handler) http.Handler {
	if server == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || strings.TrimSuffix(r.URL.Path, "/") != webSocketPath {
			next.ServeHTTP(w, r)
			return
		}
		socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{webSocketProtocol}})
		if err != nil {
			return // the client has its answer
		}
		below, _ := r.Context().Value(connKey{}).(net.Conn)
		server.Serve(&webConn{Conn: websocket.NetConn(ctx, socket, websocket.MessageBinary), socket: socket, below: below})
	})
}

// connKey is the key of the connection in the contexts of net/http.
type connKey struct{}

// webConn is the stream of bytes in a WebSocket.
type webConn struct {
	net.Conn
	socket *websocket.Conn
	below  net.Conn
}

// NetConn returns the connection below the WebSocket.
func (c *webConn) NetConn() net.Conn { return c.below }

// Close closes the connection at once: AMQP has said goodbye before.
func (c *webConn) Close() error {
	err := c.socket.CloseNow()
	_ = c.Conn.Close() // ends its timers; the connection is closed already
	return err
}
