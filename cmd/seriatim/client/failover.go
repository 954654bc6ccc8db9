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

// port is the same port of several nodes of one cluster. Safe for concurrent use.
type port struct {
	name      string   // as people call it
	hint      string   // what to do if nobody answers
	addresses []string // URLs without a trailing slash, at least one
	// guessed says that the addresses are without TLS although those that they were guessed
	// from have it, on other machines.
	guessed  bool
	answered atomic.Int32
}

// request is what can be sent to any node of the cluster.
type request struct {
	method, path string
	header       map[string]string
	body         []byte
	// repeatable says that sending it twice has the effect of sending it once,
	// so that another node may be asked after a connection broke.
	repeatable bool
	wait       time.Duration // that the server may hold it, on top of the timeout
}

// answer is a complete answer of one node.
type answer struct {
	status int
	header http.Header
	body   []byte
	from   string // the address that was asked
	// repeated says that another node may have done the same before.
	repeated bool
}

// send asks one node after the other until one answers. A request that may
// have taken effect is repeated only if that changes nothing.
func (w *wire) send(ctx context.Context, p *port, r request) (answer, error) {
	if err := w.exposed(p); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, w.timeout+time.Duration(len(p.addresses))*r.wait)
	defer cancel()
	var refused *answer
	var failures []error
	first, repeated := int(p.answered.Load()), false
	for i := range p.addresses {
		at := (first + i) % len(p.addresses)
		got, sent, err := w.attempt(ctx, p, at, i == len(p.addresses)-1, r)
		if err == nil && !turnedAway(got, r.repeatable) {
			p.answered.Store(int32(at)) //nolint:gosec // the length of a list that somebody typed
			got.repeated = repeated
			return got, nil
		}
		repeated = repeated || sent
		if err == nil {
			refused = &got
			continue
		}
		if ctx.Err() != nil || sent && !r.repeatable {
			return answer{}, unanswered(p.addresses[at], p, err, sent && !r.repeatable)
		}
		failures = append(failures, unanswered(p.addresses[at], p, err, false))
	}
	if refused != nil {
		return *refused, nil
	}
	return answer{}, joined(p, failures)
}

// share is the time of one of several nodes to answer. By default it is longer than a server
// takes to say that it has no leader (request-timeout), so that it is known why none answers.
func (w *wire) share(nodes int) time.Duration { return w.timeout/time.Duration(nodes) + w.timeout/10 }

// attempt asks one node. Sent is false if it certainly heard nothing.
func (w *wire) attempt(ctx context.Context, p *port, at int, last bool, r request) (got answer, sent bool, err error) {
	if !last && r.repeatable {
		share, cancel := context.WithTimeout(ctx, r.wait+w.share(len(p.addresses)))
		defer cancel()
		ctx = share
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent = true }})
	q, err := http.NewRequestWithContext(ctx, r.method, p.addresses[at]+r.path, bytes.NewReader(r.body))
	if err != nil {
		return answer{}, false, err
	}
	for name, value := range r.header {
		q.Header.Set(name, value)
	}
	q.Header.Set("User-Agent", "seriatim-cli")
	if p == w.client && w.signer != nil {
		w.signer.Sign(q, string(r.body))
	}
	if p == w.admin {
		w.authorize(q)
	}
	response, err := w.http.Do(q)
	if err != nil {
		return answer{}, sent, err
	}
	defer response.Body.Close() // nothing to do about a failing close of what was read
	body, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
	if p == w.admin && err == nil && w.learnToken(response) {
		return w.attempt(ctx, p, at, last, r) // nothing has happened yet
	}
	return answer{status: response.StatusCode, header: response.Header, body: body, from: p.addresses[at]}, true, err
}

// exposed refuses to send the token in the clear where nobody has said so.
func (w *wire) exposed(p *port) error {
	if p != w.admin || !p.guessed || w.token == "" {
		return nil
	}
	return exit.New(exit.Usage, fmt.Errorf("the token would go to %s in the clear", p.addresses[0]),
		"name the admin port: --admin "+strings.Replace(p.addresses[0], "http:", "https:", 1)+", or with http:// if that is meant")
}

// authorize shows a request's admin port who calls.
func (w *wire) authorize(q *http.Request) {
	token := w.token
	if own, learnt := w.ownTokens.Load(q.URL.Host); token == "" && learnt {
		token = own.(string)
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
}

// learnToken reports whether a node of this machine has refused a call without a token, and
// the tool may read the file with the node's own token: then the call can be sent again. It
// reads no other file, whatever the answer names, and sends what it has read to this machine
// only.
func (w *wire) learnToken(refused *http.Response) bool {
	to := refused.Request.URL
	file, named := strings.CutPrefix(refused.Header.Get("WWW-Authenticate"), "Bearer token-file=")
	if _, learnt := w.ownTokens.Load(to.Host); refused.StatusCode != http.StatusUnauthorized || !named || learnt || w.token != "" || !isLoopback(to.Hostname()) {
		return false
	}
	file, err := strconv.Unquote(file)
	if err != nil {
		return false
	}
	own, err := owntoken.Read(file)
	if err != nil {
		return false // the answer says what to do
	}
	w.ownTokens.Store(to.Host, own)
	return true
}

// turnedAway says that another node may do what this one could not: it has no
// leader, is stopping, or does not know whether the request took effect.
func turnedAway(a answer, repeatable bool) bool {
	if a.status != http.StatusServiceUnavailable {
		return false
	}
	return repeatable || decodeError(a.status, a.header, a.body).Type == "ServiceUnavailable"
}

// unanswered explains why a node gave no answer. Unknown says that it may have
// done what it was asked all the same.
func unanswered(address string, p *port, err error, unknown bool) error {
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
	return exit.New(exit.Unavailable, fmt.Errorf("cannot reach %s: %w", address, cause(err)), p.hint)
}

// joined is one error for all nodes, with the code of the last. Where several do not answer, the
// cluster lacks a majority rather than a server.
func joined(p *port, failures []error) error {
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
	text := fmt.Sprintf("none of %d nodes answers at its %s", len(failures), p.name)
	code := exit.CodeOf(last)
	switch {
	case late && code == exit.Unavailable:
		text, hint = "the cluster has no majority: "+text, native.ManyHint
	case hint == p.hint || code == exit.Timeout:
		hint = native.ManyHint
	}
	return exit.New(code, errors.New(text+": "+strings.Join(texts, "; ")), hint)
}

// httpClient connects to nodes; where there are several, one that does not
// accept a connection is given up early.
func httpClient(o *options, addresses int) (*http.Client, error) {
	trusted, err := trustedBy(o.caFile)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig, transport.ForceAttemptHTTP2 = trusted, false // HTTP/1.1 is all the commands need
	transport.MaxIdleConnsPerHost = atOnceMax
	if addresses > 1 {
		patience := min(dialMax, o.timeout/time.Duration(addresses))
		transport.DialContext = (&net.Dialer{Timeout: patience}).DialContext
		transport.TLSHandshakeTimeout = patience
	}
	return &http.Client{Transport: transport, CheckRedirect: stay}, nil
}

// stay follows no redirect, which no node answers with: tokens and signatures would go to where
// somebody else says, and a change would become a question.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
