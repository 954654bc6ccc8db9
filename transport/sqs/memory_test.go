package sqs

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/http1"
)

// smallWriter refuses long answers.
type smallWriter struct {
	*httptest.ResponseRecorder
	refused bool
}

func (w *smallWriter) WriteHeader(int) {}

func (w *smallWriter) Write(p []byte) (int, error) {
	if len(p) > 1000 {
		w.refused = true
		return 0, budget.ErrExhausted
	}
	return w.ResponseRecorder.Write(p)
}

// TestNoRoom checks that a request or an answer for which memory has no room gets a retryable error
// of its protocol.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("q", nil)
	f.call(aws.JSON, "SendMessage", members{"QueueUrl": "q", "MessageBody": strings.Repeat("x", 2000)})
	request := func(action, body string) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		clustertest.Must(t, err)
		r.Header.Set("Content-Type", aws.JSONType)
		r.Header.Set("X-Amz-Target", targetPrefix+action)
		return r
	}
	w := httptest.NewRecorder()
	r := request("SendMessage", "")
	r.Body = http1.NewBody(nil, budget.ErrExhausted)
	f.handler.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "#ServiceUnavailable") {
		t.Errorf("a body without room: %d %s", w.Code, w.Body)
	}
	small := &smallWriter{ResponseRecorder: httptest.NewRecorder()}
	f.handler.ServeHTTP(small, request("ReceiveMessage", `{"QueueUrl":"q"}`))
	if !small.refused || !strings.Contains(small.Body.String(), "#OutcomeUnknown") ||
		small.Header().Get("x-amzn-query-error") != "OutcomeUnknown;Receiver" {
		t.Errorf("an answer without room: %v %s", small.Header(), small.Body)
	}
}
