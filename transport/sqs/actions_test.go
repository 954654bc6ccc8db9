package sqs

import (
	"encoding/base64"
	"maps"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/transport/aws"
)

const sourceARN = "arn:aws:sqs:us-east-1:000000000000:"

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
			if all.element("MD5OfMessageAttributes") != sent.element("MD5OfMessageAttributes") ||
				all.element("BinaryValue") != base64.StdEncoding.EncodeToString([]byte(binary)) {
				t.Errorf("filter %s: got %s", filter, all.body)
			}
		}
		system := receive(members{"AttributeNames": []string{"SenderId", "VisibilityTimeout"},
			"MessageSystemAttributeNames": []string{traceAttribute}})
		if !strings.Contains(system.body, trace) || !strings.Contains(system.body, "000000000000") ||
			strings.Contains(system.body, "SentTimestamp") {
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

// TestHeaderReportsDuplicates checks the header X-Seriatim-Duplicate, which SQS does not have.
func TestHeaderReportsDuplicates(t *testing.T) {
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
		batch := members{"QueueUrl": f.url("q.fifo"), "Entries": []members{entry("a", "1"), entry("b", "2"), entry("c", "1"),
			entry("d", "")}}
		if got := f.ok(f.call(protocol, "SendMessageBatch", batch)).header.Get("X-Seriatim-Duplicate"); got != "a,c" {
			t.Errorf("SendMessageBatch: header %q, want a,c", got)
		}
		f.node.repeat = true // a duplicate may now be the first try of the same send
		for action, in := range map[string]members{"SendMessage": in, "SendMessageBatch": batch} {
			if got := f.ok(f.call(protocol, action, in)).header.Get("X-Seriatim-Duplicate"); got != "" {
				t.Errorf("%s, made twice: header %q", action, got)
			}
		}
	})
}

// TestHeaderReportsMadeAttemptID checks that a receive without a ReceiveRequestAttemptId returns
// the id that the server made, as Yandex Message Queue does, and that a receive with this id
// returns the same message.
func TestHeaderReportsMadeAttemptID(t *testing.T) {
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

// TestOtherRegion checks that an ARN with another region refers to nothing.
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
				if refused := strings.Contains(a.body, "does not exist") ||
					strings.Contains(a.body, "doesn't exist"); refused == same || (a.status == 200) != same {
					t.Errorf("region %q: %d %s", region, a.status, a.body)
				}
			}
		}
	})
}
