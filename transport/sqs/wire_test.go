package sqs

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
	"testing"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/limits"
)

func (f *fixture) request(method, path string, header map[string]string, body string) *http.Request {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.server.URL+path, strings.NewReader(body))
	clustertest.Must(f.t, err)
	for k, v := range header {
		r.Header.Set(k, v)
	}
	return r
}

func TestQueryOverGet(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, path string
		status     int
		code       string
		part       string
	}{
		{"root without parameters", "/", 404, "", "<UnknownOperationException"},
		{"unknown action", "/000000000000/q?Action=FooBar", 400, "InvalidAction", "The action FooBar is not valid for this endpoint."},
		{"ListQueues on a queue", "/000000000000/q?Action=ListQueues", 400, "InvalidAction",
			"The action ListQueues is not valid for this endpoint."},
		{"CreateQueue on a queue", "/000000000000/q?Action=CreateQueue&QueueName=x", 400, "InvalidAction",
			"The action CreateQueue is not valid for this endpoint."},
		{"ListQueues at the root", "/?Action=ListQueues", 200, "", "<QueueUrl>"},
		{"GetQueueUrl on another queue", "/000000000000/other?Action=GetQueueUrl&QueueName=q", 200, "", "/000000000000/q</QueueUrl>"},
		{"all attributes", "/000000000000/q?Action=GetQueueAttributes&AttributeName.1=All", 200, "",
			"<Attribute><Name>VisibilityTimeout</Name><Value>30"},
		{"index-less list", "/000000000000/q?Action=GetQueueAttributes&AttributeName=All", 200, "", "VisibilityTimeout"},
		{"QueueUrl wins over the path", "/000000000000/none?Action=GetQueueAttributes&QueueUrl=q", 200, "", "GetQueueAttributesResult"},
		{"presigned", "/000000000000/q?Action=ReceiveMessage&X-Amz-Algorithm=AWS4-HMAC-SHA256&" +
			"X-Amz-Credential=AKID%2F20260101%2Fus-east-1%2Fsqs%2Faws4_request&X-Amz-Signature=0", 200, "", "<ReceiveMessageResult/>"},
		{"malformed escape", "/?Action=%zz", 400, "MalformedQueryString", "syntax error"},
		{"not an integer", "/000000000000/q?Action=ReceiveMessage&WaitTimeSeconds=x", 400, "InvalidParameterValue",
			"Value x for parameter WaitTimeSeconds is invalid."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create("q", nil)
			a := f.do(aws.Query, f.request(http.MethodGet, tc.path, map[string]string{"Accept": "*/*, application/json"}, ""))
			if a.status != tc.status || a.code != tc.code || !strings.Contains(a.body, tc.part) {
				t.Errorf("got %d %s: %s", a.status, a.code, a.body)
			}
		})
	}
}

