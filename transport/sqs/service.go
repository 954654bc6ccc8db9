package sqs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/http1"
)

const (
	namespace    = "http://queue.amazonaws.com/doc/2012-11-05/"
	targetPrefix = "AmazonSQS."
	jsonType     = "application/x-amz-json-1.0"
	formType     = "application/x-www-form-urlencoded"

	protocolJSON  = "json"
	protocolQuery = "query"

	headerIndex   = "X-Seriatim-Index"
	headerLogTime = "X-Seriatim-Log-Time"
	// headerDuplicate says that a message was dropped as a duplicate: true, and
	// for a batch the ids of such entries with commas. SQS does not tell. It is
	// missing if the node made the send twice and may have met its own first try.
	headerDuplicate = "X-Seriatim-Duplicate"

	// bufferKeepMax is the largest buffer that is kept for the next request.
	bufferKeepMax = 256 << 10
)

// Options are what a Service is made of.
type Options struct {
	Node     Node
	Verifier auth.Verifier
	Account  string // 12 digits, in queue URLs and ARNs
	Region   string // in ARNs
	Logger   *slog.Logger
}

// Service serves the SQS API. Safe for concurrent use.
type Service struct {
	Options
	actions map[string]*action
	buffers sync.Pool // of *bytes.Buffer, for bodies in and out
	// polls is what long polls wait in; it ends when Drain is called.
	polls atomic.Pointer[pollScope]
}

// pollScope is the time between two calls of Drain.
type pollScope struct {
	waits context.Context
	drain context.CancelFunc
}

// New makes a Service. The end of ctx ends its long polls, as Drain does.
func New(ctx context.Context, o Options) *Service {
	s := &Service{Options: o, actions: actionTable()}
	s.buffers.New = func() any { return new(bytes.Buffer) }
	s.Undrain(ctx)
	return s
}

// Drain ends all long polls, present and future, with a retryable error. It
// returns at once; the listener waits for the requests.
func (s *Service) Drain() { s.polls.Load().drain() }

// Undrain lets long polls wait again, until the end of ctx or the next Drain.
func (s *Service) Undrain(ctx context.Context) {
	scope := &pollScope{}
	scope.waits, scope.drain = context.WithCancel(ctx)
	if before := s.polls.Swap(scope); before != nil {
		before.drain()
	}
}

// call is one request on its way through an action. Used by one goroutine.
type call struct {
	record   *transport.Request
	request  *http.Request
	identity auth.Identity
	body     string        // JSON protocol
	form     *awswire.Form // Query protocol, else nil
	position cluster.Position
	repeated bool // the node made the command twice
	// duplicate is the value of headerDuplicate, empty if nothing was dropped.
	duplicate string
}

// ServeHTTP serves one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{record: transport.RequestOf(r.Context()), request: r}
	buffer := s.buffers.Get().(*bytes.Buffer)
	defer s.recycle(buffer)
	name, err := s.readRequest(w, c, buffer)
	if err != nil {
		s.writeError(w, c, err)
		return
	}
	if name == "" {
		s.writeUnknownOperation(w, c)
		return
	}
	a := s.actions[name]
	if a == nil || (a.account && c.form != nil && pathQueue(r.URL.Path) != "") {
		s.writeError(w, c, invalidAction(name))
		return
	}
	c.record.Action = a.name
	if !a.reads && followedLink(r) {
		s.writeError(w, c, onlyByLink(name))
		return
	}
	out, err := a.serve(s, r.Context(), c, buffer.AvailableBuffer())
	if err != nil {
		s.writeError(w, c, err)
		return
	}
	s.write(w, c, http.StatusOK, out)
	if len(out) <= bufferKeepMax {
		buffer.Reset()
		buffer.Write(out) // keeps the capacity that the answer needed
	}
}

// followedLink reports whether a request comes from a browser that followed a
// link or loads an image, which any page can make it do. Such a request has no
// Authorization header; a credential in its URL proves nothing as long as
// signatures are not verified.
func followedLink(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header["Authorization"] == nil && transport.FromBrowser(r)
}

func (s *Service) recycle(buffer *bytes.Buffer) {
	if buffer.Cap() <= bufferKeepMax {
		buffer.Reset()
		s.buffers.Put(buffer)
	}
}

