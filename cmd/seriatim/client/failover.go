package client

import (
	"bytes"
	"context"
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

// dialMax bounds the time in which a node must accept a connection when there
// are others to ask instead.
const dialMax = 3 * time.Second

// port is the admin port of several nodes of one cluster. Safe for concurrent use.
type port struct {
	addresses []string // URLs without a trailing slash, at least one
	// guessed is true if an address without TLS is derived from a client port with TLS on another
	// machine.
	guessed  bool
	answered atomic.Int32
}

// request is a request for any node of the cluster.
type request struct {
	method, path string
	header       map[string]string
	body         []byte
	// repeatable is true if sending the request twice has the effect of sending it once. Then
	// another node may be asked after a connection broke.
	repeatable bool
}

// answer is a complete answer of one node.
type answer struct {
	status int
	header http.Header
	body   []byte
	from   string // address of the node
}

// send asks one node after another until one answers. It repeats a request that may have taken
// effect only if the request is repeatable.
func (w *wire) send(ctx context.Context, r request) (answer, error) {
	if err := w.exposed(); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	p := w.admin
	var refused *answer
	var failures []error
	first := int(p.answered.Load())
	for i := range p.addresses {
		at := (first + i) % len(p.addresses)
		got, sent, err := w.attempt(ctx, at, i == len(p.addresses)-1, r)
		if err == nil && r.repeatable && got.status == http.StatusServiceUnavailable { // another node may know a leader
			refused = &got
			continue
		}
		if err == nil {
			p.answered.Store(int32(at)) //nolint:gosec // the length of a typed list
			return got, nil
		}
		if ctx.Err() != nil || sent && !r.repeatable {
			return answer{}, unanswered(p.addresses[at], err, sent && !r.repeatable)
		}
		failures = append(failures, unanswered(p.addresses[at], err, false))
	}
	if refused != nil {
		return *refused, nil
	}
	return answer{}, joined(failures)
}

// share returns how long to wait for one of several nodes. By default that is longer than
// request-timeout, after which a server reports that it has no leader.
func (w *wire) share(nodes int) time.Duration { return w.timeout/time.Duration(nodes) + w.timeout/10 }

// attempt asks one node. sent is false if the node certainly received nothing.
func (w *wire) attempt(ctx context.Context, at int, last bool, r request) (got answer, sent bool, err error) {
	address := w.admin.addresses[at]
	if !last && r.repeatable {
		share, cancel := context.WithTimeout(ctx, w.share(len(w.admin.addresses)))
		defer cancel()
		ctx = share
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent = true }})
	q, err := http.NewRequestWithContext(ctx, r.method, address+r.path, bytes.NewReader(r.body))
	if err != nil {
		return answer{}, false, err
	}
	for name, value := range r.header {
		q.Header.Set(name, value)
	}
	q.Header.Set("User-Agent", "seriatim-cli")
	w.authorize(q)
	response, err := w.http.Do(q)
	if err != nil {
		return answer{}, sent, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
	if err == nil && w.learnToken(response) {
		return w.attempt(ctx, at, last, r)
	}
	return answer{status: response.StatusCode, header: response.Header, body: body, from: address}, true, err
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
func httpClient(o *options, addresses int) (*http.Client, error) {
	trusted, err := trustedBy(o.caFile)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig, transport.ForceAttemptHTTP2 = trusted, false // HTTP/1.1 is all the commands need
	transport.MaxIdleConnsPerHost = atOnceMax
	if addresses > 1 {
		limit := min(dialMax, o.timeout/time.Duration(addresses))
		transport.DialContext = (&net.Dialer{Timeout: limit}).DialContext
		transport.TLSHandshakeTimeout = limit
	}
	return &http.Client{Transport: transport, CheckRedirect: stay}, nil
}

// stay follows no redirect. Nodes never redirect, and another server could redirect tokens.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
