package transport

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	messaging "github.com/Azure/go-amqp"
	"github.com/coder/websocket"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/amqp"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

// links refuses every link of AMQP.
type links struct{}

func (links) Authenticate(*amqp.Conn, string, string, string) bool { return true }
func (links) Attach(r *amqp.Request)                               { r.Refuse(&wire.Error{Condition: "amqp:not-found"}) }
func (links) Abandoned(*amqp.Request)                              {}
func (links) SessionEnded(*amqp.Session)                           {}
func (links) Ended(*amqp.Conn)                                     {}
func (links) Opened(c *amqp.Conn, _ *wire.Open) *wire.Error {
	c.Verified()
	return nil
}

// Clients of HTTP and of AMQP share a port, with and without TLS.
func TestAMQP(t *testing.T) {
	shown, pool := certificate(t)
	for name, secure := range map[string]*tls.Config{"plain": nil, "TLS": shown} {
		t.Run(name, func(t *testing.T) {
			s := listen(t, Config{TLS: secure, AMQP: links{}, ContainerID: "n1", Handler: http.HandlerFunc(
				func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") })})
			address, scheme, trusted := "amqp://"+s.Addr().String(), "http://", (*tls.Config)(nil)
			if secure != nil {
				address, scheme = "amqps://"+s.Addr().String(), "https://"
				trusted = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
			}
			options := &messaging.ConnOptions{TLSConfig: trusted, SASLType: messaging.SASLTypeAnonymous()}
			c, err := messaging.Dial(t.Context(), address, options)
			clustertest.Must(t, err)
			session, err := c.NewSession(t.Context(), nil)
			clustertest.Must(t, err)
			if _, err := session.NewSender(t.Context(), "q", nil); err == nil {
				t.Error("the handler has refused the link")
			}
			answer, err := client(t, 1, trusted).Get(scheme + s.Addr().String())
			clustertest.Must(t, err)
			body, err := io.ReadAll(answer.Body)
			clustertest.Must(t, err)
			clustertest.Must(t, answer.Body.Close())
			if string(body) != "answer" {
				t.Errorf("got %q over HTTP", body)
			}
			shutdown(t, s)
			if err := c.Close(); err == nil {
				t.Error("the connection was open after the shutdown")
			}
		})
	}
}

// AMQP over WebSocket shares the port, too, with and without TLS. It has the limits of all connections.
func TestWebSocket(t *testing.T) {
	shown, pool := certificate(t)
	for name, secure := range map[string]*tls.Config{"plain": nil, "TLS": shown} {
		t.Run(name, func(t *testing.T) {
			s := listen(t, Config{TLS: secure, AMQP: links{}, Handler: http.NotFoundHandler()})
			scheme, trusted := "ws://", (*tls.Config)(nil)
			if secure != nil {
				scheme, trusted = "wss://", &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
			}
			address := scheme + s.Addr().String() + webSocketPath
			open := func(header http.Header) (*websocket.Conn, *http.Response, error) {
				return websocket.Dial(t.Context(), address, &websocket.DialOptions{
					HTTPClient: client(t, 1, trusted), HTTPHeader: header, Subprotocols: []string{webSocketProtocol}})
			}
			socket, _, err := open(nil)
			clustertest.Must(t, err)
			if got := socket.Subprotocol(); got != webSocketProtocol {
				t.Errorf("the protocol is %q", got)
			}
			c, err := messaging.NewConn(t.Context(), websocket.NetConn(t.Context(), socket, websocket.MessageBinary),
				&messaging.ConnOptions{SASLType: messaging.SASLTypeAnonymous()})
			clustertest.Must(t, err)
			session, err := c.NewSession(t.Context(), nil)
			clustertest.Must(t, err)
			if _, err := session.NewSender(t.Context(), "q", nil); err == nil {
				t.Error("the handler has refused the link")
			}
			if n := s.Connections().Open; n != 1 {
				t.Errorf("%d connections are open", n)
			}
			_, answer, err := open(http.Header{"Origin": {"https://example.com"}})
			if err == nil || answer.StatusCode != http.StatusForbidden {
				t.Errorf("a page of another site got %v, %v", answer, err)
			}
			shutdown(t, s)
			if err := c.Close(); err == nil {
				t.Error("the connection was open after the shutdown")
			}
		})
	}
}

// A protocol header is recognised in any number of parts. Without a handler of AMQP the connection ends.
func TestAMQPHeaderInParts(t *testing.T) {
	for name, handler := range map[string]amqp.Handler{"served": links{}, "not served": nil} {
		s := listen(t, Config{AMQP: handler, Handler: http.NotFoundHandler()})
		c, err := net.Dial("tcp", s.Addr().String())
		clustertest.Must(t, err)
		clustertest.Must(t, c.SetDeadline(time.Now().Add(time.Minute)))
		header := "AMQP\x03\x01\x00\x00"
		for i := range len(header) {
			_, err := io.WriteString(c, header[i:i+1])
			clustertest.Must(t, err)
			time.Sleep(time.Millisecond) // most bytes then come alone
		}
		got := make([]byte, len(header))
		_, err = io.ReadFull(c, got)
		if served := err == nil && string(got) == header; served != (handler != nil) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		clustertest.Must(t, c.Close())
		shutdown(t, s)
	}
}
