package conformance

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
)

func (c *client) sources(t *testing.T, in *sqs.ListDeadLetterSourceQueuesInput) *sqs.ListDeadLetterSourceQueuesOutput {
	t.Helper()
	out, got := call(t, c.sqs.ListDeadLetterSourceQueues, in, nil)
	return must[*sqs.ListDeadLetterSourceQueuesOutput](t)(out, got)
}

func TestListDeadLetterSourceQueues(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.std(t, nil)
		if got := c.sources(t, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &target}); len(got.QueueUrls) != 0 {
			t.Errorf("sources %q, want none", got.QueueUrls)
		}
		want := []string{
			c.std(t, attrs{"RedrivePolicy": redrive(target, 3)}),
			c.std(t, attrs{"RedrivePolicy": redrive(target, 4)}),
		}
		slices.Sort(want)
		all := c.sources(t, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &target})
		if diff := cmp.Diff(want, all.QueueUrls); diff != "" || all.NextToken != nil {
			t.Errorf("sources (-want +got):\n%s", diff)
		}
		first := c.sources(t, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &target, MaxResults: aws.Int32(1)})
		if len(first.QueueUrls) != 1 || first.NextToken == nil {
			t.Fatalf("first page: %q, token %v", first.QueueUrls, first.NextToken)
		}
		second := c.sources(t, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &target, MaxResults: aws.Int32(1),
			NextToken: first.NextToken})
		if diff := cmp.Diff(want, append(first.QueueUrls, second.QueueUrls...)); diff != "" || second.NextToken != nil {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
	})
}

func TestListDeadLetterSourceQueuesUnknownQueue(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.missing(t)
		_, got := call(t, c.sqs.ListDeadLetterSourceQueues, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &queue}, nil)
		refused(t, got, "AWS.SimpleQueueService.NonExistentQueue", c.unknownQueueText())
	})
}
