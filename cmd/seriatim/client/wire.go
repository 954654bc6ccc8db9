package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// answerBytesMax bounds what is read of one answer: ten messages of one
// mebibyte in total, escaped, fit many times.
const answerBytesMax = 64 << 20

// wire sends single requests to one server. Safe for concurrent use.
type wire struct {
	endpoint string // of the client port, without a trailing slash
	admin    string // of the admin port, without a trailing slash
	timeout  time.Duration
	http     *http.Client
}

// apiError is a refusal by the server in the form of the AWS JSON protocol.
type apiError struct {
	Status    int
	Type      string // without namespace, as QueueDoesNotExist
	Code      string // of the Query protocol, from x-amzn-query-error
	Message   string
	RequestID string
}

// Error shows the code SDKs show, the text, and the request id for the log.
func (e *apiError) Error() string {
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

// call sends one SQS action and decodes its answer into out. wait is the time
// that the server may hold the request, on top of the timeout.
func (w *wire) call(ctx context.Context, action string, in, out any, wait time.Duration) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode %s: %w", action, err)
	}
	ctx, cancel := context.WithTimeout(ctx, w.timeout+wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.endpoint+"/", bytes.NewReader(body))
	if err != nil {
		return exit.New(exit.Usage, fmt.Errorf("endpoint: %w", err), endpointHint)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	status, header, answer, err := w.do(req)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return refusal(decodeError(status, header, answer))
	}
	if out == nil || len(answer) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return exit.New(exit.Failed, fmt.Errorf("%s at %s: unreadable answer: %w", action, w.endpoint, err), endpointHint)
	}
	return nil
}

// get reads one JSON document of the admin port.
func (w *wire) get(ctx context.Context, path string, query url.Values, out any) error {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	target := w.admin + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return exit.New(exit.Usage, fmt.Errorf("admin address: %w", err), adminHint)
	}
	status, header, answer, err := w.do(req)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return refusal(decodeError(status, header, answer))
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return exit.New(exit.Failed, fmt.Errorf("%s: unreadable answer: %w", target, err), adminHint)
	}
	return nil
}

func (w *wire) do(req *http.Request) (int, http.Header, []byte, error) {
	req.Header.Set("User-Agent", "seriatim-cli")
	resp, err := w.http.Do(req)
	if err != nil {
		return 0, nil, nil, w.unreachable(req, err)
	}
	defer resp.Body.Close() // nothing to do about a failing close of what was read
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerBytesMax))
	if err != nil {
		return 0, nil, nil, w.unreachable(req, err)
	}
	return resp.StatusCode, resp.Header, answer, nil
}

const (
	endpointHint = "is the server running there? set --endpoint or SERIATIM_ENDPOINT to the client port of a node, or start one with: seriatim dev"
	adminHint    = "is the server running there? set --admin or SERIATIM_ADMIN to the admin port of a node, or start one with: seriatim dev"
)

func (w *wire) unreachable(req *http.Request, err error) error {
	where := req.URL.Scheme + "://" + req.URL.Host
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return exit.New(exit.Timeout, fmt.Errorf("no answer from %s in time: %w", where, context.DeadlineExceeded),
			"raise --timeout; if that does not help the cluster may have no leader: seriatim status")
	case errors.Is(err, context.Canceled):
		return exit.New(exit.Interrupted, errors.New("interrupted"), "")
	}
	hint := endpointHint
	if strings.HasPrefix(req.URL.String(), w.admin+"/") {
		hint = adminHint
	}
	if cause, ok := errors.AsType[*url.Error](err); ok {
		err = cause.Err
	}
	return exit.New(exit.Unavailable, fmt.Errorf("cannot reach %s: %w", where, err), hint)
}

func decodeError(status int, header http.Header, answer []byte) *apiError {
	e := &apiError{Status: status, RequestID: header.Get("x-amzn-RequestId")}
	e.Code, _, _ = strings.Cut(header.Get("x-amzn-query-error"), ";")
	var body struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
		Error   string `json:"error"`
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
		e.Message = body.Error
	}
	return e
}

// refusal adds exit code and hint to an answer of the server.
func refusal(e *apiError) error {
	switch e.Type {
	case "QueueDoesNotExist":
		return exit.New(exit.NotFound, e, "seriatim queue list shows the queues that exist")
	case "ResourceNotFoundException":
		return exit.New(exit.NotFound, e, "")
	case "AccessDeniedException", "MissingAuthenticationTokenException", "InvalidSignatureException", "InvalidSecurity":
		return exit.New(exit.Denied, e, "")
	case "QueueNameExists":
		return exit.New(exit.Conflict, e, "seriatim queue show NAME prints its attributes")
	case "QueueDeletedRecently", "PurgeQueueInProgress":
		return exit.New(exit.Conflict, e, "the server runs with --aws-cooldowns; wait a minute")
	case "OutcomeUnknown":
		return exit.New(exit.Unavailable, e, "the request may or may not have taken effect; look before repeating it, or use a deduplication id or attempt id, which make repeating safe")
	}
	switch {
	case e.Status == http.StatusNotFound:
		return exit.New(exit.NotFound, e, "")
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return exit.New(exit.Denied, e, "")
	case e.Status == http.StatusServiceUnavailable:
		return exit.New(exit.Unavailable, e, "seriatim status shows whether the cluster has a leader")
	case e.Status >= 400 && e.Status < 500:
		return exit.New(exit.Usage, e, "")
	}
	return exit.New(exit.Failed, e, "")
}
