package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/ops/document"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/sqs"
)

// answerBytesMax bounds one answer: ten messages of 1 MiB in total, escaped, fit many times.
const answerBytesMax = 64 << 20

// wire sends single requests to a cluster. Safe for concurrent use.
type wire struct {
	client *port
	admin  *port
	path   string // of requests to the client port: a slash, or the account between two
	token  string // for the admin port; empty: none
	// ownTokens holds the tokens of nodes on this machine, by host:port, see learnToken.
	ownTokens *sync.Map
	timeout   time.Duration // for one request, over all nodes
	http      *http.Client
	signer    *sigv4.Signer // of requests to the client port; nil: they are not signed
}

// qualified returns qualifiedOf, with the account of --account unless text has one.
func (w *wire) qualified(text string) string {
	name := qualifiedOf(text)
	if strings.Contains(name, "/") {
		return name
	}
	return strings.TrimPrefix(w.path, "/") + name
}

// apiError is a refusal by the server in the form of the AWS JSON protocol.
type apiError struct {
	Status    int
	Type      string // without namespace, such as QueueDoesNotExist
	Code      string // of the Query protocol, from x-amzn-query-error
	Message   string
	RequestID string
	Plain     bool // from the admin port, which has no codes
}

// Error returns the code that SDKs show, the text, and the request id for the log.
func (e *apiError) Error() string {
	if e.Plain {
		return e.Message
	}
	code := e.Code
	if code == "" {
		code = e.Type
	}
	if code == "" {
		code = fmt.Sprintf("HTTP %d", e.Status)
	}
	text := code + ": " + e.Message
	if e.RequestID != "" {
		text += " (request id " + e.RequestID + ")"
	}
	return text
}

// repeats returns the actions that may be sent again, from the table of the service.
var repeats = sync.OnceValue(func() map[string]service.Repeat { return new(sqs.Service).API().Repeats() })

// mayRepeat reports whether an action may be sent again when the outcome of the first attempt is
// unknown. identified means that the request has an id by which a server recognises it.
func mayRepeat(action string, identified bool) bool {
	switch repeats()[action] {
	case service.Repeatable:
		return true
	case service.RepeatableWithID:
		return identified
	case service.SentOnce:
		return false
	}
	panic("no server has the action " + action)
}

// call sends one SQS action and decodes its answer into out. wait is the time of a long poll,
// added to the timeout.
func (w *wire) call(ctx context.Context, action string, in, out any, wait time.Duration) error {
	_, err := w.callWithID(ctx, action, false, in, out, wait)
	return err
}

// callWithID is like call, for an action whose request may have an id. It returns the answer, too.
func (w *wire) callWithID(ctx context.Context, action string, identified bool, in, out any, wait time.Duration) (answer, error) {
	again := mayRepeat(action, identified)
	body, err := json.Marshal(in)
	if err != nil {
		return answer{}, fmt.Errorf("encode %s: %w", action, err)
	}
	got, err := w.send(ctx, w.client, request{
		method: http.MethodPost, path: cmp.Or(w.path, "/"), body: body, repeatable: again, wait: wait,
		header: map[string]string{"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action},
	})
	if err != nil {
		return answer{}, err
	}
	if got.status != http.StatusOK {
		return answer{}, clientRefusal(got)
	}
	if out == nil || len(got.body) == 0 {
		return got, nil
	}
	if err := json.Unmarshal(got.body, out); err != nil {
		return answer{}, exit.New(exit.Failed, fmt.Errorf("%s at %s: unreadable answer: %w", action, got.from, err), native.ReachHint)
	}
	return got, nil
}

// get reads one JSON document of the admin port.
func (w *wire) get(ctx context.Context, path string, query url.Values, out any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return w.ask(ctx, request{method: http.MethodGet, path: path, repeatable: true}, out)
}

// post sends one JSON document to the admin port.
func (w *wire) post(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return w.ask(ctx, request{method: http.MethodPost, path: path, body: body,
		header: map[string]string{"Content-Type": "application/json"}}, out)
}

func (w *wire) ask(ctx context.Context, r request, out any) error {
	got, err := w.send(ctx, w.admin, r)
	if err != nil {
		return err
	}
	if got.status != http.StatusOK {
		return adminRefusal(got)
	}
	if err := json.Unmarshal(got.body, out); err != nil {
		return exit.New(exit.Failed, fmt.Errorf("%s%s: unreadable answer: %w", got.from, r.path, err), adminHint)
	}
	return nil
}

// single returns an error if several nodes are given to a command about one node.
func (w *wire) single(cmd *cobra.Command) error {
	if len(w.admin.addresses) == 1 {
		return nil
	}
	return exit.New(exit.Usage, fmt.Errorf("%s is about one node, and %d are given", cmd.CommandPath(), len(w.admin.addresses)),
		"name its admin port alone: --admin "+w.admin.addresses[0])
}

const adminHint = "is the server running there? set --admin or SERIATIM_ADMIN to the admin port of a node, or start one with: seriatim dev"

func decodeError(status int, header http.Header, answer []byte) *apiError {
	e := &apiError{Status: status, RequestID: header.Get("x-amzn-RequestId")}
	e.Code, _, _ = strings.Cut(header.Get("x-amzn-query-error"), ";")
	var body struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
		Error   string `json:"error"` // of the admin port
	}
	if json.Unmarshal(answer, &body) != nil || body.Type == "" && body.Message == "" && body.Error == "" {
		text := strings.TrimSpace(string(answer))
		if len(text) > 200 {
			text = text[:200] + "..."
		}
		e.Message = text
		return e
	}
	_, name, found := strings.Cut(body.Type, "#")
	if !found {
		name = body.Type
	}
	e.Type, e.Message = name, body.Message
	if e.Message == "" {
		e.Message, e.Plain = body.Error, body.Error != ""
	}
	return e
}

