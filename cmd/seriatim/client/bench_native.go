package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/grpcwire"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/httpwire"
)

// dialNative makes another connection of a client for the native API.
func (c *benchClient) dialNative(ctx context.Context) (*grpcwire.Conn, error) {
	conn, err := grpcwire.Dial(ctx, c.conn.Address, c.run.timeout, c.signature)
	if err != nil {
		return nil, httpwire.Cut(err)
	}
	return conn, nil
}

// signature is the header of a signed call, nil without a key. It is good for a quarter of
// an hour, of which grpcwire uses a part.
func (c *benchClient) signature(method string) http.Header {
	r := &http.Request{Method: http.MethodPost, Host: c.conn.Address, URL: &url.URL{Path: method}, Header: http.Header{}}
	if c.run.wire.signer != nil {
		c.run.wire.signer.SignHead(r)
	}
	return r.Header
}

// close closes the connections of a client.
func (c *benchClient) close() {
	c.conn.Close()
	if c.native != nil {
		c.native.Close()
	}
}

// sendNative is send over the native API.
func (c *benchClient) sendNative(ctx context.Context, n int) ([][]byte, error) {
	c.calls++
	if c.native == nil {
		conn, err := c.dialNative(ctx)
		if err != nil {
			return nil, err
		}
		c.native = conn
	}
	b := grpcwire.Text(grpcwire.Message(c.body), 1, c.run.queue)
	for i := range n {
		e := &c.entries[i]
		b = grpcwire.Outgoing(b, 2, e.body, e.group, e.deduplication)
	}
	c.body = b
	answer, err := c.native.Call(grpcwire.MethodSend, b, 0)
	if err != nil {
		return nil, c.nativeFailed(err)
	}
	c.ids = c.ids[:0]
	if err := grpcwire.Fields(answer, func(field protowire.Number, text []byte, _ uint64) error {
		if field != 1 {
			return nil
		}
		id, failure, err := grpcwire.Result(text)
		if failure != nil {
			reason, message := grpcwire.Failure(failure)
			err = &benchRefusal{400, reason, message}
		}
		c.ids = append(c.ids, id)
		return err
	}); err != nil {
		return nil, err
	}
	if len(c.ids) != n {
		return nil, fmt.Errorf("an answer about %d messages, want %d", len(c.ids), n)
	}
	return c.ids, nil
}

// nativeFailed closes the connection after an error that is not a status of the
// server.
func (c *benchClient) nativeFailed(err error) error {
	if _, answered := errorsAsStatus(err); answered {
		return err
	}
	c.native.Close()
	c.native = nil
	return httpwire.Cut(err)
}
