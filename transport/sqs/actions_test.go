package sqs

import (
	"strings"
	"testing"
)

const sourceARN = "arn:aws:sqs:us-east-1:000000000000:"

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
