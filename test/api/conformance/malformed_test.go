package conformance

import (
	"net/http"
	"strings"
	"testing"
)

// TestMalformedJSON checks that each malformed input gets a client error with a reason, and never a
// server error.
func TestMalformedJSON(t *testing.T) {
	t.Parallel()
	_, queue := jsonQueue(t)
	cases := []struct{ name, body string }{
		{"no JSON", "hello"},
		{"cut off", `{"QueueUrl":"`},
		{"an array", `[]`},
		{"a string", `"x"`},
		{"two objects", `{}{}`},
		{"bad escape", `{"QueueUrl":"\q"}`},
		{"string for integer", `{"QueueUrl":"` + queue + `","MessageBody":"m","DelaySeconds":"1"}`},
		{"object for string", `{"QueueUrl":{},"MessageBody":"m"}`},
		{"list for map", `{"QueueUrl":"` + queue + `","MessageBody":"m","MessageAttributes":[]}`},
		{"bad base64", `{"QueueUrl":"` + queue + `","MessageBody":"m","MessageAttributes":{"a":{"DataType":"Binary","BinaryValue":"*"}}}`},
		{"deep nesting", strings.Repeat(`{"a":`, 100_000)},
		{"invalid UTF-8", "{\"QueueUrl\":\"" + queue + "\",\"MessageBody\":\"\xff\xfe\"}"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			got := rawRequest{header: jsonHeader("SendMessage"), body: test.body}.do(t)
			if got.status != http.StatusBadRequest {
				t.Fatalf("want 400: %v", got)
			}
			body := got.object(t)
			kind, _ := body["__type"].(string)
			message, _ := body["message"].(string)
			if kind == "" || message == "" || got.header.Get("x-amzn-query-error") == "" ||
				!uuidForm.MatchString(got.header.Get("x-amzn-RequestId")) {
				t.Errorf("type %q, message %q: %v", kind, message, got)
			}
		})
	}
	t.Run("string for integer text", func(t *testing.T) {
		got := postJSON(t, "SendMessage", object{"QueueUrl": queue, "MessageBody": "m", "DelaySeconds": "1"}).object(t)
		if got["__type"] != "com.amazon.coral.service#SerializationException" ||
			got["message"] != "STRING_VALUE can not be converted to an Integer" {
			t.Errorf("answer %v", got)
		}
	})
	t.Run("unknown action", func(t *testing.T) {
		got := postJSON(t, "FooBar", object{})
		if kind := got.object(t)["__type"]; got.status != 400 || kind != "com.amazon.coral.service#UnknownOperationException" {
			t.Errorf("type %v: %v", kind, got)
		}
	})
	t.Run("empty body", func(t *testing.T) {
		rawRequest{header: jsonHeader("ListQueues")}.do(t).ok(t)
	})
}

func TestMalformedForm(t *testing.T) {
	t.Parallel()
	_, queue := jsonQueue(t)
	cases := []struct{ name, body string }{
		{"bad percent escape", "Action=SendMessage&MessageBody=%zz"},
		{"integer is a word", form("Action", "SendMessage", "QueueUrl", queue, "MessageBody", "m", "DelaySeconds", "soon")},
		{"no action", form("QueueUrl", queue)},
		{"bad base64", form("Action", "SendMessage", "QueueUrl", queue, "MessageBody", "m", "MessageAttribute.1.Name", "a",
			"MessageAttribute.1.Value.DataType", "Binary", "MessageAttribute.1.Value.BinaryValue", "*")},
		{"invalid UTF-8", form("Action", "SendMessage", "QueueUrl", queue, "MessageBody", "\xff\xfe")},
		{"XML instead of a form", "<SendMessage><MessageBody>m</MessageBody></SendMessage>"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			got := rawRequest{header: formHeader, body: test.body}.do(t)
			if got.status != http.StatusBadRequest && got.status != http.StatusNotFound {
				t.Errorf("want 400 or 404: %v", got)
			}
		})
	}
	t.Run("huge index", func(t *testing.T) {
		// Refused or ignored, both do no harm.
		if got := postForm(t, "Action", "GetQueueAttributes", "QueueUrl", queue, "AttributeName.99999999999999999999",
			"All"); got.status >= 500 {
			t.Errorf("a server error: %v", got)
		}
	})
}

// TestMalformedOther: requests that are neither protocol.
func TestMalformedOther(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		request rawRequest
	}{
		{"XML document", rawRequest{header: map[string]string{"Content-Type": "text/xml"}, body: "<a>"}},
		{"no content type", rawRequest{body: "x"}},
		{"another service", rawRequest{header: map[string]string{"Content-Type": "application/x-amz-json-1.0",
			"X-Amz-Target": "DynamoDB.Get"}, body: "{}"}},
		{"another method", rawRequest{method: http.MethodPut, body: "x"}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			if got := test.request.do(t); got.status < 400 || got.status >= 500 {
				t.Errorf("want a client error: %v", got)
			}
		})
	}
}

// TestMessageOfOneMiB checks that a message of the largest size is accepted, and one byte more is
// not, in both protocols and however the text is encoded.
func TestMessageOfOneMiB(t *testing.T) {
	const limit = 1 << 20
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		// A line feed takes two bytes in JSON and three in a form.
		for _, letter := range []string{"a", "\n"} {
			body := strings.Repeat(letter, limit)
			c.send(t, queue, body)
			m := c.one(t, queue)
			if *m.Body != body {
				t.Errorf("the body came back with %d bytes", len(*m.Body))
			}
			_, got := c.trySend(t, queue, body+letter)
			refused(t, got, "InvalidParameterValue",
				"One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.")
			_, got = c.trySendBatch(t, queue, entry("a", body+letter))
			refused(t, got, "AWS.SimpleQueueService.BatchRequestTooLong",
				"Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.")
		}
		c.counts(t, queue, 0, 2, 0)
	})
}

// TestMessageFarTooLong checks that a body beyond all limits is refused without being read
// completely.
func TestMessageFarTooLong(t *testing.T) {
	t.Parallel()
	_, queue := jsonQueue(t)
	body := `{"QueueUrl":"` + queue + `","MessageBody":"` + strings.Repeat("a", 20<<20) + `"}`
	got, err := rawRequest{header: jsonHeader("SendMessage"), body: body}.attempt(t)
	if err == nil && (got.status < 400 || got.status >= 500) {
		t.Errorf("want a client error, got HTTP %d", got.status)
	}
}
