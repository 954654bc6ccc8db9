package sqs

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/transport/aws"
)

const sourceARN = "arn:aws:sqs:us-east-1:000000000000:"

func TestCreateGetListDelete(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, f *fixture, protocol string) {
		created := f.ok(f.call(protocol, "CreateQueue", members{
			"QueueName": "a-1.fifo", "Attributes": members{"FifoQueue": "True", "VisibilityTimeout": "5"}, "tags": members{"k": "v"},
		}))
		if got, want := created.element("QueueUrl"), f.url("a-1.fifo"); got != want {
			t.Errorf("QueueUrl is %q, want %q", got, want)
		}
		if created.header.Get("x-seriatim-index") == "" || created.header.Get("x-seriatim-log-time") != strconv.FormatInt(int64(testStart), 10) {
			t.Errorf("no position in %v", created.header)
		}
		if got := f.ok(f.call(protocol, "GetQueueUrl", members{"QueueName": "a-1.fifo"})).element("QueueUrl"); got != f.url("a-1.fifo") {
			t.Errorf("GetQueueUrl is %q", got)
		}
		attributes := f.attributes(f.call(protocol, "GetQueueAttributes", members{"QueueUrl": f.url("a-1.fifo"), "AttributeNames": []string{"All"}}))
		if attributes["FifoQueue"] != "true" || attributes["VisibilityTimeout"] != "5" || attributes["QueueArn"] != sourceARN+"a-1.fifo" {
			t.Errorf("got %v", attributes)
		}
		f.ok(f.call(protocol, "DeleteQueue", members{"QueueUrl": f.url("a-1.fifo")}))
		if f.exists("a-1.fifo") {
			t.Error("the queue still exists")
		}
	})
}

// attributes reads the answer of GetQueueAttributes in either protocol.
func (f *fixture) attributes(a answer) map[string]string {
	f.t.Helper()
	f.ok(a)
	out := map[string]string{}
	if a.protocol == aws.JSON {
		all, _ := a.members["Attributes"].(map[string]any)
		for k, v := range all {
			out[k] = v.(string)
		}
		return out
	}
	for part := range strings.SplitSeq(a.body, "<Attribute>") {
		name, rest, ok := strings.Cut(strings.TrimPrefix(part, "<Name>"), "</Name><Value>")
		if ok {
			out[name], _, _ = strings.Cut(rest, "</Value>")
		}
	}
	return out
}

func TestQueueAttributes(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, f *fixture, protocol string) {
		f.create("q", nil)
		get := func(names ...string) map[string]string {
			return f.attributes(f.call(protocol, "GetQueueAttributes", members{"QueueUrl": f.url("q"), "AttributeNames": names}))
		}
		want := []string{
			"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible",
			"CreatedTimestamp", "DelaySeconds", "LastModifiedTimestamp", "MaximumMessageSize", "MessageRetentionPeriod",
			"QueueArn", "ReceiveMessageWaitTimeSeconds", "SqsManagedSseEnabled", "VisibilityTimeout",
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(get("All")))); diff != "" {
			t.Error(diff)
		}
		if got := get(); len(got) != 0 {
			t.Errorf("no names asked for, got %v", got)
		}
		if got := get("QueueArn", "KmsMasterKeyId"); !maps.Equal(got, map[string]string{"QueueArn": sourceARN + "q"}) {
			t.Errorf("got %v", got)
		}
		a := f.ok(f.call(protocol, "SetQueueAttributes", members{"QueueUrl": "q", "Attributes": members{"VisibilityTimeout": "7", "DelaySeconds": "0"}}))
		if protocol == aws.JSON && a.body != "" {
			t.Errorf("an action without output answered %q", a.body)
		}
		if got := get("VisibilityTimeout"); got["VisibilityTimeout"] != "7" {
			t.Errorf("got %v", got)
		}
	})
}

