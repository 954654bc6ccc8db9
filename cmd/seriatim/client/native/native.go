// Package native connects the command-line tool to the native API and explains its errors to a
// user at a terminal.
package native

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/grpc/client"
)

// When there are other nodes to ask, DialMax bounds the time in which a node must accept a
// connection, and answer a ping after keepaliveTime without an answer.
const (
	DialMax       = 3 * time.Second
	keepaliveTime = 10 * time.Second // the shortest that the library allows
)

// Options configures connections.
type Options struct {
	Addresses []string      // URLs of client ports
	TLS       *tls.Config   // for https
	Timeout   time.Duration // for one call, over all nodes
	Account   string        // of calls without a signature; empty: that of the cluster
	Key       *client.Key   // signs the calls; nil: they are not signed
}

// Conn makes calls. Safe for concurrent use.
type Conn struct {
	client  *client.Client
	urls    map[string]string // of client ports, by host:port
	timeout time.Duration
}

// Hosts returns host and port of client ports, and whether they have TLS.
func Hosts(addresses []string) (hosts []string, secure bool, err error) {
	for i, address := range addresses {
		u, err := url.Parse(address)
		if err != nil {
			return nil, false, exit.New(exit.Usage, err, "")
		}
		if i > 0 && secure != (u.Scheme == "https") {
			return nil, false, exit.New(exit.Usage, fmt.Errorf("some of %s are https and some are not", strings.Join(addresses, ", ")),
				"the client ports of a cluster all have TLS, or none has: write all of them in the same way")
		}
		secure = u.Scheme == "https"
		host := u.Host
		if u.Port() == "" {
			host = net.JoinHostPort(u.Hostname(), map[bool]string{false: "80", true: "443"}[secure])
		}
		hosts = append(hosts, host)
	}
	return hosts, secure, nil
}

// Open makes a connection. The first call connects.
func Open(o Options) (*Conn, error) {
	hosts, secure, err := Hosts(o.Addresses)
	if err != nil {
		return nil, err
	}
	urls := make(map[string]string, len(hosts))
	for i, host := range hosts {
		urls[host] = o.Addresses[i]
	}
	options := client.Options{RetryFor: o.Timeout, Attempts: len(hosts), ContentDeduplication: true, Account: o.Account,
		Key: o.Key}
	if secure {
		options.TLS = o.TLS
	}
	if len(hosts) > 1 {
		options.Dial = append(options.Dial, grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.DefaultConfig, MinConnectTimeout: min(DialMax, o.Timeout/time.Duration(len(hosts))),
		}), grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: DialMax}))
	}
	options.Dial = append(options.Dial, grpc.WithChainUnaryInterceptor(keepRequestID), grpc.WithUserAgent("seriatim-cli"))
	c, err := client.Dial(options, hosts...)
	if err != nil {
		return nil, exit.New(exit.Usage, err, "")
	}
	return &Conn{client: c, urls: urls, timeout: o.Timeout}, nil
}

// Close ends the connections.
func (c *Conn) Close() { _ = c.client.Close() } // no call uses it any more

// URL returns the URL of a client port that answers.
func (c *Conn) URL() string { return c.urls[c.client.Address()] }

// Do makes calls within the timeout, and adds an exit code to their error. wait is the time of a
// long poll, added to the timeout.
func (c *Conn) Do(ctx context.Context, wait time.Duration, calls func(context.Context, *client.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout+wait)
	defer cancel()
	id := ""
	err := calls(context.WithValue(ctx, requestID{}, &id), c.client)
	return explain(err, id, len(c.urls))
}

// Stream makes calls without a timeout, such as a stream, and adds an exit code to their error.
func (c *Conn) Stream(ctx context.Context, calls func(context.Context, *client.Client) error) error {
	id := ""
	err := calls(context.WithValue(ctx, requestID{}, &id), c.client)
	return explain(err, id, len(c.urls))
}

// Get makes one call that returns a value, as Do does.
func Get[T any](ctx context.Context, c *Conn, call func(context.Context, *client.Client) (T, error)) (out T, err error) {
	err = c.Do(ctx, 0, func(ctx context.Context, to *client.Client) (err error) {
		out, err = call(ctx, to)
		return err
	})
	return out, err
}
