package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func TestGetQueueUrl(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		name := queueName(queue)
		out, got := call(t, c.sqs.GetQueueUrl, &sqs.GetQueueUrlInput{QueueName: &name}, nil)
		if found := aws.ToString(must[*sqs.GetQueueUrlOutput](t)(out, got).QueueUrl); found != queue {
			t.Errorf("URL %q, want %q", found, queue)
		}
		if want := c.cluster.Endpoint() + "/" + account + "/" + name; queue != want {
			t.Errorf("URL %q, want %q", queue, want)
		}
	})
}

func TestGetQueueUrlUnknown(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		name := unique(t)
		_, got := call(t, c.sqs.GetQueueUrl, &sqs.GetQueueUrlInput{QueueName: &name}, nil)
		refused(t, got, "AWS.SimpleQueueService.NonExistentQueue", c.unknownQueueText())
		if got.Status != 400 || got.Fault != "Sender" {
			t.Errorf("%v, want 400 and Sender", got)
		}
	})
}

func TestGetQueueUrlWithOwner(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		name := queueName(c.std(t, nil))
		_, got := call(t, c.sqs.GetQueueUrl, &sqs.GetQueueUrlInput{QueueName: &name, QueueOwnerAWSAccountId: aws.String(account)}, nil)
		if got != nil {
			t.Errorf("refused: %v", got)
		}
	})
}