func TestListQueues(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, f *fixture, protocol string) {
		for i := range 10 {
			f.create(fmt.Sprintf("a-%d", i), nil)
		}
		f.create("b-1", nil)
		count := func(a answer) int { return strings.Count(f.ok(a).body, "/000000000000/") }
		if a := f.call(protocol, "ListQueues", members{}); count(a) != 11 || a.element("NextToken") != "" {
			t.Errorf("got %s", a.body)
		}
		first := f.call(protocol, "ListQueues", members{"QueueNamePrefix": "a-", "MaxResults": 2})
		if count(first) != 2 || !strings.Contains(first.body, f.url("a-1")) || first.element("NextToken") == "" {
			t.Errorf("got %s", first.body)
		}
		rest := f.call(protocol, "ListQueues", members{"QueueNamePrefix": "a-", "MaxResults": 10, "NextToken": first.element("NextToken")})
		if count(rest) != 8 || strings.Contains(rest.body, f.url("a-1")+`"`) || rest.element("NextToken") != "" {
			t.Errorf("got %s", rest.body)
		}
		none := f.ok(f.call(protocol, "ListQueues", members{"QueueNamePrefix": "zzz"}))
		if strings.Contains(none.body, "QueueUrl") {
			t.Errorf("an empty list must be left out: %s", none.body)
		}
	})
}

func TestTags(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, f *fixture, protocol string) {
		f.create("q", nil)
		list := func() string { return f.ok(f.call(protocol, "ListQueueTags", members{"QueueUrl": f.url("q")})).body }
		if got := list(); strings.Contains(got, "Tag>") || strings.Contains(got, `"Tags"`) {
			t.Errorf("no tags, got %s", got)
		}
		f.ok(f.call(protocol, "TagQueue", members{"QueueUrl": f.url("q"), "Tags": members{"a": "1", "A": "", "b": "2"}}))
		f.ok(f.call(protocol, "TagQueue", members{"QueueUrl": f.url("q"), "Tags": members{"a": "9"}}))
		f.ok(f.call(protocol, "UntagQueue", members{"QueueUrl": f.url("q"), "TagKeys": []string{"b", "b", "none"}}))
		want := map[string]string{
			aws.JSON:  `{"Tags":{"A":"","a":"9"}}`,
			aws.Query: `<Tag><Key>A</Key><Value></Value></Tag><Tag><Key>a</Key><Value>9</Value></Tag>`,
		}[protocol]
		if got := list(); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, f *fixture, protocol string) {
		f.create("q", nil)
		f.ok(f.call(protocol, "AddPermission", members{"QueueUrl": f.url("q"), "Label": "L", "AWSAccountIds": []string{"111111111111"}, "Actions": []string{"ReceiveMessage"}}))
		names := members{"QueueUrl": f.url("q"), "AttributeNames": []string{"Policy"}}
		policy := f.attributes(f.call(aws.JSON, "GetQueueAttributes", names))["Policy"]
		for _, part := range []string{`"2008-10-17"`, sourceARN + "q/SQSDefaultPolicy", `"SQS:ReceiveMessage"`, `"arn:aws:iam::111111111111:root"`} {
			if !strings.Contains(policy, part) {
				t.Errorf("policy %s lacks %s", policy, part)
			}
		}
		f.ok(f.call(protocol, "RemovePermission", members{"QueueUrl": f.url("q"), "Label": "L"}))
		if got := f.attributes(f.call(aws.JSON, "GetQueueAttributes", names)); len(got) != 0 {
			t.Errorf("got %v", got)
		}
	})
}

