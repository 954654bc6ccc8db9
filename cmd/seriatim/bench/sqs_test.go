package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/grpc/client"
)

// TestConnection: calls share a connection until one side closes it.
func TestConnection(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in entry
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		switch in.ID {
		case "refuse":
			http.Error(w, `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"no"}`, http.StatusBadRequest)
			return
		case "unavailable":
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		case "break":
			panic(http.ErrAbortHandler)
		case "close":
			w.Header().Set("Connection", "close")
		case "flush":
			fmt.Fprint(w, `{"MessageId":`)
			w.(http.Flusher).Flush()
			fmt.Fprintf(w, `%q}`, strings.Repeat("x", 100_000))
			return
		}
		fmt.Fprintf(w, `{"MessageId":"%s %s %s %s %s"}`, r.RemoteAddr, r.URL.Path, r.Header.Get("X-Amz-Target"),
			r.Header.Get("Content-Type"), in.ID)
	}))
	defer server.Close()
	c := newSQSCaller(Target{Addresses: []string{strings.TrimPrefix(server.URL, "http://")}, Timeout: time.Minute, Account: "111111111111"},
		0)
	defer c.close()
	call := func(id string) (string, error) {
		var out batchAnswer
		err := c.call(t.Context(), "Test", entry{ID: id}, &out, 0)
		return out.MessageID, err
	}
	first, err := call("x")
	if err != nil || !strings.HasSuffix(first, " /111111111111/ AmazonSQS.Test application/x-amz-json-1.0 x") {
		t.Errorf("the server saw %s; %v", first, err)
	}
	for id, want := range map[string]string{"refuse": "QueueDoesNotExist", "unavailable": "HTTP 503"} {
		if _, err := call(id); codeOf(err) != want || isFinal(err) != (id != "unavailable") {
			t.Errorf("%s: %s, final %v: %v", id, codeOf(err), isFinal(err), err)
		}
	}
	if long, err := call("flush"); err != nil || len(long) != 100_000 {
		t.Errorf("%d bytes in parts; %v", len(long), err)
	}
	if again, err := call("x"); again != first || err != nil {
		t.Errorf("another connection: %s, then %s; %v", first, again, err)
	}
	if _, err := call("break"); codeOf(err) != "ConnectionLost" || isFinal(err) {
		t.Errorf("a connection that breaks: %v", err)
	}
	second, err := call("close")
	if err != nil || second[:20] == first[:20] {
		t.Errorf("after it broke: %s; %v", second, err)
	}
	if third, err := call("x"); err != nil || third[:20] == second[:20] {
		t.Errorf("after it was closed: %s, then %s; %v", second, third, err)
	}
	server.Close()
	if _, err := call("x"); codeOf(err) != "ConnectionRefused" && codeOf(err) != "ConnectionLost" {
		t.Errorf("without a server: %v", err)
	}
}

// TestTLSAndSignature: calls over TLS, signed as the server verifies it.
func TestTLSAndSignature(t *testing.T) {
	t.Parallel()
	verifier := sigv4.New(secret{}, time.Now)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if _, _, err := verifier.Verify(r, string(body)); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, `{"MessageId":"m"}`)
	}))
	defer server.Close()
	target := Target{
		Addresses: []string{strings.TrimPrefix(server.URL, "https://")}, Timeout: time.Minute,
		TLS: server.Client().Transport.(*http.Transport).TLSClientConfig,
		Key: &client.Key{ID: "AKIDEXAMPLE", Secret: "secret", Region: "us-east-1"},
	}
	c := newSQSCaller(target, 0)
	defer c.close()
	if ids, err := c.send(t.Context(), []message{{Body: "b", Group: "g", ID: "1"}}); err != nil || ids[0] != "m" {
		t.Errorf("%v, %v", ids, err)
	}
}

type secret struct{}

func (secret) Secret(string) (string, bool, error) { return "secret", true, nil }

// TestSingleCalls: a deletion has an empty answer, and a send must have a message id.
func TestSingleCalls(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{`{"MessageId":"a"}`: "", "empty": "IncompleteAnswer", "{}": "IncompleteAnswer",
		"nonsense": "Unreadable"} {
		r, _ := fakeRun(t, map[string]string{"SendMessage": answer, "DeleteMessage": "empty"})
		if _, err := r.admin.send(t.Context(), make([]message, 1)); codeOf(err) != want {
			t.Errorf("a send that is answered with %s: %v", answer, err)
		}
		if err := r.admin.remove(t.Context(), []string{"h"}); err != nil {
			t.Error(err)
		}
	}
}

// TestPartOfABatch: one refused entry fails the call with its code.
func TestPartOfABatch(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"Successful":[{"MessageId":"a"}],"Failed":[{"Id":"1","Code":"InternalError","SenderFault":false}]}`: "InternalError",
		`{"Successful":[{"MessageId":"a"}]}`:                   "IncompleteAnswer",
		`{"Successful":[{"MessageId":"a"},{"MessageId":"b"}]}`: "",
	} {
		r, _ := fakeRun(t, map[string]string{"SendMessageBatch": answer})
		_, err := r.admin.send(t.Context(), make([]message, 2))
		if codeOf(err) != want || isFinal(err) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}