// readRequest finds out protocol, caller and action, and reads the body. The
// buffer is free again afterwards: what was read is copied out of it.
func (s *Service) readRequest(w http.ResponseWriter, c *call, buffer *bytes.Buffer) (name string, err error) {
	r := c.request
	contentType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	name, json := strings.CutPrefix(r.Header.Get("X-Amz-Target"), targetPrefix)
	c.record.Protocol = protocolQuery
	if json || strings.EqualFold(strings.TrimSpace(contentType), jsonType) {
		c.record.Protocol = protocolJSON
	}
	body, whole := http1.BodyText(r)
	if !whole {
		if _, err := buffer.ReadFrom(http.MaxBytesReader(w, r.Body, http1.BodyBytesMax)); err != nil {
			return "", readError(err)
		}
		body = buffer.String()
		buffer.Reset()
	}
	c.identity, err = s.Verifier.Verify(r, func() [32]byte { return sha256.Sum256([]byte(body)) })
	if err != nil {
		return "", err
	}
	c.record.Account = c.identity.AccessKeyID
	if c.record.Protocol == protocolJSON {
		if !json {
			return "", unknownTarget(r.Header.Get("X-Amz-Target"))
		}
		c.body = body
		return name, nil
	}
	if !strings.EqualFold(strings.TrimSpace(contentType), formType) {
		body = ""
	}
	if c.form, err = awswire.ParseForm(r.URL.RawQuery, body); err != nil {
		return "", err
	}
	name, _ = c.form.Value("Action")
	return name, nil
}

func readError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return requestTooLarge()
	}
	if errors.Is(err, budget.ErrExhausted) {
		return overBudget()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errGone
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return requestTimeout()
	}
	return unreadableBody()
}

// write sends one answer.
func (s *Service) write(w http.ResponseWriter, c *call, status int, body []byte) {
	h := w.Header()
	if c.record.Protocol == protocolJSON {
		h["Content-Type"] = []string{jsonType}
	} else {
		h["Content-Type"] = []string{"text/xml"}
	}
	if c.position.Index != 0 {
		h[headerIndex] = []string{strconv.FormatUint(c.position.Index, 10)}
		h[headerLogTime] = []string{strconv.FormatInt(int64(c.position.LogTime), 10)}
	}
	if c.duplicate != "" && !c.repeated {
		h[headerDuplicate] = []string{c.duplicate}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	// Any other error means that the client is gone; nobody is left to tell.
	if _, err := w.Write(body); errors.Is(err, budget.ErrExhausted) {
		s.writeError(w, c, answerOverBudget())
	}
}

// writeError answers with an error, or cuts the connection if the caller is
// gone: an answer half made must not be taken for a success.
func (s *Service) writeError(w http.ResponseWriter, c *call, err error) {
	if errors.Is(err, errGone) || c.request.Context().Err() != nil {
		c.record.Code = "Gone"
		panic(http.ErrAbortHandler)
	}
	e := s.wireError(c, err)
	c.record.Code = e.Code
	w.Header()["X-Amzn-Query-Error"] = []string{e.Code + ";" + e.Fault()}
	var body []byte
	if c.record.Protocol == protocolJSON {
		body = awswire.AppendJSONError(nil, e)
	} else {
		body = awswire.AppendXMLError(nil, namespace, c.record.ID, e)
	}
	s.write(w, c, e.Status, body)
}

// writeUnknownOperation answers a Query request that names no action, such as
// opening a queue URL in a browser: recorded from AWS, whatever Accept says.
func (s *Service) writeUnknownOperation(w http.ResponseWriter, c *call) {
	c.record.Code = "UnknownOperationException"
	s.write(w, c, http.StatusNotFound, []byte("<UnknownOperationException/>\n"))
}

// submit executes a command and notes its position in the log.
func (s *Service) submit(ctx context.Context, c *call, cmd queue.Command) (queue.Result, error) {
	reply, err := s.Node.Submit(ctx, cmd)
	c.position, c.repeated = reply.Position, reply.Repeated
	return reply.Result, err
}

// read reads the state and notes the position it was read at.
func (s *Service) read(ctx context.Context, c *call, read func(queue.View) error) error {
	position, err := s.Node.Read(ctx, read)
	c.position = position
	return err
}

// refuse reports a bad value of a request, if any, but only after the queue was
// looked up: an unknown queue comes first (sqs.md 1.7).
func (s *Service) refuse(ctx context.Context, c *call, queueName string, refusal *queue.Error) error {
	return s.read(ctx, c, func(v queue.View) error {
		if !v.QueueExists(queueName) {
			return noSuchQueue()
		}
		if refusal == nil {
			return nil
		}
		return refusal
	})
}

// senderID is what the system attribute SenderId shows: the access key id of
// the caller, or the account if the request was not signed.
func (s *Service) senderID(c *call) string {
	if c.identity.AccessKeyID != "" {
		return c.identity.AccessKeyID
	}
	return s.Account
}