// redirected returns an error for a redirect, nil for any other answer.
func redirected(a answer, flag string) error {
	if a.status < 300 || a.status >= 400 {
		return nil
	}
	return exit.New(exit.Usage, fmt.Errorf("%s redirects to %s, so it is not a node", a.from, a.header.Get("Location")),
		"name the address of a node or of its proxy with --"+flag+", with https:// if it has TLS")
}

// clientRefusal adds exit codes and hints to the refusals of the client port.
func clientRefusal(a answer) error {
	if err := redirected(a, "endpoint"); err != nil {
		return err
	}
	if a.status == http.StatusNotFound && a.header.Get("x-amzn-RequestId") == "" {
		return exit.New(exit.Usage, fmt.Errorf("%s is not the client port of a node (it answers %s)", a.from, shortly(a)),
			"set --endpoint or SERIATIM_ENDPOINT to a client port, by default 9324; the admin port is usually one above it")
	}
	return refusal(decodeError(a.status, a.header, a.body))
}

// adminRefusal adds exit codes and hints to the refusals of the admin port.
func adminRefusal(a answer) error {
	if err := redirected(a, "admin"); err != nil {
		return err
	}
	var refused document.Refusal
	if json.Unmarshal(a.body, &refused) != nil && a.status == http.StatusNotFound {
		return exit.New(exit.Usage, fmt.Errorf("%s is not the admin port of a node (it answers %s)", a.from, shortly(a)),
			"set --admin or SERIATIM_ADMIN to an admin port, by default 9325; if it is one, the node runs an older version")
	}
	if strings.Contains(string(a.body), plainRequest) {
		return exit.New(exit.Unavailable, fmt.Errorf("the admin port %s has TLS", a.from),
			"name it: --admin "+strings.Replace(a.from, "http:", "https:", 1))
	}
	if refused.Kind == "" {
		return refusal(decodeError(a.status, a.header, a.body))
	}
	code := exit.Conflict
	if a.status == http.StatusNotFound {
		code = exit.NotFound
	}
	return exit.New(code, errors.New(refused.Error), refused.Hint)
}

// shortly returns the beginning of an unknown answer.
func shortly(a answer) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(a.body)), "\n")
	if len(line) > 80 {
		line = line[:80] + " ..."
	}
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", a.status, oneLine(line)))
}

// limitHint returns the hint for a limit. Several limits have one code, so it reads the text.
func limitHint(message string) string {
	switch {
	case strings.Contains(message, "quota"):
		return "seriatim account show ACCOUNT shows usage and limits; seriatim account quota changes the limits"
	case strings.Contains(message, "in flight"):
		return "the queue has reached its limit of messages in flight: delete or release some; seriatim queue show NAME counts them"
	}
	return ""
}

// plainRequest is part of the answer of a port with TLS to a request without TLS.
const plainRequest = "HTTP request to an HTTPS server"

// refusal adds exit code and hint to an error of the server.
func refusal(e *apiError) error {
	switch e.Type {
	case "QueueDoesNotExist":
		return exit.New(exit.NotFound, e, native.QueuesHint)
	case "ResourceNotFoundException":
		return exit.New(exit.NotFound, e, "")
	case "MissingAuthenticationTokenException", "InvalidClientTokenIdException", "SignatureDoesNotMatchException":
		return exit.New(exit.Denied, e, native.KeyHint)
	case "AccessDeniedException", "AccessDenied":
		return exit.New(exit.Denied, e, native.PolicyHint)
	case "QueueNameExists":
		return exit.New(exit.Conflict, e, "seriatim queue show NAME prints its attributes")
	case "OverLimit":
		return exit.New(exit.Conflict, e, limitHint(e.Message))
	case "RequestThrottled":
		return exit.New(exit.Unavailable, e, native.ThrottledHint)
	case "QueueDeletedRecently", "PurgeQueueInProgress":
		return exit.New(exit.Conflict, e, "the server runs with --aws-cooldowns; wait a minute")
	case "OutcomeUnknown":
		return exit.New(exit.Unavailable, e,
			"the request may or may not have taken effect; look before repeating it, or use a deduplication id or attempt id, which "+
				"make repeating safe")
	}
	switch {
	case e.Status == http.StatusNotFound:
		return exit.New(exit.NotFound, e, "")
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return exit.New(exit.Denied, e, "")
	case e.Status == http.StatusServiceUnavailable && strings.Contains(e.Message, "sends are refused"):
		return exit.New(exit.Unavailable, e, native.PressureHint)
	case e.Status == http.StatusServiceUnavailable:
		return exit.New(exit.Unavailable, e, native.LeaderHint)
	case strings.Contains(e.Message, plainRequest):
		return exit.New(exit.Unavailable, e, "write the address with https:// instead of http://")
	case e.Status >= 400 && e.Status < 500:
		return exit.New(exit.Usage, e, "")
	}
	return exit.New(exit.Failed, e, "")
}