func TestSendAndReceive(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, f *fixture, protocol string) {
		f.create("q", nil)
		trace := "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
		binary := "traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01"
		sent := f.ok(f.call(protocol, "SendMessage", members{
			"QueueUrl": "q", "MessageBody": "message", "DelaySeconds": 0,
			"MessageAttributes": members{
				"attr1": members{"DataType": "Binary", "BinaryValue": base64.StdEncoding.EncodeToString([]byte(binary))},
				"Hello": text("There"), "Help.Me": text("Me"), "General": text("Kenobi"),
			},
			"MessageSystemAttributes": members{traceAttribute: text(trace)},
		}))
		if got := sent.element("MD5OfMessageBody"); got != "78e731027d8fd50ed642340b7c9a63b3" {
			t.Errorf("MD5OfMessageBody is %s", got)
		}
		if got := sent.element("MD5OfMessageSystemAttributes"); got != "5ae4d5d7636402d80f4eb6d213245a88" {
			t.Errorf("MD5OfMessageSystemAttributes is %s", got)
		}
		if sent.element("SequenceNumber") != "" || sent.element("MessageId") == "" {
			t.Errorf("got %s", sent.body)
		}
		receive := func(in members) answer {
			return f.ok(f.call(protocol, "ReceiveMessage", maps.Collect(func(yield func(string, any) bool) {
				yield("QueueUrl", f.url("q"))
				yield("VisibilityTimeout", 0)
				for k, v := range in {
					yield(k, v)
				}
			})))
		}
		plain := receive(nil)
		for _, name := range []string{"Attributes", "Attribute", "MessageAttributes", "MessageAttribute", "MD5OfMessageAttributes"} {
			if plain.element(name) != "" {
				t.Errorf("%s was not asked for: %s", name, plain.body)
			}
		}
		if plain.element("MD5OfBody") != "78e731027d8fd50ed642340b7c9a63b3" || plain.element("MessageId") != sent.element("MessageId") {
			t.Errorf("got %s", plain.body)
		}
		for filter, digest := range map[string]string{
			"Hello": "a311262e065454b75da111d535b8dacd", "Hel.*": "83fee93c1bcd8b9a5a923ffacdc636c7",
			"attr1": "8cbe4db156db8a94db8b801b7addb984", "help": "", "Help": "", "AWS.": "", "..foo": "",
		} {
			if got := receive(members{"MessageAttributeNames": []string{"Foo", filter}}).element("MD5OfMessageAttributes"); got != digest {
				t.Errorf("filter %s: digest %q, want %q", filter, got, digest)
			}
		}
		for _, filter := range []string{"All", "*", ".*"} {
			all := receive(members{"MessageAttributeNames": []string{filter}})
			if all.element("MD5OfMessageAttributes") != sent.element("MD5OfMessageAttributes") || all.element("BinaryValue") != base64.StdEncoding.EncodeToString([]byte(binary)) {
				t.Errorf("filter %s: got %s", filter, all.body)
			}
		}
		system := receive(members{"AttributeNames": []string{"SenderId", "VisibilityTimeout"}, "MessageSystemAttributeNames": []string{traceAttribute}})
		if !strings.Contains(system.body, trace) || !strings.Contains(system.body, "000000000000") || strings.Contains(system.body, "SentTimestamp") {
			t.Errorf("got %s", system.body)
		}
		for _, name := range []string{"SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp"} {
			if all := receive(members{"AttributeNames": []string{"All"}}); !strings.Contains(all.body, name) {
				t.Errorf("%s is missing in %s", name, all.body)
			}
		}
		f.ok(f.call(protocol, "DeleteMessage", members{"QueueUrl": f.url("q"), "ReceiptHandle": receive(nil).element("ReceiptHandle")}))
		if empty := receive(nil); strings.Contains(empty.body, "Message>") || strings.Contains(empty.body, "Messages") {
			t.Errorf("the queue should be empty: %s", empty.body)
		}
	})
}

func TestBodySurvives(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, f *fixture, protocol string) {
		f.create("q", nil)
		for _, body := range []string{"a\r\nb", `"&quot;&quot;` + "\r", "\u00e9\U0001F600\t<x>&amp;", " lead and trail "} {
			f.ok(f.call(protocol, "SendMessage", members{"QueueUrl": "q", "MessageBody": body}))
			a := f.ok(f.call(protocol, "ReceiveMessage", members{"QueueUrl": "q"}))
			got := a.element("Body")
			if protocol == aws.Query {
				got = strings.NewReplacer("&#xD;", "\r", "&quot;", `"`, "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(got)
			}
			if got != body || a.element("MD5OfBody") != bodyDigest(body) {
				t.Errorf("sent %q, got %q", body, got)
			}
		}
	})
}

