package sqs

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/transport/aws"
)

// TestOversizedRequests checks that a request too large for the log gets at once the error that its
// queue would return.
func TestOversizedRequests(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("7", 5<<20)
	entries := func(n int, entry members) []members {
		var list []members
		for i := range n {
			e := members{"Id": fmt.Sprint(i)}
			maps.Copy(e, entry)
			list = append(list, e)
		}
		return list
	}
	const (
		invalid    = "InvalidParameterValue"
		tooLong    = "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."
		noQueue    = "AWS.SimpleQueueService.NonExistentQueue"
		batchLong  = "AWS.SimpleQueueService.BatchRequestTooLong"
		badHandle  = "ReceiptHandleIsInvalid"
		badIDs     = "can only include alphanumeric and punctuation characters. 1 to 128 in length."
		badTrace   = "The value of message system attribute 'AWSTraceHeader' is invalid."
		attributes = "InvalidAttributeValue"
	)
	attribute := members{"n": members{"DataType": "String", "StringValue": long}}
	for _, c := range []struct {
		name, action string
		in           members
		code, text   string
	}{
		{"body", "SendMessage", members{"QueueUrl": "q", "MessageBody": long}, invalid, tooLong},
		{"body for a smaller queue", "SendMessage", members{"QueueUrl": "small", "MessageBody": long}, invalid,
			"Message must be shorter than 1024 bytes."},
		{"body for no queue", "SendMessage", members{"QueueUrl": "none", "MessageBody": long}, noQueue, ""},
		{"attribute", "SendMessage", members{"QueueUrl": "q", "MessageBody": "b", "MessageAttributes": attribute}, invalid, tooLong},
		{"trace header", "SendMessage", members{"QueueUrl": "q", "MessageBody": "b", "MessageSystemAttributes": members{
			"AWSTraceHeader": members{"DataType": "String", "StringValue": long},
		}}, invalid, badTrace},
		{"deduplication id", "SendMessage", members{"QueueUrl": "f.fifo", "MessageBody": "b", "MessageGroupId": "g",
			"MessageDeduplicationId": long}, invalid, badIDs},
		{"group id", "SendMessage", members{"QueueUrl": "f.fifo", "MessageBody": "b", "MessageGroupId": long}, invalid, badIDs},
		{"attempt id", "ReceiveMessage", members{"QueueUrl": "f.fifo", "ReceiveRequestAttemptId": long}, invalid, badIDs},
		{"batch", "SendMessageBatch", members{"QueueUrl": "q", "Entries": entries(10, members{"MessageBody": long[:500_000]})},
			batchLong, "You have sent 5000000 bytes."},
		{"batch for no queue", "SendMessageBatch", members{"QueueUrl": "none",
			"Entries": entries(10, members{"MessageBody": long[:500_000]})}, noQueue, ""},
		{"batch without ids", "SendMessageBatch", members{"QueueUrl": "f.fifo",
			"Entries": entries(10, members{"MessageBody": long[:500_000]})}, invalid, "MessageGroupId"},
		{"batch id", "SendMessageBatch", members{"QueueUrl": "q", "Entries": []members{{"Id": long, "MessageBody": "b"}}},
			"AWS.SimpleQueueService.InvalidBatchEntryId", ""},
		{"handle to delete", "DeleteMessage", members{"QueueUrl": "q", "ReceiptHandle": long}, badHandle, ""},
		{"handle for no queue", "DeleteMessage", members{"QueueUrl": "none", "ReceiptHandle": long}, noQueue, ""},
		{"handle to hide", "ChangeMessageVisibility", members{"QueueUrl": "q", "ReceiptHandle": long, "VisibilityTimeout": 1},
			badHandle, ""},
		{"policy", "SetQueueAttributes", members{"QueueUrl": "q", "Attributes": members{"Policy": `{"Version":"` + long + `"}`}},
			attributes, "Invalid value for the parameter Policy."},
		{"policy of no queue", "SetQueueAttributes", members{"QueueUrl": "none", "Attributes": members{"Policy": long}}, noQueue, ""},
		{"policy of a new queue", "CreateQueue", members{"QueueName": "new", "Attributes": members{"Policy": long}}, attributes,
			"Invalid value for the parameter Policy."},
		{"unknown attribute", "SetQueueAttributes", members{"QueueUrl": "q", "Attributes": members{"Foo": long}},
			"InvalidAttributeName", "Unknown Attribute Foo."},
		{"label", "AddPermission", members{"QueueUrl": "q", "Label": long, "AWSAccountIds": []string{"1"},
			"Actions": []string{"SendMessage"}}, invalid, ""},
		{"account", "AddPermission", members{"QueueUrl": "q", "Label": "l", "AWSAccountIds": []string{long},
			"Actions": []string{"SendMessage"}}, invalid, ""},
		{"label to remove", "RemovePermission", members{"QueueUrl": "q", "Label": long}, invalid, ""},
		{"tag", "TagQueue", members{"QueueUrl": "q", "Tags": members{"k": long}}, invalid, ""},
		{"tag key", "UntagQueue", members{"QueueUrl": "q", "TagKeys": []string{long}}, invalid, ""},
		{"URL", "SendMessage", members{"QueueUrl": "http://h/1/" + long, "MessageBody": "b"}, noQueue, ""},
		{"name", "CreateQueue", members{"QueueName": long}, invalid, "1 to 80 in length"},
		{"source", "StartMessageMoveTask", members{"SourceArn": sourceARN + long}, "ResourceNotFoundException", "SourceArn"},
		{"destination", "StartMessageMoveTask", members{"SourceArn": sourceARN + "q", "DestinationArn": sourceARN + long},
			"ResourceNotFoundException", "DestinationArn"},
		{"task handle", "CancelMessageMoveTask", members{"TaskHandle": base64.StdEncoding.EncodeToString(
			[]byte(`{"taskId":"` + long + `","sourceArn":"` + sourceARN + `q"}`))}, invalid, "TaskHandle"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.create("q", nil)
			f.create("small", members{"MaximumMessageSize": "1024"})
			f.create("f.fifo", members{"FifoQueue": "true"})
			a := f.call(aws.JSON, c.action, c.in)
			if a.code != c.code || !strings.Contains(a.message, c.text) || len(a.body) > 1000 {
				t.Errorf("got %d %s: %.1000s", a.status, a.code, a.body)
			}
		})
	}
	t.Run("handles of a batch", func(t *testing.T) {
		f := newFixture(t)
		f.create("q", nil)
		for action, entry := range map[string]members{
			"DeleteMessageBatch":           {"ReceiptHandle": long[:500_000]},
			"ChangeMessageVisibilityBatch": {"ReceiptHandle": long[:500_000], "VisibilityTimeout": 1},
		} {
			a := f.call(aws.JSON, action, members{"QueueUrl": "q", "Entries": entries(10, entry)})
			if a.status != 200 || strings.Count(a.body, badHandle) != 10 || len(a.body) > 10_000 {
				t.Errorf("%s: %d %.1000s", action, a.status, a.body)
			}
		}
	})
}
