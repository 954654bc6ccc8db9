package conformance

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func (c *client) tryCancel(t *testing.T, handle string) (*sqs.CancelMessageMoveTaskOutput, *refusal) {
	t.Helper()
	return call(t, c.sqs.CancelMessageMoveTask, &sqs.CancelMessageMoveTaskInput{TaskHandle: &handle}, nil)
}

func taskHandle(id, source string) string {
	return base64.StdEncoding.EncodeToString([]byte(`{"taskId":"` + id + `","sourceArn":"` + arn(source) + `"}`))
}

func TestCancelMessageMoveTaskRefusals(t *testing.T) {
	const id = "f4f3e1ab-6f4a-4a4e-9c5e-3b1f2f3f4f5f"
	each(t, func(t *testing.T, c *client) {
		_, got := c.tryCancel(t, "foobar")
		refused(t, got, "InvalidParameterValue", "Value for parameter TaskHandle is invalid.")
		_, got = c.tryCancel(t, taskHandle(id, c.std(t, nil)))
		refused(t, got, "ResourceNotFoundException", "Task does not exist.")
		_, got = c.tryCancel(t, taskHandle(id, c.missing(t)))
		refused(t, got, "ResourceNotFoundException", "The resource that you specified for the SourceArn parameter doesn't exist.")
	})
}

func TestCancelMessageMoveTask(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.std(t, nil)
		source := c.fillDeadLetters(t, target, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
		start := time.Now()
		handle := c.move(t, &sqs.StartMessageMoveTaskInput{SourceArn: aws.String(arn(target)), MaxNumberOfMessagesPerSecond: aws.Int32(1)})
		out, got := c.tryCancel(t, handle)
		if got != nil {
			if before(t, start, 5*time.Second) {
				t.Fatalf("refused: %v", got)
			}
			return
		}
		moved := int(c.moveEnds(t, target, "CANCELLED").ApproximateNumberOfMessagesMoved)
		if int(out.ApproximateNumberOfMessagesMoved) > moved {
			t.Errorf("the answer said %d moved, the task ended with %d", out.ApproximateNumberOfMessagesMoved, moved)
		}
		// Messages that were moved stay there, and the others stay in the source.
		c.counts(t, source, moved, 0, 0)
		c.counts(t, target, 10-moved, 0, 0)
		_, got = c.tryCancel(t, handle)
		refused(t, got, "InvalidParameterValue", "Only active tasks can be cancelled.")
	})
}
