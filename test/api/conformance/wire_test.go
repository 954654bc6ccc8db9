package conformance

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// traced is a value of AWSTraceHeader, with its digest.
const (
	traced       = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
	tracedDigest = "5ae4d5d7636402d80f4eb6d213245a88"
)

func jsonQueue(t *testing.T) (*client, string) {
	t.Helper()
	c := newClient(shared.cluster, protocolJSON)
	return c, c.std(t, nil)
}

func TestWireJSONAtRoot(t *testing.T) {
	t.Parallel()
	_, queue := jsonQueue(t)
	got := postJSON(t, "GetQueueUrl", object{"QueueName": queueName(queue)}).ok(t)
	if kind := got.header.Get("Content-Type"); kind != "application/x-amz-json-1.0" {
		t.Errorf("content type %q", kind)
	}
	if diff := cmp.Diff(object{"QueueUrl": queue}, got.object(t)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// TestWireJSONAtQueuePath: the PHP SDK posts JSON to the queue's URL.
func TestWireJSONAtQueuePath(t *testing.T) {
	t.Parallel()
	c, queue := jsonQueue(t)
	body, err := json.Marshal(object{"QueueUrl": queue, "MessageBody": "m"})
	harness.Must(t, err)
	header := jsonHeader("SendMessage")
	header["Content-Type"] += "; charset=utf-8"
	rawRequest{path: queuePath(queue), header: header, body: string(body)}.do(t).ok(t)
	c.expect(t, queue, "m")
}

func TestWireRequestID(t *testing.T) {
	t.Parallel()
	_, queue := jsonQueue(t)
	// The wire check compares the form of the id and its place in the XML for every answer; this
	// test names them.
	seen := map[string]bool{}
	for _, got := range []answer{
		postJSON(t, "GetQueueUrl", object{"QueueName": queueName(queue)}),
		postJSON(t, "GetQueueUrl", object{"QueueName": unique(t)}),
		postForm(t, "Action", "GetQueueUrl", "QueueName", queueName(queue)),
		postForm(t, "Action", "GetQueueUrl", "QueueName", unique(t)),
	} {
		id := got.header.Get("x-amzn-RequestId")
		if !uuidForm.MatchString(id) || seen[id] {
			t.Errorf("request id %q is no UUID or not new", id)
		}
		seen[id] = true
		if strings.HasPrefix(got.header.Get("Content-Type"), "text/xml") {
			got.contains(t, "<RequestId>"+id+"</RequestId>")
		}
	}
}

func TestWireUnknownQueue(t *testing.T) {
	t.Parallel()
	got := postJSON(t, "GetQueueUrl", object{"QueueName": unique(t)})
	want := object{"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "The specified queue does not exist."}
	if diff := cmp.Diff(want, got.object(t)); diff != "" || got.status != 400 {
		t.Errorf("HTTP %d (-want +got):\n%s", got.status, diff)
	}
	if header := got.header.Get("x-amzn-query-error"); header != "AWS.SimpleQueueService.NonExistentQueue;Sender" {
		t.Errorf("x-amzn-query-error %q", header)
	}
	c, queue := jsonQueue(t)
	c.deleteQueue(t, queue)
	got = postForm(t, "Action", "GetQueueAttributes", "QueueUrl", queue)
	refused(t, got.refusal(t, false), "AWS.SimpleQueueService.NonExistentQueue",
		"The specified queue does not exist for this wsdl version.")
}

// TestWireErrorHeaderWithoutQueryMode checks that the header is also sent to clients that did not
// request it.
func TestWireErrorHeaderWithoutQueryMode(t *testing.T) {
	t.Parallel()
	header := jsonHeader("GetQueueUrl")
	delete(header, "X-Amzn-Query-Mode")
	got := rawRequest{header: header, body: `{"QueueName":"` + unique(t) + `"}`}.do(t)
	if code := got.header.Get("x-amzn-query-error"); code != "AWS.SimpleQueueService.NonExistentQueue;Sender" {
		t.Errorf("x-amzn-query-error %q", code)
	}
}

func TestWireErrorTypeAndCodeDiffer(t *testing.T) {
	t.Parallel()
	c, std := jsonQueue(t)
	fifo := c.fifo(t, nil)
	cases := []struct {
		name         string
		in           object
		suffix, code string
	}{
		{"invalid value", object{"QueueUrl": fifo, "MessageBody": "m", "MessageGroupId": "g"}, "#InvalidParameterValueException",
			"InvalidParameterValue;Sender"},
		{"missing parameter", object{"QueueUrl": std, "MessageBody": ""}, "#MissingRequiredParameterException", "MissingParameter;Sender"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			got := postJSON(t, "SendMessage", test.in)
			kind, _ := got.object(t)["__type"].(string)
			if !strings.HasSuffix(kind, test.suffix) || got.header.Get("x-amzn-query-error") != test.code {
				t.Errorf("type %q, header %q", kind, got.header.Get("x-amzn-query-error"))
			}
		})
	}
}

func TestWireEmptyReceive(t *testing.T) {
	t.Parallel()
	_, queue := jsonQueue(t)
	postJSON(t, "ReceiveMessage", object{"QueueUrl": queue}).absent(t, "Messages")
	got := postForm(t, "Action", "ReceiveMessage", "QueueUrl", queue).ok(t)
	if !strings.Contains(string(got.body), "<ReceiveMessageResult/>") &&
		!strings.Contains(string(got.body), "<ReceiveMessageResult></ReceiveMessageResult>") {
		t.Errorf("no empty result element: %v", got)
	}
}

func TestWireBatchWithoutFailures(t *testing.T) {
	t.Parallel()
	_, queue := jsonQueue(t)
	got := postJSON(t, "SendMessageBatch", object{"QueueUrl": queue, "Entries": []object{
		{"Id": "a", "MessageBody": "1"}, {"Id": "b", "MessageBody": "2"},
	}})
	got.absent(t, "Failed")
	if sent, _ := got.object(t)["Successful"].([]any); len(sent) != 2 {
		t.Errorf("Successful has %d entries, want 2", len(sent))
	}
}

func TestWireGet(t *testing.T) {
	t.Parallel()
	c, queue := jsonQueue(t)
	t.Run("no parameters", func(t *testing.T) {
		for _, accept := range []string{"", "application/json"} {
			got := rawRequest{method: http.MethodGet, path: queuePath(queue), header: map[string]string{"Accept": accept}}.do(t)
			if got.status != http.StatusNotFound {
				t.Errorf("HTTP %d, want 404", got.status)
			}
			got.contains(t, "<UnknownOperationException")
		}
	})
	t.Run("unknown action", func(t *testing.T) {
		refused(t, getQueue(t, queue, "Action", "FooBar").refusal(t, false), "InvalidAction",
			"The action FooBar is not valid for this endpoint.")
	})
	t.Run("action of no queue", func(t *testing.T) {
		for _, action := range []string{"ListQueues", "CreateQueue"} {
			refused(t, getQueue(t, queue, "Action", action).refusal(t, false), "InvalidAction",
				"The action "+action+" is not valid for this endpoint.")
		}
	})
	t.Run("missing body", func(t *testing.T) {
		refused(t, getQueue(t, queue, "Action", "SendMessage").refusal(t, false), "MissingParameter",
			"The request must contain the parameter MessageBody.")
	})
	t.Run("all attributes", func(t *testing.T) {
		got := getQueue(t, queue, "Action", "GetQueueAttributes", "AttributeName.1", "All").ok(t)
		got.contains(t, "<Attribute><Name>VisibilityTimeout</Name><Value>30")
	})
	t.Run("one attribute", func(t *testing.T) {
		got := getQueue(t, queue, "Action", "GetQueueAttributes", "AttributeName.1", "QueueArn").ok(t)
		got.contains(t, arn(queue))
		if strings.Contains(string(got.body), "VisibilityTimeout") {
			t.Errorf("an attribute that was not asked for: %v", got)
		}
	})
	t.Run("index-less attribute", func(t *testing.T) {
		getQueue(t, queue, "Action", "GetQueueAttributes", "AttributeName", "QueueArn").ok(t).contains(t, arn(queue))
	})
	t.Run("another queue by name", func(t *testing.T) {
		other := c.std(t, nil)
		getQueue(t, queue, "Action", "GetQueueUrl", "QueueName", queueName(other)).ok(t).contains(t, queueName(other))
	})
	t.Run("QueueUrl wins over the path", func(t *testing.T) {
		other := c.std(t, nil)
		getQueue(t, queue, "Action", "SendMessage", "MessageBody", "m", "QueueUrl", other).ok(t)
		c.expect(t, other, "m")
		c.empty(t, queue)
	})
	t.Run("delete", func(t *testing.T) {
		doomed := c.std(t, nil)
		getQueue(t, doomed, "Action", "DeleteQueue").ok(t).contains(t, "<DeleteQueueResponse")
		_, got := c.trySend(t, doomed, "m")
		refused(t, got, "AWS.SimpleQueueService.NonExistentQueue", "")
	})
}

func TestWireQueryWithoutVersion(t *testing.T) {
	t.Parallel()
	c, queue := jsonQueue(t)
	rawRequest{header: formHeader, body: form("Action", "SendMessage", "QueueUrl", queue, "MessageBody", "m")}.do(t).ok(t)
	c.expect(t, queue, "m")
}

// TestWireQueryParameters: gaps between indexes and index-less forms.
func TestWireQueryParameters(t *testing.T) {
	t.Parallel()
	c := newClient(shared.cluster, protocolQuery)
	name := unique(t)
	postForm(t, "Action", "CreateQueue", "QueueName", name, "Attribute.3.Name", "VisibilityTimeout", "Attribute.3.Value", "7",
		"Attribute.9.Name", "DelaySeconds", "Attribute.9.Value", "1", "Tag.2.Key", "a", "Tag.2.Value", "b").ok(t)
	queue := c.cluster.Endpoint() + "/" + account + "/" + name
	want := attrs{"VisibilityTimeout": "7", "DelaySeconds": "1"}
	if diff := cmp.Diff(want, c.attributes(t, queue, "VisibilityTimeout", "DelaySeconds")); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"a": "b"}, c.tags(t, queue)); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	postForm(t, "Action", "SetQueueAttributes", "QueueUrl", queue, "Attribute.Name", "DelaySeconds", "Attribute.Value", "0").ok(t)
	c.send(t, queue, "m")
	got := postForm(t, "Action", "ReceiveMessage", "QueueUrl", queue, "WaitTimeSeconds", "20", "MessageSystemAttributeName.1",
		"SenderId").ok(t)
	got.contains(t, "<Name>SenderId</Name>")
}