func TestJSONRequests(t *testing.T) {
	t.Parallel()
	header := func(target string) map[string]string {
		return map[string]string{"Content-Type": aws.JSONType, "X-Amz-Target": target}
	}
	for _, tc := range []struct {
		name   string
		path   string
		header map[string]string
		body   string
		status int
		code   string
		kind   string
	}{
		{"on a queue path", "/000000000000/q", header("AmazonSQS.SendMessage"), `{"QueueUrl":"q","MessageBody":"b"}`, 200, "", ""},
		{"account action on a queue path", "/000000000000/q", header("AmazonSQS.ListQueues"), ``, 200, "", ""},
		{"empty body", "/", header("AmazonSQS.ListQueues"), "", 200, "", ""},
		{"unknown members and nulls", "/", header("AmazonSQS.SendMessage"),
			`{"QueueUrl":"q","MessageBody":"b","DelaySeconds":null,"Foo":{"a":[1]}}`, 200, "", ""},
		{"content type with charset", "/", map[string]string{"Content-Type": aws.JSONType + "; charset=utf-8",
			"X-Amz-Target": "AmazonSQS.ListQueues"}, "{}", 200, "", ""},
		{"unknown action", "/", header("AmazonSQS.FooBar"), "{}", 400, "InvalidAction",
			"com.amazon.coral.service#UnknownOperationException"},
		{"other service", "/", header("AmazonSNS.Publish"), "{}", 400, "InvalidAction",
			"com.amazon.coral.service#UnknownOperationException"},
		{"no target", "/", map[string]string{"Content-Type": aws.JSONType}, "{}", 400, "InvalidAction",
			"com.amazon.coral.service#UnknownOperationException"},
		{"not JSON", "/", header("AmazonSQS.ListQueues"), "<a>", 400, "SerializationException",
			"com.amazon.coral.service#SerializationException"},
		{"cut off", "/", header("AmazonSQS.SendMessage"), `{"QueueUrl":"q","MessageBody":"b`, 400, "SerializationException",
			"com.amazon.coral.service#SerializationException"},
		{"an empty list of accounts", "/", header("AmazonSQS.AddPermission"),
			`{"QueueUrl":"q","Label":"L","AWSAccountIds":[],"Actions":["SendMessage"]}`, 400, "InvalidParameterValue",
			"com.amazon.coral.service#InvalidParameterValueException"},
		{"no list of accounts", "/", header("AmazonSQS.AddPermission"), `{"QueueUrl":"q","Label":"L","Actions":["SendMessage"]}`, 400,
			"MissingParameter", "com.amazon.coral.service#MissingRequiredParameterException"},
		{"a tag without a value", "/", header("AmazonSQS.TagQueue"), `{"QueueUrl":"q","Tags":{"a":null,"b":"1"}}`, 200, "", ""},
		{"string for an integer", "/", header("AmazonSQS.ReceiveMessage"), `{"QueueUrl":"q","MaxNumberOfMessages":"1"}`, 400,
			"SerializationException", "com.amazon.coral.service#SerializationException"},
		{"too large", "/", header("AmazonSQS.SendMessage"), strings.Repeat(" ", limits.BodyBytesMax+1), 413, "RequestEntityTooLarge",
			"com.amazon.coral.service#RequestEntityTooLargeException"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create("q", nil)
			a := f.do(aws.JSON, f.request(http.MethodPost, tc.path, tc.header, tc.body))
			if a.status != tc.status || a.code != tc.code || a.errType != tc.kind {
				t.Errorf("got %d %s %s: %s", a.status, a.code, a.errType, a.body)
			}
		})
	}
}

