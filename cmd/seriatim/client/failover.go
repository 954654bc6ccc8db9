package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/owntoken"
)

// port is the admin port of several nodes of one cluster. Safe for concurrent use.
type port struct {
	addresses []string // URLs without a trailing slash, at least one
	// guessed is true if an address without TLS is derived from a client port with TLS on another
	// machine.
	guessed  bool
	answered atomic.Int32 // number of the node to ask first
}

// answer is a complete answer of one node.
type answer struct {
	status int
	header http.Header
	body   []byte
	from   string // address of the node
}

// inTurn makes an attempt at one admin port after another until one answers. It repeats a request that
// may have taken effect only if the request is repeatable. An attempt returns the status of the answer,
// and whether the node may have received the request.
func (w *wire) inTurn(ctx context.Context, repeatable bool, attempt func(base string, last bool) (status int, sent bool, err error)) error {
	if err := w.exposed(); err != nil {
		return err
	}
	p, refused := w.admin, false
	var failures []error
	first := int(p.answered.Load())
	for i := range p.addresses {
		at := (first + i) % len(p.addresses)
		status, sent, err := attempt(p.addresses[at], i == len(p.addresses)-1)
		switch {
		case err == nil && repeatable && status == http.StatusServiceUnavailable:
			refused = true // another node may have a leader
			continue
		case err == nil:
			p.answered.Store(int32(at)) //nolint:gosec // the length of a typed list
			return nil
		case ctx.Err() != nil || sent && !repeatable:
			if errors.Is(ctx.Err(), context.DeadlineExceeded) { // the next call asks another node
				p.answered.Store(int32((at + 1) % len(p.addresses))) //nolint:gosec // the length of a typed list
			}
			return unanswered(p.addresses[at], err, sent && !repeatable)
		}
		failures = append(failures, unanswered(p.addresses[at], err, false))
	}
	if refused {
		return nil
	}
	return joined(failures)
}

// send sends a request, with a JSON document unless body is nil, to one node after another until one
// answers. Only a GET may be repeated.
func (w *wire) send(ctx context.Context, method, path string, body []byte) (got answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	repeatable := method == http.MethodGet
	err = w.inTurn(ctx, repeatable, func(base string, last bool) (int, bool, error) {
		ctx := ctx
		if !last && repeatable {
			share, cancel := context.WithTimeout(ctx, w.share(len(w.admin.addresses)))
			defer cancel()
			ctx = share
		}
		response, sent, err := w.roundTrip(ctx, w.http, func() (*http.Request, error) {
			q, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
			if err == nil && body != nil {
				q.Header.Set("Content-Type", "application/json")
			}
			return q, err
		})
		if err != nil {
			return 0, sent, err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
		if err == nil {
			got = answer{status: response.StatusCode, header: response.Header, body: text, from: base}
		}
		return response.StatusCode, true, err
	})
	return got, err
}

// share returns how long to wait for one of several nodes. By default that is longer than
// request-timeout, after which a server reports that it has no leader.
func (w *wire) share(nodes int) time.Duration { return w.timeout/time.Duration(nodes) + w.timeout/10 }

// roundTrip sends a request to one node, and once more if it has learnt the token of the node. sent is
// false if the node certainly received nothing.
func (w *wire) roundTrip(ctx context.Context, client *http.Client, build func() (*http.Request, error)) (response *http.Response, sent bool,
	err error) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent = true }})
	for {
		request, err := build()
		if err != nil {
			return nil, false, err
		}
		request.Header.Set("User-Agent", "seriatim-cli")
		w.authorize(request)
		response, err := client.Do(request.WithContext(ctx))
		if err != nil || !w.learnToken(response) {
			return response, sent, err
		}
		response.Body.Close()
	}
}

// exposed returns an error if the token would go to a guessed address without TLS.
func (w *wire) exposed() error {
	p := w.admin
	if !p.guessed || w.token == "" {
		return nil
	}
	return exit.New(exit.Usage, fmt.Errorf("the token would go to %s in the clear", p.addresses[0]),
		"name the admin port: --admin "+strings.Replace(p.addresses[0], "http:", "https:", 1)+", or with http:// if the port has no TLS")
}

