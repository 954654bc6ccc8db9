package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// requestTimeout bounds the time in which a subscriber must answer (SNS).
	requestTimeout = 15 * time.Second
	// answerBytesMax bounds the bytes that are read from an answer to reuse its connection; a longer
	// answer closes the connection.
	answerBytesMax = 64 << 10
	headerBytesMax = 64 << 10
	idleTimeout    = 60 * time.Second
	idleMax        = 256
	idlePerHostMax = 16 // the concurrent posts of one subscription
)

// Poster posts to subscribers. Safe for concurrent use. Made by New.
type Poster struct {
	client    http.Client
	transport *http.Transport
}

// New returns a Poster that connects to permitted addresses.
func New(addresses Addresses) *Poster {
	return newPoster(addresses.dialer(requestTimeout, nil).DialContext)
}

func newPoster(dial func(ctx context.Context, network, address string) (net.Conn, error)) *Poster {
	p := &Poster{transport: &http.Transport{
		DialContext:            dial,
		DisableCompression:     true, // the answer is not read
		TLSHandshakeTimeout:    requestTimeout,
		MaxResponseHeaderBytes: headerBytesMax,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           idleMax,
		MaxIdleConnsPerHost:    idlePerHostMax,
	}}
	p.client = http.Client{
		Transport:     p.transport,
		Timeout:       requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p
}

// userAgent is that of SNS, which subscribers check.
const userAgent = "Amazon Simple Notification Service Agent"

// Post sends one POST request and returns the status of the answer.
func (p *Poster) Post(ctx context.Context, target string, header [][2]string, body string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(body))
	if err != nil {
		return 0, withoutURL("making a request", err)
	}
	r.Header.Set("User-Agent", userAgent)
	for _, h := range header {
		r.Header.Set(h[0], h[1])
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return 0, withoutURL("posting", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusSwitchingProtocols {
		// The body is the connection, which neither the timeout nor ctx ends.
		return answer.StatusCode, nil
	}
	// The content does not matter.
	_, _ = io.CopyN(io.Discard, answer.Body, answerBytesMax)
	return answer.StatusCode, nil
}

// withoutURL removes the URL from an error, because it may hold a password.
func withoutURL(doing string, err error) error {
	if inURL, ok := errors.AsType[*url.Error](err); ok {
		err = inURL.Err
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// Close closes the idle connections.
func (p *Poster) Close() { p.transport.CloseIdleConnections() }