// TestWireContentNegotiation: XML is the default, and on request the answer is JSON of
// the same shape.
func TestWireContentNegotiation(t *testing.T) {
	t.Parallel()
	jsonQueue(t)
	postForm(t, "Action", "ListQueues").ok(t).contains(t, "<ListQueuesResponse")
	got := rawRequest{
		header: map[string]string{"Content-Type": formHeader["Content-Type"], "Accept": "application/json"},
		body:   form("Action", "ListQueues", "Version", "2012-11-05"),
	}.do(t).ok(t)
	if _, found := got.object(t)["ListQueuesResponse"]; !found {
		t.Errorf("not the JSON form: %v", got)
	}
}

func TestWireLineEndsAndEntities(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		for _, body := range []string{"first\r\nsecond", "\"&quot;&quot;\r", "<a b='c'>&amp;</a>\t\n\r\n", "é \U0001F600 ]]>"} {
			queue := c.std(t, nil)
			sent := c.send(t, queue, body)
			m := c.one(t, queue)
			if *m.Body != body || *m.MD5OfBody != *sent.MD5OfMessageBody {
				t.Errorf("sent %q, received %q", body, *m.Body)
			}
		}
	})
}

func TestWireQueueURLForms(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		for _, form := range []string{
			queueName(queue), queue, "http://elsewhere.example:1234/" + account + "/" + queueName(queue),
			"https://sqs.eu-west-1.amazonaws.com/" + account + "/" + queueName(queue),
		} {
			c.send(t, form, "m")
		}
		c.counts(t, queue, 4, 0, 0)
		for _, form := range []string{"http://", "://x", "http://host/" + account + "/" + unique(t)} {
			_, got := c.trySend(t, form, "m")
			refused(t, got, "AWS.SimpleQueueService.NonExistentQueue", c.unknownQueueText())
		}
	})
}