func TestFIFO(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, f *fixture, protocol string) {
		f.create("q.fifo", nil)
		in := members{"QueueUrl": f.url("q.fifo"), "MessageBody": "one", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
		first := f.ok(f.call(protocol, "SendMessage", in))
		in["MessageBody"] = "two"
		again := f.ok(f.call(protocol, "SendMessage", in))
		for _, name := range []string{"MessageId", "SequenceNumber"} {
			if again.element(name) != first.element(name) || first.element(name) == "" {
				t.Errorf("%s of a duplicate is %q, want %q", name, again.element(name), first.element(name))
			}
		}
		if got := again.element("MD5OfMessageBody"); got != bodyDigest("two") {
			t.Errorf("the digest must be of this request: %s", got)
		}
		ask := members{"QueueUrl": f.url("q.fifo"), "AttributeNames": []string{"All"}, "ReceiveRequestAttemptId": "A", "VisibilityTimeout": 30}
		got := f.ok(f.call(protocol, "ReceiveMessage", ask))
		for _, part := range []string{"MessageGroupId", "MessageDeduplicationId", "SequenceNumber", first.element("SequenceNumber")} {
			if !strings.Contains(got.body, part) {
				t.Errorf("%s is missing in %s", part, got.body)
			}
		}
		replay := f.ok(f.call(protocol, "ReceiveMessage", ask))
		if replay.element("ReceiptHandle") != got.element("ReceiptHandle") {
			t.Error("a retried attempt must give the same receipt handle")
		}
	})
}

// TestDuplicateIsTold looks at the header that says what SQS does not.
func TestDuplicateIsTold(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, f *fixture, protocol string) {
		f.create("q.fifo", nil)
		in := members{"QueueUrl": f.url("q.fifo"), "MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "1"}
		for _, want := range []string{"", "true"} {
			if got := f.ok(f.call(protocol, "SendMessage", in)).header.Get("X-Seriatim-Duplicate"); got != want {
				t.Errorf("SendMessage: header %q, want %q", got, want)
			}
		}
		entry := func(id, deduplication string) members {
			return members{"Id": id, "MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": deduplication}
		}
		batch := members{"QueueUrl": f.url("q.fifo"), "Entries": []members{entry("a", "1"), entry("b", "2"), entry("c", "1"), entry("d", "")}}
		if got := f.ok(f.call(protocol, "SendMessageBatch", batch)).header.Get("X-Seriatim-Duplicate"); got != "a,c" {
			t.Errorf("SendMessageBatch: header %q, want a,c", got)
		}
		f.node.repeat = true // what looks like a duplicate may be the first try of the same send
		for action, in := range map[string]members{"SendMessage": in, "SendMessageBatch": batch} {
			if got := f.ok(f.call(protocol, action, in)).header.Get("X-Seriatim-Duplicate"); got != "" {
				t.Errorf("%s, made twice: header %q", action, got)
			}
		}
	})
}

