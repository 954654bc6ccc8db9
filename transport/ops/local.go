package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/seriatimq/seriatim/transport/ops/document"
)

// Local is a call of the admin port from inside the process, for the console. It takes the table
// of routes, the check of the role and the audit of calls from the network.
type Local struct {
	Operator Operator
	Remote   string // address of the operator's connection
	Method   string
	Target   string // path with parameters, such as /v1/queues?limit=10
	Body     any    // of a change: the document; nil: an empty one
}

// RefusedCall is the refusal of a Local.
type RefusedCall struct {
	Status int
	document.Refusal
}

// Error returns the text with the hint.
func (r *RefusedCall) Error() string {
	if r.Hint != "" {
		return r.Refusal.Error + ": " + r.Hint
	}
	return r.Refusal.Error
}

type operatorKey struct{}

// Call executes a Local and decodes the answer into a document. A refusal is a *RefusedCall.
func (a *Admin) Call(ctx context.Context, l Local, answer any) error {
	var body []byte
	if l.Method != http.MethodGet {
		body = []byte("{}")
		if l.Body != nil {
			var err error
			if body, err = json.Marshal(l.Body); err != nil {
				return fmt.Errorf("encode the change: %w", err)
			}
		}
	}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, operatorKey{}, l.Operator), l.Method, l.Target, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("call %s: %w", l.Target, err)
	}
	r.RemoteAddr = l.Remote
	r.Header.Set("Content-Type", contentTypeJSON)
	out := &localAnswer{header: http.Header{}, status: http.StatusOK}
	a.mux.ServeHTTP(out, r)
	if out.status >= http.StatusBadRequest {
		refused := &RefusedCall{Status: out.status}
		if json.Unmarshal(out.body.Bytes(), &refused.Refusal) != nil || refused.Refusal.Error == "" {
			refused.Refusal.Error = fmt.Sprintf("%s %s failed with status %d", l.Method, r.URL.Path, out.status)
		}
		return refused
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(out.body.Bytes(), answer); err != nil {
		return fmt.Errorf("decode the answer of %s: %w", r.URL.Path, err)
	}
	return nil
}

// Has reports whether the port serves a path with GET.
func (a *Admin) Has(path string) bool {
	r, err := http.NewRequest(http.MethodGet, path, nil) //nolint:noctx // it is only compared with patterns
	if err != nil {
		return false
	}
	_, pattern := a.mux.Handler(r)
	return pattern != ""
}

// Rates returns the rates of all queues by name, over all nodes; known is false until there are samples.
func (a *Admin) Rates(ctx context.Context) (rates map[string]document.QueueRates, known bool) {
	node, ok := a.Node.(historian)
	if !ok {
		return nil, false
	}
	read, known := node.QueueRates(ctx)
	rates = make(map[string]document.QueueRates, len(read))
	for name, of := range read {
		rates[name] = document.QueueRates(of)
	}
	return rates, known
}

// Ends returns the ends of the certificates in use, by port.
func (a *Admin) Ends() map[string]time.Time {
	if a.CertificatesEnd == nil {
		return nil
	}
	return a.CertificatesEnd()
}

// Mount serves further paths on the admin port. Their handler checks its callers itself.
func (a *Admin) Mount(pattern string, handler http.Handler) { a.mux.Handle(pattern, handler) }

// localAnswer keeps the answer to a Local.
type localAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the header.
func (w *localAnswer) Header() http.Header { return w.header }

// WriteHeader notes the status.
func (w *localAnswer) WriteHeader(status int) { w.status = status }

// Write keeps the bytes.
func (w *localAnswer) Write(p []byte) (int, error) { return w.body.Write(p) }
