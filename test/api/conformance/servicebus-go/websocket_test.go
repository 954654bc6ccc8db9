package servicebus

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
	"github.com/coder/websocket"
)

// overWebSocket opens a client that uses WebSocket, without TLS if the nodes have none.
func (f *fixture) overWebSocket() *bus.Client {
	f.Helper()
	dial := func(ctx context.Context, to bus.NewWebSocketConnArgs) (net.Conn, error) {
		host, o := to.Host, &websocket.DialOptions{Subprotocols: []string{"AMQPWSB10"}}
		if security == nil {
			host = strings.Replace(host, "wss://", "ws://", 1)
		} else {
			o.HTTPClient = &http.Client{Transport: &http.Transport{TLSClientConfig: security}}
		}
		c, response, err := websocket.Dial(ctx, host, o) //nolint:bodyclose // the library closes it
		if err != nil {
			return nil, err
		}
		if got := response.Header.Get("Sec-WebSocket-Protocol"); got != "AMQPWSB10" {
			return nil, fmt.Errorf("protocol %q", got)
		}
		return websocket.NetConn(context.WithoutCancel(ctx), c, websocket.MessageBinary), nil
	}
	c, err := bus.NewClientFromConnectionString(connection(f.endpoint(), key, secret), &bus.ClientOptions{NewWebSocketConn: dial})
	f.must(err)
	f.Cleanup(func() { _ = c.Close(context.WithoutCancel(f.ctx)) }) // an error if the other side has closed first
	return c
}

func TestWebSocket(t *testing.T) {
	f := newFixture(t)
	path, c := f.queue(admin.QueueProperties{}), f.overWebSocket()
	s, err := c.NewSender(path, nil)
	f.must(err)
	r, err := c.NewReceiverForQueue(path, nil)
	f.must(err)
	for size := range 3 {
		f.must(s.SendMessage(f.ctx, &bus.Message{Body: make([]byte, 1+size*450_000)}, nil))
		got := f.one(r)
		f.same(len(got.Body), 1+size*450_000, "length")
		f.complete(r, got)
	}
}