// TestNegotiatedJSON checks that a Query request that accepts JSON gets the structure of the XML as
// JSON, but a request without an action gets XML.
func TestNegotiatedJSON(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("q", nil)
	get := func(path string) answer {
		response, err := f.server.Client().Do(f.request(http.MethodGet, path,
			map[string]string{"Accept": "application/json; charset=utf-8, */*"}, ""))
		clustertest.Must(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		clustertest.Must(t, err)
		id := response.Header.Get("x-amzn-RequestId")
		text := strings.ReplaceAll(strings.ReplaceAll(string(body), id, "<id>"), f.server.URL, "<host>")
		return answer{status: response.StatusCode, body: text, code: response.Header.Get("Content-Type")}
	}
	const metadata = `"ResponseMetadata":{"RequestId":"<id>"}}}`
	for _, c := range []struct {
		path   string
		status int
		body   string
	}{
		{"/?Action=ListQueues", 200, `{"ListQueuesResponse":{"ListQueuesResult":{"queueUrls":["<host>/000000000000/q"],"NextToken":null},` +
			metadata},
		{"/?Action=GetQueueUrl&QueueName=q", 200, `{"GetQueueUrlResponse":{"GetQueueUrlResult":{"QueueUrl":"<host>/000000000000/q"},` +
			metadata},
		{
			"/000000000000/q?Action=GetQueueAttributes&AttributeName.1=DelaySeconds", 200,
			`{"GetQueueAttributesResponse":{"GetQueueAttributesResult":{"Attributes":[{"Name":"DelaySeconds","Value":"0"}]},` + metadata,
		},
		{"/000000000000/q?Action=ReceiveMessage", 200, `{"ReceiveMessageResponse":{"ReceiveMessageResult":{"messages":null},` + metadata},
		{"/000000000000/q?Action=TagQueue&Tag.1.Key=k&Tag.1.Value=v", 200, `{"TagQueueResponse":{` + metadata},
		{"/000000000000/q?Action=ListQueueTags", 200,
			`{"ListQueueTagsResponse":{"ListQueueTagsResult":{"Tags":[{"Key":"k","Value":"v"}]},` + metadata},
		{
			"/000000000000/q?Action=SendMessage", 400,
			`{"Error":{"Code":"MissingParameter","Message":"The request must contain the parameter MessageBody.","Type":"Sender"},"RequestId":"<id>"}`,
		},
	} {
		if got := get(c.path); got.status != c.status || got.body != c.body || got.code != "application/json" {
			t.Errorf("%s: %d %s\n%s\nwant\n%s", c.path, got.status, got.code, got.body, c.body)
		}
	}
	f.ok(f.call(aws.JSON, "SendMessage", members{"QueueUrl": "q", "MessageBody": "b\"", "MessageAttributes": members{
		"n": members{"DataType": "Number", "StringValue": "1"},
	}}))
	var got struct {
		ReceiveMessageResponse struct {
			ReceiveMessageResult struct {
				Messages []struct {
					Body              string
					MessageAttributes []struct {
						Name  string
						Value struct{ DataType, StringValue string }
					}
				} `json:"messages"`
			}
		}
	}
	body := get("/000000000000/q?Action=ReceiveMessage&MessageAttributeName.1=All").body
	clustertest.Must(t, json.Unmarshal([]byte(body), &got))
	messages := got.ReceiveMessageResponse.ReceiveMessageResult.Messages
	if len(messages) != 1 || messages[0].Body != "b\"" || len(messages[0].MessageAttributes) != 1 ||
		messages[0].MessageAttributes[0].Value.StringValue != "1" {
		t.Errorf("got %s", body)
	}
	if got := get("/000000000000/q"); got.status != 404 || got.body != "<UnknownOperationException/>\n" || got.code != "text/xml" {
		t.Errorf("without an action: %+v", got)
	}
}

func TestQueueURLEchoesTheRequest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, host, proto, want string }{
		{"host header", "queue.example.org:9999", "", "http://queue.example.org:9999/000000000000/q"},
		{"behind a proxy", "queue.example.org", "https", "https://queue.example.org/000000000000/q"},
		{"behind two", "queue.example.org", "HTTPS, http", "https://queue.example.org/000000000000/q"},
		{"nonsense", "queue.example.org", "gopher", "http://queue.example.org/000000000000/q"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create("q", nil)
			r := f.request(http.MethodPost, "/", map[string]string{"X-Amz-Target": "AmazonSQS.GetQueueUrl",
				"X-Forwarded-Proto": tc.proto}, `{"QueueName":"q"}`)
			r.Host = tc.host
			if got := f.ok(f.do(aws.JSON, r)).element("QueueUrl"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTraceHeaderAndSender(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("q", nil)
	a := f.ok(f.do(aws.JSON, f.request(http.MethodPost, "/", map[string]string{
		"X-Amz-Target": "AmazonSQS.SendMessage", "X-Amzn-Trace-Id": "Root=1-2",
		"Authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0",
	}, `{"QueueUrl":"q","MessageBody":"b"}`)))
	if a.element("MD5OfMessageSystemAttributes") != "" {
		t.Errorf("no system attribute was sent: %s", a.body)
	}
	got := f.ok(f.call(aws.JSON, "ReceiveMessage", members{"QueueUrl": "q", "MessageSystemAttributeNames": []string{"All"}}))
	if got.element("AWSTraceHeader") != "Root=1-2" || got.element("SenderId") != "AKIDEXAMPLE" {
		t.Errorf("got %s", got.body)
	}
}

// TestForeignTraceHeader checks that a message is accepted although a proxy added a trace header
// that cannot be an attribute.
func TestForeignTraceHeader(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("q", nil)
	f.ok(f.do(aws.JSON, f.request(http.MethodPost, "/", map[string]string{
		"X-Amz-Target": "AmazonSQS.SendMessage", "X-Amzn-Trace-Id": strings.Repeat("r", 1025),
	}, `{"QueueUrl":"q","MessageBody":"b"}`)))
	got := f.ok(f.call(aws.JSON, "ReceiveMessage", members{"QueueUrl": "q", "MessageSystemAttributeNames": []string{"All"}}))
	if got.element("Body") != "b" || got.element("AWSTraceHeader") != "" {
		t.Errorf("got %s", got.body)
	}
}

// TestLinksChangeNothing checks that a browser that follows a link or loads an image can read but
// not change anything, while other clients can.
func TestLinksChangeNothing(t *testing.T) {
	t.Parallel()
	const browser = "Mozilla/5.0 (X11; Linux x86_64)"
	for _, c := range []struct {
		name, target, agent, authorization string
		status                             int
	}{
		{"a browser looks", "/?Action=ListQueues", browser, "", 200},
		{"a browser sends", "/?Action=SendMessage&QueueUrl=q&MessageBody=b", browser, "", 403},
		{"a browser deletes", "/000000000000/q?Action=DeleteQueue", browser, "", 403},
		{"with a credential that proves nothing", "/?Action=DeleteQueue&QueueUrl=q&" +
			"X-Amz-Credential=AKID/20260101/us-east-1/sqs/aws4_request", browser, "", 403},
		{"with a header that a link cannot set", "/?Action=SendMessage&QueueUrl=q&MessageBody=b", browser,
			"AWS4-HMAC-SHA256 Credential=AKID/x", 200},
		{"another client", "/?Action=SendMessage&QueueUrl=q&MessageBody=b", "curl/8.0", "", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create("q", nil)
			header := map[string]string{"User-Agent": c.agent}
			if c.authorization != "" {
				header["Authorization"] = c.authorization
			}
			if a := f.do(aws.Query, f.request(http.MethodGet, c.target, header, "")); a.status != c.status {
				t.Errorf("got %d %s", a.status, a.body)
			}
		})
	}
}

// TestErrorsQuoteLittle checks that an error does not repeat a value of megabytes, but still names
// the problem.
func TestErrorsQuoteLittle(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("7", 5<<20)
	f := newFixture(t)
	f.create("q", nil)
	for _, c := range []struct {
		protocol, action string
		in               members
		code, text       string
	}{
		{aws.Query, "SendMessage", members{"QueueUrl": "q", "MessageBody": "b", "DelaySeconds": long}, "InvalidParameterValue",
			"Must be an integer"},
		{aws.JSON, "SendMessage", members{"QueueUrl": "q", "MessageBody": "b", "MessageGroupId": long}, "InvalidParameterValue",
			"1 to 128 in length"},
		{aws.JSON, "DeleteMessage", members{"QueueUrl": "q", "ReceiptHandle": long}, "ReceiptHandleIsInvalid",
			"is not a valid receipt handle"},
		{aws.JSON, "DeleteMessage", members{"QueueUrl": long, "ReceiptHandle": "r"}, "AWS.SimpleQueueService.NonExistentQueue", ""},
		{aws.JSON, "GetQueueUrl", members{"QueueName": long}, "AWS.SimpleQueueService.NonExistentQueue", ""},
		{aws.JSON, "CreateQueue", members{"QueueName": long}, "InvalidParameterValue", "1 to 80 in length"},
		{aws.JSON, "SetQueueAttributes", members{"QueueUrl": "q", "Attributes": members{long: "1"}}, "InvalidAttributeName",
			"Unknown Attribute"},
		{aws.Query, long, nil, "InvalidAction", "is not valid for this endpoint"},
	} {
		var a answer
		if c.in != nil {
			a = f.call(c.protocol, c.action, c.in)
		} else {
			a = f.do(c.protocol, f.request(http.MethodPost, "/?Action="+strings.Repeat("a", 10_000), nil, ""))
		}
		if a.code != c.code || !strings.Contains(a.body, c.text) || len(a.body) > 1000 {
			t.Errorf("%.20s %s: %d bytes: %.1000s", c.action, a.code, len(a.body), a.body)
		}
	}
}

// refuser is a Verifier that refuses every request.
type refuser struct{}

func (refuser) Verify(_ *http.Request, body string) (auth.Identity, string, error) {
	if body == "" {
		return auth.Identity{}, "", errors.New("no body")
	}
	return auth.Identity{}, "", &auth.Error{Code: "InvalidClientTokenId", Status: 403,
		Message: "The security token included in the request is invalid."}
}

func TestRefusedCaller(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, f *fixture, protocol string) {
		f.handler.Verifier = refuser{}
		a := f.call(protocol, "CreateQueue", members{"QueueName": "q"})
		if a.status != 403 || a.code != "InvalidClientTokenId" || a.message != "The security token included in the request is invalid." {
			t.Errorf("got %d %s: %s", a.status, a.code, a.body)
		}
		if f.exists("q") {
			t.Error("a refused caller changed the state")
		}
	})
}

