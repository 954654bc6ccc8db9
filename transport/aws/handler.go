package aws

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/http1"
	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// Protocols of the requests, as in the access log and in metrics.
const (
	JSON  = "json"
	Query = "query"
)

// Content types of the protocols.
const (
	JSONType = "application/x-amz-json-1.0"
	FormType = "application/x-www-form-urlencoded"
)

const (
	headerIndex   = "X-Seriatim-Index"
	headerLogTime = "X-Seriatim-Log-Time"
	// headerDuplicate reports duplicates: true, or the ids of the entries of a batch with commas. A
	// repeated command has none, because it may be the duplicate of its own first attempt. SQS has
	// no such header.
	headerDuplicate = "X-Seriatim-Duplicate"
	// headerAttempt has the ReceiveRequestAttemptId that the server made for a receive, so that a
	// client can repeat it. SQS has no such header.
	headerAttempt = "X-Seriatim-Attempt-Id"

	// bufferKeepMax bounds the buffers that are kept for later requests.
	bufferKeepMax = 256 << 10
)

// Options configure a Handler.
type Options struct {
	Backend  service.Backend
	Verifier sigv4.Authenticator
	Logger   *slog.Logger
}

// Handler serves the requests of one or more services. Safe for concurrent use.
type Handler struct {
	Options
	apis    []*API
	actions map[string]found // by service and name
	spaces  sync.Pool        // of *space
	// searches bounds the requests that make the node catch up without a permission.
	searches chan struct{}
}

// space holds the memory for serving one request, and is reused.
type space struct {
	call   Call
	buffer bytes.Buffer // for bodies in and out
}

// found is an action with its API.
type found struct {
	api    *API
	action *Action
}

// NewHandler makes a Handler. A request that does not name its service goes to the first one.
func NewHandler(o Options, apis ...*API) *Handler {
	h := &Handler{Options: o, apis: apis, actions: make(map[string]found), searches: make(chan struct{}, searchesMax)}
	for _, api := range apis {
		for _, a := range api.Actions {
			h.actions[api.Target+a.Name] = found{api, a}
		}
	}
	h.spaces.New = func() any { return new(space) }
	return h
}

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	used := h.spaces.Get().(*space)
	defer h.recycle(used)
	c, buffer := &used.call, &used.buffer
	*c = Call{
		Call: service.Call{Backend: &h.Backend, Record: service.RequestOf(r.Context()), From: sigv4.ConnectionOf(r)},
		API:  h.apis[0], Request: r, ctx: r.Context(), handler: h,
	}
	target, err := h.readRequest(w, c, buffer)
	if err != nil {
		h.writeError(w, c, err)
		return
	}
	if target == "" {
		h.writeUnknownOperation(w, c)
		return
	}
	f, known := h.actions[target]
	if !known {
		h.writeError(w, c, InvalidAction(strings.TrimPrefix(target, c.API.Target)))
		return
	}
	c.Record.Action, c.Record.Effect = f.action.Name, f.action.Effect
	if f.action.Effect != service.Reads && !f.action.ByLink && c.Identity.Account == "" && followedLink(r) {
		h.writeError(w, c, onlyByLink(f.action.Name))
		return
	}
	input, err := f.action.accept(c)
	if err != nil {
		h.writeError(w, c, err)
		return
	}
	if h.suspend(w, c, f.action, input) {
		return
	}
	output, err := f.action.execute(c.ctx, c, input)
	h.answer(w, c, f.action, output, err, buffer)
}

// answer sends the output or the error of an action.
func (h *Handler) answer(w http.ResponseWriter, c *Call, a *Action, output any, err error, buffer *bytes.Buffer) {
	if err != nil {
		h.writeError(w, c, err)
		return
	}
	out := a.encode(c, output, buffer.AvailableBuffer())
	h.write(w, c, http.StatusOK, out)
	if len(out) <= bufferKeepMax {
		buffer.Reset()
		buffer.Write(out) // keeps the capacity for later answers
	}
}

