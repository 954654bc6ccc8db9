package migrate

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/definitions"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// answering returns a source whose service answers every action with a status and a text.
func answering(t *testing.T, o Options, answer func(action string) (int, string), seen func(*http.Request)) *Source {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen(r)
		status, text := answer(strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS."))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	o.Endpoint, o.Timeout = server.URL, time.Minute
	s, err := NewSource(o)
	clustertest.Must(t, err)
	t.Cleanup(s.Close)
	return s
}

// Yandex's queues get its profile, ARNs of any form get variables, and keys of KMS are left out.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"ListQueues": `{"QueueUrls":["https://h/b1/g/orders.fifo"]}`,
		"GetQueueAttributes": `{"Attributes":{"QueueArn":"yrn:yc:ymq:ru-central1:b1g8:orders.fifo","VisibilityTimeout":"40","FifoQueue":"true",
			"CreatedTimestamp":"1","KmsMasterKeyId":"alias/x",
			"RedrivePolicy":"{\"deadLetterTargetArn\":\"yrn:yc:ymq:ru-central1:b1g8:dead.fifo\",\"maxReceiveCount\":2}"}}`,
		"ListQueueTags": `{"Tags":{"team":"web"}}`,
	}
	s := answering(t, Options{Service: YMQ, Region: "ru-central1", KeyID: "ID", Secret: "hidden", Token: "temporary"},
		func(action string) (int, string) { return http.StatusOK, answers[action] },
		func(r *http.Request) {
			signed := r.Header.Get("Authorization")
			if !strings.HasPrefix(signed, "AWS4-HMAC-SHA256 Credential=ID/") || !strings.Contains(signed, "/ru-central1/sqs/") ||
				!strings.Contains(signed, "x-amz-security-token") || strings.Contains(signed, "hidden") {
				t.Errorf("signature %s", signed)
			}
		})
	queues, err := s.Queues(t.Context(), "")
	clustertest.Must(t, err)
	d, notes, err := s.Definitions(t.Context(), queues)
	clustertest.Must(t, err)
	want := []definitions.Queue{{Name: "orders.fifo", Tags: map[string]string{"team": "web"}, Attributes: map[string]string{
		"CompatibilityProfile": "ymq", "VisibilityTimeout": "40",
		"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:{region}:{account}:dead.fifo","maxReceiveCount":2}`,
	}}}
	if diff := cmp.Diff(want, d.Queues); diff != "" {
		t.Error(diff)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "KMS") {
		t.Errorf("%q", notes)
	}
}

// Each refusal of a source has its exit code, and none shows the secret.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		text   string
		code   exit.Code
		says   string
	}{
		{http.StatusForbidden, `{"__type":"com.amazonaws.sqs#AccessDeniedException","message":"no"}`, exit.Denied, "AccessDeniedException: no"},
		{http.StatusBadRequest, `{"__type":"InvalidClientTokenId","Message":"no"}`, exit.Denied, "InvalidClientTokenId: no"},
		{http.StatusBadRequest, `{"__type":"com.amazonaws.sqs#QueueDoesNotExist"}`, exit.NotFound, "QueueDoesNotExist"},
		{http.StatusServiceUnavailable, `busy`, exit.Unavailable, "HTTP 503"},
		{http.StatusBadRequest, `<xml/>`, exit.Failed, "HTTP 400"},
		{http.StatusOK, `<xml/>`, exit.Failed, "unreadable answer"},
	} {
		s := answering(t, Options{KeyID: "ID", Secret: "hidden"}, func(string) (int, string) { return c.status, c.text },
			func(*http.Request) {})
		_, err := s.Queues(t.Context(), "")
		if exit.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error()+exit.HintOf(err), "hidden") {
			t.Errorf("%d %s: exit code %d, %v", c.status, c.text, exit.CodeOf(err), err)
		}
	}
}

// A source without tags is read, and any other refusal of the tags is an error.
func TestTagsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		text   string
		read   bool
	}{
		{http.StatusBadRequest, `{"__type":"InvalidAction"}`, true},
		{http.StatusBadRequest, `{"__type":"com.amazonaws.sqs#AWS.SimpleQueueService.UnsupportedOperation"}`, true},
		{http.StatusBadRequest, `{"__type":"com.amazonaws.sqs#UnsupportedOperation"}`, true},
		{http.StatusBadRequest, `{"__type":"UnknownOperationException"}`, true},
		{http.StatusNotImplemented, `{"__type":"NotImplemented"}`, true}, {http.StatusNotFound, ``, true},
		{http.StatusForbidden, `{"__type":"com.amazonaws.sqs#AccessDeniedException","message":"no"}`, false},
		{http.StatusBadRequest, `{"__type":"RequestThrottled"}`, false}, {http.StatusServiceUnavailable, `busy`, false},
	} {
		s := answering(t, Options{}, func(action string) (int, string) {
			if action == "ListQueueTags" {
				return c.status, c.text
			}
			return http.StatusOK, `{"Attributes":{"QueueArn":"arn:aws:sqs:us-east-1:1:q"}}`
		}, func(*http.Request) {})
		_, _, err := s.Definitions(t.Context(), []Queue{{"q", "http://h/1/q"}})
		if (err == nil) != c.read {
			t.Errorf("%d %s: %v", c.status, c.text, err)
		}
	}
}

// A received message keeps what a sender gave it. Its id at the source is the deduplication id.
func TestMessage(t *testing.T) {
	t.Parallel()
	var r received
	clustertest.Must(t, json.Unmarshal([]byte(`{"MessageId":"m","Body":"b","Attributes":{"MessageGroupId":"g","MessageDeduplicationId":"d",
		"AWSTraceHeader":"Root=1"},"MessageAttributes":{"n":{"DataType":"Number.int","StringValue":"5"},
		"raw":{"DataType":"Binary.png","BinaryValue":"AAE="}}}`), &r))
	m := r.message(true)
	if m.GetBody() != "b" || m.GetGroupId() != "g" || m.GetDeduplicationId() != "m" || m.GetTraceHeader() != "Root=1" ||
		m.GetAttributes()["n"].GetText() != "5" || string(m.GetAttributes()["raw"].GetBinary()) != "\x00\x01" {
		t.Errorf("%v", m)
	}
	if r.message(false).DeduplicationId != nil {
		t.Error("a standard queue takes no deduplication id")
	}
	large := received{Body: strings.Repeat("x", batchBytes)}
	for want, list := range map[int][]received{1: {large, large}, 2: {{}, {}}, 4: {{}, {}, {}, large, large}} {
		if got := fitting(list); got != want {
			t.Errorf("%d of %d fit, want %d", got, len(list), want)
		}
	}
}
