package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// TestErrorMissingParameters checks that a missing required parameter is reported before any other
// error, even an unknown queue.
func TestErrorMissingParameters(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.missing(t)
		cases := []struct {
			action, parameter string
			try               func() *refusal
		}{
			{"CreateQueue", "QueueName", func() *refusal { return second(call(t, c.sqs.CreateQueue, &sqs.CreateQueueInput{}, nil)) }},
			{"GetQueueUrl", "QueueName", func() *refusal { return second(call(t, c.sqs.GetQueueUrl, &sqs.GetQueueUrlInput{}, nil)) }},
			{"SendMessage", "MessageBody", func() *refusal {
				return second(call(t, c.sqs.SendMessage, &sqs.SendMessageInput{QueueUrl: &queue}, nil))
			}},
			{"DeleteMessage", "ReceiptHandle", func() *refusal {
				return second(call(t, c.sqs.DeleteMessage, &sqs.DeleteMessageInput{QueueUrl: &queue}, nil))
			}},
			{"ChangeMessageVisibility", "ReceiptHandle", func() *refusal {
				return second(call(t, c.sqs.ChangeMessageVisibility,
					&sqs.ChangeMessageVisibilityInput{QueueUrl: &queue, VisibilityTimeout: 1}, nil))
			}},
			{"AddPermission", "Label", func() *refusal {
				in := &sqs.AddPermissionInput{QueueUrl: &queue, AWSAccountIds: oneAccount, Actions: []string{"SendMessage"}}
				return second(call(t, c.sqs.AddPermission, in, nil))
			}},
			{"RemovePermission", "Label", func() *refusal {
				return second(call(t, c.sqs.RemovePermission, &sqs.RemovePermissionInput{QueueUrl: &queue}, nil))
			}},
			{"StartMessageMoveTask", "SourceArn", func() *refusal {
				return second(call(t, c.sqs.StartMessageMoveTask, &sqs.StartMessageMoveTaskInput{}, nil))
			}},
			{"ListMessageMoveTasks", "SourceArn", func() *refusal {
				return second(call(t, c.sqs.ListMessageMoveTasks, &sqs.ListMessageMoveTasksInput{}, nil))
			}},
			{"CancelMessageMoveTask", "TaskHandle", func() *refusal {
				return second(call(t, c.sqs.CancelMessageMoveTask, &sqs.CancelMessageMoveTaskInput{}, nil))
			}},
		}
		for _, test := range cases {
			t.Run(test.action, func(t *testing.T) {
				refused(t, test.try(), "MissingParameter", "The request must contain the parameter "+test.parameter+".")
			})
		}
	})
}

func second[O any](_ O, refused *refusal) *refusal { return refused }

// TestErrorMissingQueueURL: every action on a queue needs one.
func TestErrorMissingQueueURL(t *testing.T) {
	t.Parallel()
	for _, action := range []string{
		"SendMessage", "SendMessageBatch", "ReceiveMessage", "DeleteMessage", "DeleteMessageBatch", "ChangeMessageVisibility",
		"ChangeMessageVisibilityBatch", "GetQueueAttributes", "SetQueueAttributes", "PurgeQueue", "DeleteQueue", "TagQueue",
		"UntagQueue", "ListQueueTags", "AddPermission", "RemovePermission", "ListDeadLetterSourceQueues",
	} {
		t.Run(action, func(t *testing.T) {
			got := postJSON(t, action, object{}).refusal(t, true)
			refused(t, got, "MissingParameter", "The request must contain the parameter QueueUrl.")
		})
	}
}
