package conformance

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
)

func (c *client) tryPermit(t *testing.T, queue, label string, accounts []string, actions ...string) *refusal {
	t.Helper()
	in := &sqs.AddPermissionInput{QueueUrl: &queue, Label: &label, AWSAccountIds: accounts, Actions: actions}
	_, got := call(t, c.sqs.AddPermission, in, nil)
	return got
}

func (c *client) policy(t *testing.T, queue string) object {
	t.Helper()
	text, found := c.attributes(t, queue, "All")["Policy"]
	if !found {
		return nil
	}
	out := object{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("policy %s: %v", text, err)
	}
	return out
}

func statement(queue, label string, principal, action any) object {
	return object{"Sid": label, "Effect": "Allow", "Principal": object{"AWS": principal}, "Action": action, "Resource": arn(queue)}
}

var oneAccount = []string{"111122223333"}

func TestAddPermissionBuildsPolicy(t *testing.T) {
	const first, second = "arn:aws:iam::111122223333:root", "arn:aws:iam::444455556666:root"
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		if got := c.tryPermit(t, queue, "L", oneAccount, "ReceiveMessage"); got != nil {
			t.Fatalf("refused: %v", got)
		}
		want := object{"Version": "2008-10-17", "Id": arn(queue) + "/SQSDefaultPolicy",
			"Statement": []any{statement(queue, "L", first, "SQS:ReceiveMessage")}}
		if diff := cmp.Diff(want, c.policy(t, queue)); diff != "" {
			t.Errorf("one statement (-want +got):\n%s", diff)
		}
		if got := c.tryPermit(t, queue, "M", []string{"111122223333", "444455556666"}, "SendMessage", "ReceiveMessage"); got != nil {
			t.Fatalf("refused: %v", got)
		}
		want["Statement"] = append(want["Statement"].([]any),
			statement(queue, "M", []any{first, second}, []any{"SQS:SendMessage", "SQS:ReceiveMessage"}))
		if diff := cmp.Diff(want, c.policy(t, queue)); diff != "" {
			t.Errorf("two statements (-want +got):\n%s", diff)
		}
	})
}

func TestAddPermissionRefusals(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		if got := c.tryPermit(t, queue, "L", oneAccount, "ReceiveMessage"); got != nil {
			t.Fatalf("refused: %v", got)
		}
		refused(t, c.tryPermit(t, queue, "L", oneAccount, "SendMessage"), "InvalidParameterValue",
			"Value L for parameter Label is invalid. Reason: Already exists.")
		got := c.tryPermit(t, queue, "M", oneAccount, "SendMessage", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility",
			"GetQueueAttributes", "GetQueueUrl", "ListDeadLetterSourceQueues", "PurgeQueue")
		refused(t, got, "OverLimit", "8 Actions were found, maximum allowed is 7.")
		refused(t, c.tryPermit(t, queue, "M", oneAccount, "Nonsense"), "InvalidParameterValue",
			"Value SQS:Nonsense for parameter ActionName is invalid. Reason: Only the queue owner is allowed to invoke this action.")
		refused(t, c.tryPermit(t, c.missing(t), "L", oneAccount, "SendMessage"), "AWS.SimpleQueueService.NonExistentQueue",
			c.unknownQueueText())
	})
}