// followedLink reports whether a request comes from a browser that follows a link or loads an image,
// which any page can cause. Such a request has no Authorization header. A credential in its URL proves
// nothing unless it was verified.
func followedLink(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header["Authorization"] == nil && fromBrowser(r)
}

// signedForNative reports whether the signature of a request may be that of a native call: its path is
// /package.Service/Method, and it leaves the body out. Here the body names the action, so such a
// signature would permit any action. A signature also covers paths with empty and dotted segments, so
// the check includes those.
func signedForNative(r *http.Request) bool {
	payload := r.Header["X-Amz-Content-Sha256"]
	last := strings.LastIndexByte(r.URL.Path, '/')
	return len(payload) == 1 && payload[0] == "UNSIGNED-PAYLOAD" && last > 0 && strings.Contains(r.URL.Path[:last], ".")
}

// fromBrowser reports whether a request looks like that of a browser. No SDK and no command-line tool
// identifies itself as Mozilla.
func fromBrowser(r *http.Request) bool {
	return strings.HasPrefix(r.UserAgent(), "Mozilla/") || len(r.Header["Sec-Fetch-Site"]) > 0
}

func (h *Handler) recycle(used *space) {
	if used.buffer.Cap() <= bufferKeepMax {
		used.call = Call{}
		used.buffer.Reset()
		h.spaces.Put(used)
	}
}

// readRequest finds the protocol, caller, service and action, and reads the body. The target is empty
// if the request names no action. The buffer is free when it returns.
func (h *Handler) readRequest(w http.ResponseWriter, c *Call, buffer *bytes.Buffer) (target string, err error) {
	r := c.Request
	contentType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	contentType = strings.TrimSpace(contentType)
	target = r.Header.Get("X-Amz-Target")
	known := h.findTarget(c, target)
	c.Record.Protocol = Query
	if known || strings.EqualFold(contentType, JSONType) {
		c.Record.Protocol = JSON
	}
	body, whole := http1.BodyText(r)
	if !whole {
		if _, err := buffer.ReadFrom(http.MaxBytesReader(w, r.Body, limits.BodyBytesMax)); err != nil {
			return "", readError(err)
		}
		body = buffer.String()
		buffer.Reset()
	}
	if signedForNative(r) {
		return "", notForNative()
	}
	caller, body, err := h.Verifier.Verify(r, body)
	if err != nil {
		return "", err
	}
	c.Authenticated(caller, AccountInPath(r))
	c.examined = true
	if h.Backend.Authorizer == nil || c.Signed() {
		unverified.From(c.ctx).Verified()
	}
	if c.Record.Protocol == JSON {
		if !known {
			return "", unknownTarget(target)
		}
		c.body = body
		return target, nil
	}
	if !strings.EqualFold(contentType, FormType) {
		body = ""
	}
	return h.readForm(c, r, body)
}

// findTarget finds the service in a header X-Amz-Target.
func (h *Handler) findTarget(c *Call, target string) bool {
	for _, api := range h.apis {
		if api.Target != "" && strings.HasPrefix(target, api.Target) {
			c.API = api
			return true
		}
	}
	return false
}

// readForm reads the parameters of a Query request, and finds its service.
func (h *Handler) readForm(c *Call, r *http.Request, body string) (target string, err error) {
	c.negotiated = wantsJSON(r.Header["Accept"])
	if c.Form, err = awswire.ParseForm(r.URL.RawQuery, body); err != nil {
		return "", err
	}
	name, _ := c.Form.Value("Action")
	if name == "" {
		return "", nil
	}
	c.API = h.serviceOf(c, name)
	return c.API.Target + name, nil
}

// serviceOf finds the service of a Query request by its version, or else by its signature. A
// request without both, such as a link to unsubscribe, goes to the first service with the action.
// The name decides only in that case, because services share names of actions.
func (h *Handler) serviceOf(c *Call, action string) *API {
	version, _ := c.Form.Value("Version")
	for _, api := range h.apis {
		if version == api.Version {
			return api
		}
	}
	for _, api := range h.apis {
		if c.Identity.Service == api.Service {
			return api
		}
	}
	if version == "" {
		for _, api := range h.apis {
			if _, has := h.actions[api.Target+action]; has {
				return api
			}
		}
	}
	return h.apis[0]
}

