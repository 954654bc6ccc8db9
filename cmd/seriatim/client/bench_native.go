package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/grpcwire"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/httpwire"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

// dialNative makes another connection of a client for the native API.
func (c *benchClient) dialNative(ctx context.Context) (*grpcwire.Conn, error) {
	conn, err := grpcwire.Dial(ctx, c.conn.Address, c.run.timeout, c.signature)
	if err != nil {
		return nil, httpwire.Cut(err)
	}
	return conn, nil
}

// signature is the header of a call: its signature, if there is a key, and the account that it
// is for, if one was named. It is good for a quarter of an hour, of which grpcwire uses a part.
func (c *benchClient) signature(method string) http.Header {
	r := &http.Request{Method: http.MethodPost, Host: c.conn.Address, URL: &url.URL{Path: method}, Header: http.Header{}}
	if c.run.wire.signer != nil {
		c.run.wire.signer.SignHead(r)
	}
	if account := strings.Trim(c.run.wire.path, "/"); account != "" {
		r.Header.Set("Seriatim-Account", account)
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

// bindConnections adds the flag that lets clients share connections.
func (f *benchFlags) bindConnections(c *cobra.Command) {
	c.Flags().IntVar(&f.connections, "connections", 0, "connections that the clients share, with --protocol grpc (default: one for each client)")
}

// nativeCaller makes calls of the native API: on a connection of its own, or on a shared one.
type nativeCaller interface {
	Call(method string, message []byte, wait time.Duration) ([]byte, error)
	Close()
}

// benchConn is a connection that several clients share. Safe for concurrent use.
type benchConn struct {
	dial func(c *benchClient) (*grpcwire.Shared, error)

	mu   sync.Mutex
	conn *grpcwire.Shared // nil before the first call
}

// share makes the connections that the clients share, if they do. They last until ctx ends or
// no client is left.
func (r *benchRun) share(ctx context.Context) {
	for range r.flags.connections {
		r.shared = append(r.shared, &benchConn{dial: func(c *benchClient) (*grpcwire.Shared, error) {
			return grpcwire.DialShared(ctx, c.conn.Address, r.timeout, c.signature)
		}})
	}
}

// caller connects a client, again if the connection is gone.
func (s *benchConn) caller(c *benchClient) (nativeCaller, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		if caller := s.conn.Caller(); caller != nil {
			return caller, nil
		}
	}
	conn, err := s.dial(c)
	if err != nil {
		return nil, httpwire.Cut(err)
	}
	s.conn = conn
	return conn.Caller(), nil
}

// connectNative connects a client that makes unary calls.
func (c *benchClient) connectNative(ctx context.Context) (nativeCaller, error) {
	if n := len(c.run.shared); n > 0 {
		return c.run.shared[c.number%n].caller(c)
	}
	return c.dialNative(ctx)
}

// callNative makes a call with what is in body. Each element of the answer, of which each
// answer is a list, goes to f.
func (c *benchClient) callNative(ctx context.Context, method string, wait time.Duration, f func(element []byte) error) error {
	c.calls++
	if c.native == nil {
		conn, err := c.connectNative(ctx)
		if err != nil {
			return err
		}
		c.native = conn
	}
	answer, err := c.native.Call(method, c.body, wait)
	if err != nil {
		return c.nativeFailed(err)
	}
	return grpcwire.Fields(answer, func(field protowire.Number, text []byte, _ uint64) error {
		if field != 1 {
			return nil
		}
		return f(text)
	})
}

// sendNative is send over the native API.
func (c *benchClient) sendNative(ctx context.Context, n int) ([][]byte, error) {
	b := grpcwire.Text(grpcwire.Message(c.body), 1, c.run.queue)
	for i := range n {
		e := &c.entries[i]
		b = grpcwire.Outgoing(b, 2, e.body, e.group, e.deduplication)
	}
	c.body, c.ids = b, c.ids[:0]
	if err := c.callNative(ctx, grpcwire.MethodSend, 0, func(result []byte) error {
		id, failure, err := grpcwire.Result(result)
		if failure != nil {
			err = nativeRefusal(failure)
		}
		c.ids = append(c.ids, id)
		return err
	}); err != nil {
		return nil, err
	}
	if len(c.ids) != n {
		return nil, fmt.Errorf("an answer about %s, want %d", plural.Count(len(c.ids), "message", "messages"), n)
	}
	return c.ids, nil
}

// receiveNative is receive over the native API.
func (c *benchClient) receiveNative(ctx context.Context, n, waitSeconds int) ([]benchMessage, error) {
	b := grpcwire.Text(grpcwire.Message(c.body), 1, c.run.queue)
	b = grpcwire.Number(b, 2, uint64(n))
	c.body, c.taken = grpcwire.Number(b, 4, uint64(waitSeconds)), c.taken[:0]
	if err := c.callNative(ctx, grpcwire.MethodReceive, time.Duration(waitSeconds)*time.Second, func(message []byte) error {
		handle, body, err := grpcwire.Delivered(message)
		c.taken = append(c.taken, benchMessage{handle, body})
		return err
	}); err != nil {
		return nil, err
	}
	if len(c.taken) > n {
		return nil, fmt.Errorf("%s, asked for %d", plural.Count(len(c.taken), "message", "messages"), n)
	}
	return c.taken, nil
}

// buildNativeDelete is buildDelete for the native API.
func (c *benchClient) buildNativeDelete(messages []benchMessage) (method string) {
	b := grpcwire.Text(grpcwire.Message(c.body), 1, c.run.queue)
	for i := range messages {
		b = grpcwire.Text(b, 2, messages[i].handle)
	}
	c.body = b
	return grpcwire.MethodDelete
}

// deleteNative is delete over the native API.
func (c *benchClient) deleteNative(ctx context.Context, method string, n int) error {
	outcomes := 0
	if err := c.callNative(ctx, method, 0, func(outcome []byte) error {
		outcomes++
		return grpcwire.Fields(outcome, func(_ protowire.Number, failure []byte, _ uint64) error { return nativeRefusal(failure) })
	}); err != nil {
		return err
	}
	if outcomes != n {
		return fmt.Errorf("an answer about %s, want %d", plural.Count(outcomes, "message", "messages"), n)
	}
	return nil
}

// nativeRefusal is a Failure as an error.
func nativeRefusal(failure []byte) error {
	reason, message := grpcwire.Failure(failure)
	return &benchRefusal{400, reason, message}
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
