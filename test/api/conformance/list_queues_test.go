package conformance

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
)

func (c *client) list(t *testing.T, in *sqs.ListQueuesInput) *sqs.ListQueuesOutput {
	t.Helper()
	out, got := call(t, c.sqs.ListQueues, in, nil)
	return must[*sqs.ListQueuesOutput](t)(out, got)
}

func TestListQueuesByPrefix(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		prefix := unique(t)
		first, second := c.create(t, prefix+"a-1", nil), c.create(t, prefix+"a-2", nil)
		c.create(t, prefix+"b-1", nil)
		out := c.list(t, &sqs.ListQueuesInput{QueueNamePrefix: aws.String(prefix + "a-")})
		if diff := cmp.Diff([]string{first, second}, out.QueueUrls); diff != "" {
			t.Errorf("URLs (-want +got):\n%s", diff)
		}
		if out.NextToken != nil {
			t.Errorf("NextToken %q without MaxResults", *out.NextToken)
		}
	})
}

func TestListQueuesNoMatch(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		if out := c.list(t, &sqs.ListQueuesInput{QueueNamePrefix: aws.String("zzz-" + runID)}); len(out.QueueUrls) != 0 {
			t.Errorf("URLs %q, want none", out.QueueUrls)
		}
		if c.protocol == protocolJSON {
			postJSON(t, "ListQueues", object{"QueueNamePrefix": "zzz-" + runID}).absent(t, "QueueUrls")
		}
	})
}

func TestListQueuesPages(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		prefix := unique(t)
		var want []string
		for i := range 10 {
			want = append(want, c.create(t, fmt.Sprintf("%s-%d", prefix, i), nil))
		}
		page := c.list(t, &sqs.ListQueuesInput{QueueNamePrefix: &prefix, MaxResults: aws.Int32(2)})
		if len(page.QueueUrls) != 2 || aws.ToString(page.NextToken) == "" {
			t.Fatalf("first page has %d URLs and token %q", len(page.QueueUrls), aws.ToString(page.NextToken))
		}
		rest := c.list(t, &sqs.ListQueuesInput{QueueNamePrefix: &prefix, MaxResults: aws.Int32(10), NextToken: page.NextToken})
		if rest.NextToken != nil {
			t.Errorf("the last page has token %q", *rest.NextToken)
		}
		if diff := cmp.Diff(want, append(page.QueueUrls, rest.QueueUrls...)); diff != "" {
			t.Errorf("URLs (-want +got):\n%s", diff)
		}
	})
}

func TestListQueuesBadMaxResults(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		for _, n := range []int32{0, -1, 1001} {
			_, got := call(t, c.sqs.ListQueues, &sqs.ListQueuesInput{MaxResults: aws.Int32(n)}, nil)
			refused(t, got, "InvalidParameterValue", "")
		}
	})
}
