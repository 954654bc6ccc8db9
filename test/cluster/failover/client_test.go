package failover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

const (
	tryTimeout  = 5 * time.Second  // one call of the SDK with its own retries
	giveUpAfter = 90 * time.Second // one operation with all tries
	pause       = 20 * time.Millisecond
)

// persistent returns an SDK client that repeats a call until it is answered. A refusal (4xx) is an
// answer.
type persistent struct {
	sqs *sqs.Client
	sns *sns.Client
}

func newPersistent(c *harness.Cluster, pick harness.Pick) *persistent {
	return &persistent{sqs: c.NewSQS(pick), sns: c.NewSNS(pick)}
}

// persist calls operation until it is answered. tried, if not nil, is called at the start of each
// try.
func persist[I, O, P any](ctx context.Context, operation func(context.Context, *I, ...func(*P)) (*O, error), in *I,
	tried func(time.Time)) (*O, error) {
	ctx, cancel := context.WithTimeout(ctx, giveUpAfter)
	defer cancel()
	for {
		if tried != nil {
			tried(time.Now())
		}
		out, err := once(ctx, operation, in)
		if err == nil || isRefusal(err) {
			return out, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%T was not answered: %w", in, err)
		case <-time.After(pause):
		}
	}
}

func once[I, O, P any](ctx context.Context, operation func(context.Context, *I, ...func(*P)) (*O, error), in *I) (*O, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	return operation(ctx, in)
}

// isRefusal reports whether the error is a refusal by a rule of the API.
func isRefusal(err error) bool {
	var response *awshttp.ResponseError
	return errors.As(err, &response) && response.HTTPStatusCode() >= 400 && response.HTTPStatusCode() < 500
}

func (p *persistent) create(t *testing.T, name string, attributes map[string]string) string {
	t.Helper()
	all := map[string]string{"FifoQueue": "true"}
	maps.Copy(all, attributes)
	out, err := persist(t.Context(), p.sqs.CreateQueue, &sqs.CreateQueueInput{QueueName: &name, Attributes: all}, nil)
	if err != nil {
		t.Fatalf("create %s: %v", name, err)
	}
	return aws.ToString(out.QueueUrl)
}

func sendInput(queue, group, id, body string) *sqs.SendMessageInput {
	return &sqs.SendMessageInput{QueueUrl: &queue, MessageBody: &body, MessageGroupId: &group, MessageDeduplicationId: &id}
}

func (p *persistent) send(t *testing.T, queue, group, id, body string) *sqs.SendMessageOutput {
	t.Helper()
	out, err := persist(t.Context(), p.sqs.SendMessage, sendInput(queue, group, id, body), nil)
	if err != nil {
		t.Fatalf("send: %v", err)
	}
	return out
}

func receiveInput(queue, attempt string, most int32) *sqs.ReceiveMessageInput {
	return &sqs.ReceiveMessageInput{
		QueueUrl: &queue, MaxNumberOfMessages: most, ReceiveRequestAttemptId: &attempt,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	}
}

func (p *persistent) receive(t *testing.T, queue, attempt string, most int32) []types.Message {
	t.Helper()
	out, err := persist(t.Context(), p.sqs.ReceiveMessage, receiveInput(queue, attempt, most), nil)
	if err != nil {
		t.Fatalf("receive: %v", err)
	}
	return out.Messages
}

// remove deletes messages, repeating the call until all are gone.
func (p *persistent) remove(ctx context.Context, queue string, messages []types.Message) error {
	if len(messages) == 0 {
		return nil
	}
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &queue}
	for i, m := range messages {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle})
	}
	out, err := persist(ctx, p.sqs.DeleteMessageBatch, in, nil)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if len(out.Failed) != 0 {
		return fmt.Errorf("delete: %s: %s", aws.ToString(out.Failed[0].Code), aws.ToString(out.Failed[0].Message))
	}
	return nil
}

// counts returns the numbers of visible, in-flight and delayed messages.
func (p *persistent) counts(t *testing.T, queue string) [3]string {
	t.Helper()
	names := []types.QueueAttributeName{
		"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed",
	}
	out, err := persist(t.Context(), p.sqs.GetQueueAttributes, &sqs.GetQueueAttributesInput{QueueUrl: &queue, AttributeNames: names}, nil)
	if err != nil {
		t.Fatalf("counts: %v", err)
	}
	var got [3]string
	for i, name := range names {
		got[i] = out.Attributes[string(name)]
	}
	return got
}

// agree checks that all running nodes reach one index with the same state hash.
func agree(t *testing.T, c *harness.Cluster) harness.Status {
	t.Helper()
	status, err := c.WaitConverged(t.Context(), time.Minute)
	if err != nil {
		t.Fatalf("the replicas do not agree: %v", err)
	}
	return status
}

func leader(t *testing.T, c *harness.Cluster) *harness.Node {
	t.Helper()
	n, err := c.WaitLeader(t.Context(), time.Minute)
	harness.Must(t, err)
	return n
}

func kill(t *testing.T, nodes ...*harness.Node) {
	t.Helper()
	for _, n := range nodes {
		harness.Must(t, n.Kill())
	}
}

// start starts nodes again and waits until they are ready.
func start(t *testing.T, nodes ...*harness.Node) {
	t.Helper()
	for _, n := range nodes {
		harness.Must(t, n.Start())
	}
	for _, n := range nodes {
		if err := n.WaitReady(t.Context(), harness.StartTimeout); err != nil {
			t.Fatalf("%s: %v", n.Name, err)
		}
	}
}