// authorize adds the token for the admin port to a request.
func (w *wire) authorize(q *http.Request) {
	token := w.token
	if own, learnt := w.ownTokens.Load(q.URL.Host); token == "" && learnt {
		token = own.(string)
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
}

// learnToken reads the token of a node on this machine, after the node has refused a call without a
// token. It reports whether the call can be sent again. It reads only files with the name and form
// of owntoken, and sends the token only to this machine.
func (w *wire) learnToken(refused *http.Response) bool {
	to := refused.Request.URL
	file, named := strings.CutPrefix(refused.Header.Get("WWW-Authenticate"), "Bearer token-file=")
	if _, learnt := w.ownTokens.Load(to.Host); refused.StatusCode != http.StatusUnauthorized || !named || learnt || w.token != "" ||
		!isLoopback(to.Hostname()) {
		return false
	}
	file, err := strconv.Unquote(file)
	if err != nil {
		return false
	}
	own, err := owntoken.Read(file)
	if err != nil {
		return false // the answer has a hint
	}
	w.ownTokens.Store(to.Host, own)
	return true
}

// unanswered explains a missing answer. unknown means that the node may have carried out the
// request.
func unanswered(address string, err error, unknown bool) error {
	switch {
	case errors.Is(err, context.Canceled) && unknown:
		return exit.Interruption(native.UnknownHint)
	case errors.Is(err, context.Canceled):
		return exit.Interruption("")
	case errors.Is(err, context.DeadlineExceeded) && unknown:
		return exit.New(exit.Timeout, fmt.Errorf("no answer from %s in time: %w", address, context.DeadlineExceeded), native.UnknownHint)
	case errors.Is(err, context.DeadlineExceeded):
		return exit.New(exit.Timeout, fmt.Errorf("no answer from %s in time: %w", address, context.DeadlineExceeded),
			"raise --timeout; if that does not help the cluster may have no leader: seriatim status")
	case unknown:
		return exit.New(exit.Unavailable, fmt.Errorf("%s went away before it answered: %w", address, cause(err)), native.UnknownHint)
	}
	if found := tlsFailure(address, err); found != nil {
		return found
	}
	return exit.New(exit.Unavailable, fmt.Errorf("cannot reach %s: %w", address, cause(err)), adminHint)
}

// joined returns one error for all nodes, with the code of the last. If several do not answer, the
// hint is about the majority.
func joined(failures []error) error {
	last := failures[len(failures)-1]
	if len(failures) == 1 {
		return last
	}
	texts := make([]string, len(failures))
	late, hint := false, exit.HintOf(last)
	for i, err := range failures {
		texts[i] = err.Error()
		late = late || exit.CodeOf(err) == exit.Timeout
	}
	text := fmt.Sprintf("none of %d nodes answers at its admin port", len(failures))
	code := exit.CodeOf(last)
	switch {
	case late && code == exit.Unavailable:
		text, hint = "the cluster has no majority: "+text, native.ManyHint
	case hint == adminHint || code == exit.Timeout:
		hint = native.ManyHint
	}
	return exit.New(code, errors.New(text+": "+strings.Join(texts, "; ")), hint)
}

// httpClient returns the client for the admin port. With several addresses it gives up early on a
// node that does not accept a connection.
func httpClient(trusted *tls.Config, timeout time.Duration, addresses int) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig, transport.ForceAttemptHTTP2 = trusted, false // HTTP/1.1 is all the commands need
	if addresses > 1 {
		limit := min(native.DialMax, timeout/time.Duration(addresses))
		transport.DialContext = (&net.Dialer{Timeout: limit}).DialContext
		transport.TLSHandshakeTimeout = limit
	}
	return &http.Client{Transport: transport, CheckRedirect: stay}
}

// stay follows no redirect. Nodes never redirect, and another server could redirect tokens.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