func TestLongPoll(t *testing.T) {
	t.Parallel()
	type result struct {
		answer answer
		err    error
	}
	start := func(ctx context.Context, f *fixture) <-chan result {
		done := make(chan result, 1) // the one result
		r := f.request(http.MethodPost, "/", map[string]string{"X-Amz-Target": "AmazonSQS.ReceiveMessage",
			"Content-Type": aws.JSONType}, `{"QueueUrl":"q","WaitTimeSeconds":20}`)
		go func() {
			response, err := f.server.Client().Do(r.WithContext(ctx))
			if err != nil {
				done <- result{err: err}
				return
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			done <- result{answer{status: response.StatusCode, body: string(body), code: response.Header.Get("x-amzn-query-error")}, err}
		}()
		<-f.node.waiting
		return done
	}
	t.Run("a client that hung up consumes nothing", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.create("q", nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := start(ctx, f)
		cancel()
		if got := <-done; got.err == nil {
			t.Errorf("got %+v", got)
		}
		f.server.CloseClientConnections()
		f.server.Close() // waits for the handler
		if _, err := f.node.Submit(t.Context(), &queue.SendMessages{Queue: "q", SenderID: "s",
			Entries: []queue.SendEntry{{Body: "b"}}}); err != nil {
			t.Fatal(err)
		}
		reply, err := f.node.Receive(t.Context(), &queue.ReceiveMessages{Queue: "q"}, 0)
		if err != nil || len(reply.Result.(queue.MessagesReceived).Messages) != 1 {
			t.Errorf("got %+v, %v", reply, err)
		}
	})
	t.Run("draining ends the wait with a retryable error", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.create("q", nil)
		done := start(t.Context(), f)
		f.service.Drain()
		if got := <-done; got.answer.status != 503 || got.answer.code != "ServiceUnavailable;Receiver" {
			t.Errorf("got %+v", got)
		}
		if a := f.call(aws.Query, "ReceiveMessage", members{"QueueUrl": "q", "WaitTimeSeconds": 5}); a.status != 503 {
			t.Errorf("a receive after that: %d %s", a.status, a.body)
		}
		f.send("q", "still works")
	})
	t.Run("draining does not deny what may have been received", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.create("q", nil)
		// The answer of a node if the receive may be in the log.
		f.node.fail = fmt.Errorf("%w: %w", cluster.ErrOutcomeUnknown, context.Canceled)
		f.service.Drain()
		a := f.call(aws.Query, "ReceiveMessage", members{"QueueUrl": "q", "WaitTimeSeconds": 5})
		if a.status != 503 || a.code != "OutcomeUnknown" {
			t.Errorf("got %d %s %s", a.status, a.code, a.body)
		}
	})
}

func TestAnswerBufferIsNotShared(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create("q", nil)
	long := strings.Repeat("x", 100_000)
	done := make(chan error, 8) // one per goroutine
	for i := range 8 {
		go func() {
			body := string(rune('a'+i)) + long
			for range 5 {
				form := url.Values{"Action": {"SendMessage"}, "QueueUrl": {"q"}, "MessageBody": {body}}
				response, err := http.Post(f.server.URL+"/", aws.FormType, strings.NewReader(form.Encode()))
				if err != nil {
					done <- err
					return
				}
				answer, err := io.ReadAll(response.Body)
				response.Body.Close()
				if err == nil && !bytes.Contains(answer, []byte(bodyDigest(body))) {
					err = errors.New("another request's digest: " + string(answer))
				}
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		clustertest.Check(t, <-done)
	}
}