func TestBatches(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, f *fixture, protocol string) {
		f.create("q", nil)
		sent := f.ok(f.call(protocol, "SendMessageBatch", members{"QueueUrl": f.url("q"), "Entries": []members{
			{"Id": "a", "MessageBody": "message", "MessageAttributes": members{"k": text("x")}},
			{"Id": "bad", "MessageBody": "\x01"},
			{"Id": "trace", "MessageBody": "m", "MessageSystemAttributes": members{"Foo": text("x")}},
			{"Id": "b", "MessageBody": "test"},
		}}))
		for _, part := range []string{"a45daa70926828a2f0a1db3418e6feb4", "78e731027d8fd50ed642340b7c9a63b3", "098f6bcd4621d373cade4e832627b4f6", "InvalidMessageContents", "Message system attribute name"} {
			if !strings.Contains(sent.body, part) {
				t.Errorf("%s is missing in %s", part, sent.body)
			}
		}
		got := f.ok(f.call(protocol, "ReceiveMessage", members{"QueueUrl": f.url("q"), "MaxNumberOfMessages": 10}))
		handle := got.element("ReceiptHandle")
		changed := f.ok(f.call(protocol, "ChangeMessageVisibilityBatch", members{"QueueUrl": f.url("q"), "Entries": []members{
			{"Id": "ok", "ReceiptHandle": handle, "VisibilityTimeout": 10},
			{"Id": "bad", "ReceiptHandle": "garbage", "VisibilityTimeout": 10},
		}}))
		deleted := f.ok(f.call(protocol, "DeleteMessageBatch", members{"QueueUrl": f.url("q"), "Entries": []members{
			{"Id": "ok", "ReceiptHandle": handle}, {"Id": "bad", "ReceiptHandle": "garbage"},
		}}))
		for _, a := range []answer{changed, deleted} {
			if !strings.Contains(a.body, "ReceiptHandleIsInvalid") || !strings.Contains(a.body, "ok") || !strings.Contains(a.body, "true") {
				t.Errorf("got %s", a.body)
			}
		}
		good := f.ok(f.call(protocol, "SendMessageBatch", members{"QueueUrl": f.url("q"), "Entries": []members{{"Id": "a", "MessageBody": "b"}}}))
		if strings.Contains(good.body, "Failed") || strings.Contains(good.body, "BatchResultErrorEntry") {
			t.Errorf("no entry failed: %s", good.body)
		}
	})
}

func TestVisibilityAndPurge(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, f *fixture, protocol string) {
		f.create("q", nil)
		f.send("q", "m")
		handle := f.receive("q", 30)
		f.ok(f.call(protocol, "ChangeMessageVisibility", members{"QueueUrl": f.url("q"), "ReceiptHandle": handle, "VisibilityTimeout": 0}))
		f.receive("q", 30)
		f.ok(f.call(protocol, "PurgeQueue", members{"QueueUrl": f.url("q")}))
		f.node.pass(logtime.Minute)
		if a := f.ok(f.call(protocol, "ReceiveMessage", members{"QueueUrl": f.url("q")})); a.element("Body") != "" {
			t.Errorf("got %s", a.body)
		}
	})
}

func TestDeadLettersAndMoveTasks(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, f *fixture, protocol string) {
		deadLetter(f)
		sources := f.ok(f.call(protocol, "ListDeadLetterSourceQueues", members{"QueueUrl": f.url("dlq")}))
		if !strings.Contains(sources.body, f.url("q")) {
			t.Errorf("got %s", sources.body)
		}
		if none := f.ok(f.call(aws.JSON, "ListDeadLetterSourceQueues", members{"QueueUrl": f.url("q")})); none.body != `{"queueUrls":[]}` {
			t.Errorf("got %s", none.body)
		}
		f.send("q", "m")
		f.receive("q", 0)
		f.ok(f.call(protocol, "ReceiveMessage", members{"QueueUrl": f.url("q")}))
		dead := f.ok(f.call(protocol, "ReceiveMessage", members{"QueueUrl": f.url("dlq"), "VisibilityTimeout": 0, "AttributeNames": []string{"DeadLetterQueueSourceArn"}}))
		if !strings.Contains(dead.body, sourceARN+"q") {
			t.Errorf("got %s", dead.body)
		}
		started := f.ok(f.call(protocol, "StartMessageMoveTask", members{"SourceArn": sourceARN + "dlq", "DestinationArn": sourceARN + "q", "MaxNumberOfMessagesPerSecond": 5}))
		handle := started.element("TaskHandle")
		raw, err := base64.StdEncoding.DecodeString(handle)
		var decoded map[string]string
		if err != nil || json.Unmarshal(raw, &decoded) != nil || decoded["sourceArn"] != sourceARN+"dlq" || decoded["taskId"] == "" {
			t.Errorf("handle %q is %v, %v", handle, decoded, err)
		}
		list := func() answer {
			return f.ok(f.call(protocol, "ListMessageMoveTasks", members{"SourceArn": sourceARN + "dlq"}))
		}
		running := list()
		if running.element("Status") != "RUNNING" || running.element("TaskHandle") != handle || running.element("ApproximateNumberOfMessagesToMove") != "1" ||
			running.element("MaxNumberOfMessagesPerSecond") != "5" || running.element("DestinationArn") != sourceARN+"q" {
			t.Errorf("got %s", running.body)
		}
		if got := f.ok(f.call(protocol, "CancelMessageMoveTask", members{"TaskHandle": handle})).element("ApproximateNumberOfMessagesMoved"); got != "0" {
			t.Errorf("moved %q", got)
		}
		if stopped := list(); stopped.element("Status") != "CANCELLED" || stopped.element("TaskHandle") != "" {
			t.Errorf("got %s", stopped.body)
		}
	})
}