// wantsJSON reports whether a header Accept begins with JSON.
func wantsJSON(accept []string) bool {
	if len(accept) == 0 {
		return false
	}
	first, _, _ := strings.Cut(accept[0], ",")
	first, _, _ = strings.Cut(first, ";")
	return strings.EqualFold(strings.TrimSpace(first), jsonNegotiated)
}

// jsonNegotiated is the content type of answers of the Query protocol in JSON.
const jsonNegotiated = "application/json"

func readError(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return requestTooLarge()
	case errors.Is(err, budget.ErrExhausted):
		return overBudget()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errGone
	case errors.Is(err, os.ErrDeadlineExceeded):
		return requestTimeout()
	}
	return unreadableBody()
}

// Content types of answers, allocated once and never changed.
var (
	typeJSON       = []string{JSONType}
	typeNegotiated = []string{jsonNegotiated}
	typeXML        = []string{"text/xml"}
)

// write sends one answer.
func (h *Handler) write(w http.ResponseWriter, c *Call, status int, body []byte) {
	header := w.Header()
	switch {
	case c.Record.Protocol == JSON:
		header["Content-Type"] = typeJSON
	case c.negotiated:
		header["Content-Type"] = typeNegotiated
	default:
		header["Content-Type"] = typeXML
	}
	// One text and one list for all numbers save allocations in every request.
	var digits [64]byte
	numbers := strconv.AppendInt(digits[:0], int64(len(body)), 10)
	length := len(numbers)
	numbers = strconv.AppendUint(numbers, c.Position.Index, 10)
	index := len(numbers)
	numbers = strconv.AppendInt(numbers, int64(c.Position.LogTime), 10)
	text := string(numbers)
	values := []string{text[:length], text[length:index], text[index:]}
	header["Content-Length"] = values[:1:1]
	if c.Position.Index != 0 {
		header[headerIndex], header[headerLogTime] = values[1:2:2], values[2:]
	}
	if c.Duplicate != "" && !c.Repeated {
		header[headerDuplicate] = []string{c.Duplicate}
	}
	if c.AttemptID != "" {
		header[headerAttempt] = []string{c.AttemptID}
	}
	w.WriteHeader(status)
	// Any other error means that the client is gone.
	if _, err := w.Write(body); errors.Is(err, budget.ErrExhausted) {
		h.writeError(w, c, answerOverBudget(c.API))
	}
}

// writeError answers with an error. If the client is gone, it closes the connection, so that no
// partial answer looks like a success.
func (h *Handler) writeError(w http.ResponseWriter, c *Call, err error) {
	if errors.Is(err, errGone) || c.ctx.Err() != nil {
		c.Record.Code = "Gone"
		panic(http.ErrAbortHandler)
	}
	err = c.refusal(err)
	var denied *auth.Error
	c.Record.Unauthenticated = c.Identity.Account == "" && errors.As(err, &denied)
	e := h.wireError(c, err)
	c.Record.Code = e.Code
	w.Header()["X-Amzn-Query-Error"] = []string{e.Code + ";" + e.Fault()}
	var body []byte
	switch {
	case c.Record.Protocol == JSON:
		body = awswire.AppendJSONError(nil, e)
	case c.negotiated:
		body = awswire.AppendQueryJSONError(nil, c.Record.ID, e)
	default:
		body = awswire.AppendXMLError(nil, c.API.Namespace, c.Record.ID, e, c.API.ErrorDetail)
	}
	h.write(w, c, e.Status, body)
}

// writeUnknownOperation answers a Query request without an action, such as a queue URL in a browser
// (recorded from AWS, for any Accept).
func (h *Handler) writeUnknownOperation(w http.ResponseWriter, c *Call) {
	c.Record.Code, c.negotiated = "UnknownOperationException", false
	h.write(w, c, http.StatusNotFound, []byte("<UnknownOperationException/>\n"))
}