// TestWireQueueURLHost: the URL is made from the host that the client used.
func TestWireQueueURLHost(t *testing.T) {
	t.Parallel()
	name := unique(t)
	got := rawRequest{header: jsonHeader("CreateQueue"), body: `{"QueueName":"` + name + `"}`, host: "queues.localhost:81"}.do(t).ok(t)
	want := object{"QueueUrl": "http://queues.localhost:81/" + account + "/" + name}
	if diff := cmp.Diff(want, got.object(t)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestWireUnknownAndNullMembers(t *testing.T) {
	t.Parallel()
	c, queue := jsonQueue(t)
	postJSON(t, "SendMessage", object{"QueueUrl": queue, "MessageBody": "m", "Nonsense": object{"a": []int{1}}, "DelaySeconds": nil}).ok(t)
	c.expect(t, queue, "m")
}

// TestWireLogHeaders: every answer that passed the log says where and when.
func TestWireLogHeaders(t *testing.T) {
	t.Parallel()
	c, queue := jsonQueue(t)
	answers := map[string]answer{
		"send":    postJSON(t, "SendMessage", object{"QueueUrl": queue, "MessageBody": "m"}),
		"receive": postJSON(t, "ReceiveMessage", object{"QueueUrl": queue, "WaitTimeSeconds": 20}),
		"set": postForm(t, "Action", "SetQueueAttributes", "QueueUrl", queue, "Attribute.1.Name", "DelaySeconds", "Attribute.1.Value",
			"0"),
	}
	for name, got := range answers {
		if !isInteger(got.ok(t).header.Get("x-seriatim-index")) || !isInteger(got.header.Get("x-seriatim-log-time")) {
			t.Errorf("%s: index %q, log time %q", name, got.header.Get("x-seriatim-index"), got.header.Get("x-seriatim-log-time"))
		}
	}
	c.deleteQueue(t, queue)
}

func TestWirePresigned(t *testing.T) {
	t.Parallel()
	c, queue := jsonQueue(t)
	request, err := http.NewRequest(http.MethodGet, shared.cluster.Endpoint()+queuePath(queue)+"?"+
		form("Action", "SendMessage", "MessageBody", "m", "X-Amz-Expires", "300"), nil)
	harness.Must(t, err)
	const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	key := aws.Credentials{AccessKeyID: harness.AccessKeyID, SecretAccessKey: harness.SecretAccessKey}
	signed, _, err := v4.NewSigner().PresignHTTP(t.Context(), key, request, emptyHash, "sqs", harness.Region, time.Now())
	harness.Must(t, err)
	unsigned, err := http.NewRequest(http.MethodGet, signed, nil)
	harness.Must(t, err)
	send(t, unsigned).ok(t)
	c.expect(t, queue, "m")
}

// TestWireBinaryAttributeInQuery checks the bytes of a binary value as base64
// text in both wire forms; TestSendMessageDigests checks them through the SDK.
func TestWireBinaryAttributeInQuery(t *testing.T) {
	t.Parallel()
	_, queue := jsonQueue(t)
	value := base64.StdEncoding.EncodeToString([]byte{0, 1, 2, 255})
	postForm(t, "Action", "SendMessage", "QueueUrl", queue, "MessageBody", "m", "MessageAttribute.1.Name", "b",
		"MessageAttribute.1.Value.DataType", "Binary", "MessageAttribute.1.Value.BinaryValue", value).ok(t)
	got := postForm(t, "Action", "ReceiveMessage", "QueueUrl", queue, "WaitTimeSeconds", "20", "MessageAttributeName.1", "All").ok(t)
	got.contains(t, "<BinaryValue>"+value+"</BinaryValue>")
}

func isInteger(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