// TestMadeAttemptIDIsTold: a receive without a ReceiveRequestAttemptId answers with the one
// that the server made, as Yandex says of its own; repeated under it, it gives the same.
func TestMadeAttemptIDIsTold(t *testing.T) {
	t.Parallel()
	const header = "X-Seriatim-Attempt-Id"
	both(t, func(t *testing.T, f *fixture, protocol string) {
		f.create("aws.fifo", nil)
		f.create("ymq.fifo", members{"CompatibilityProfile": "ymq"})
		ask := func(name, attempt string) answer {
			in := members{"QueueUrl": f.url(name)}
			if attempt != "" {
				in["ReceiveRequestAttemptId"] = attempt
			}
			return f.ok(f.call(protocol, "ReceiveMessage", in))
		}
		if made := ask("ymq.fifo", "").header.Get(header); made != "" {
			t.Errorf("an empty receive has the id %q", made)
		}
		f.send("aws.fifo", "m")
		f.send("ymq.fifo", "m")
		first := ask("ymq.fifo", "")
		made := first.header.Get(header)
		if made == "" || first.element("ReceiptHandle") == "" {
			t.Fatalf("header %q, answer %s", made, first.body)
		}
		again := ask("ymq.fifo", made)
		if again.element("ReceiptHandle") != first.element("ReceiptHandle") || again.header.Get(header) != "" {
			t.Errorf("repeated: header %q, answer %s", again.header.Get(header), again.body)
		}
		if got := ask("aws.fifo", ""); got.element("ReceiptHandle") == "" || got.header.Get(header) != "" {
			t.Errorf("a queue of AWS: header %q, answer %s", got.header.Get(header), got.body)
		}
	})
}

// TestOtherRegion: nothing is in another region than that of the cluster.
func TestOtherRegion(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, f *fixture, protocol string) {
		f.create("dlq", nil)
		f.create("q", nil)
		for region, same := range map[string]bool{"us-east-1": true, "us-east-2": false, "": false} {
			target := "arn:aws:sqs:" + region + ":000000000000:dlq"
			policy := members{"RedrivePolicy": `{"deadLetterTargetArn":"` + target + `","maxReceiveCount":3}`}
			for _, a := range []answer{
				f.call(protocol, "CreateQueue", members{"QueueName": "q-" + region, "Attributes": policy}),
				f.call(protocol, "SetQueueAttributes", members{"QueueUrl": f.url("q"), "Attributes": policy}),
				f.call(protocol, "ListMessageMoveTasks", members{"SourceArn": target}),
			} {
				if refused := strings.Contains(a.body, "does not exist") || strings.Contains(a.body, "doesn't exist"); refused == same || (a.status == 200) != same {
					t.Errorf("region %q: %d %s", region, a.status, a.body)
				}
			}
		}
	})
}
