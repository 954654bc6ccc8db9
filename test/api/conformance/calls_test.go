package conformance

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

// sending changes a send: the input of SendMessage or an entry of SendMessageBatch.
type sending func(*sqs.SendMessageInput)

func group(id string) sending { return func(in *sqs.SendMessageInput) { in.MessageGroupId = &id } }

func dedup(id string) sending {
	return func(in *sqs.SendMessageInput) { in.MessageDeduplicationId = &id }
}

func delay(seconds int32) sending {
	return func(in *sqs.SendMessageInput) { in.DelaySeconds = seconds }
}

// text adds a message attribute with a string value.
func text(name, dataType, value string) sending {
	return attribute(name, types.MessageAttributeValue{DataType: &dataType, StringValue: &value})
}

// binary adds a message attribute with a binary value.
func binary(name, dataType string, value []byte) sending {
	return attribute(name, types.MessageAttributeValue{DataType: &dataType, BinaryValue: value})
}

func attribute(name string, value types.MessageAttributeValue) sending {
	return func(in *sqs.SendMessageInput) {
		if in.MessageAttributes == nil {
			in.MessageAttributes = map[string]types.MessageAttributeValue{}
		}
		in.MessageAttributes[name] = value
	}
}

// trace adds the system attribute AWSTraceHeader.
func trace(value string) sending {
	return func(in *sqs.SendMessageInput) {
		in.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: &value},
		}
	}
}

func (c *client) send(t *testing.T, queue, body string, options ...sending) *sqs.SendMessageOutput {
	t.Helper()
	return must[*sqs.SendMessageOutput](t)(c.trySend(t, queue, body, options...))
}

func (c *client) trySend(t *testing.T, queue, body string, options ...sending) (*sqs.SendMessageOutput, *refusal) {
	t.Helper()
	in := &sqs.SendMessageInput{QueueUrl: &queue, MessageBody: &body}
	for _, o := range options {
		o(in)
	}
	return call(t, c.sqs.SendMessage, in, nil)
}

// entry is one entry of a SendMessageBatch.
func entry(id, body string, options ...sending) types.SendMessageBatchRequestEntry {
	in := &sqs.SendMessageInput{MessageBody: &body}
	for _, o := range options {
		o(in)
	}
	return types.SendMessageBatchRequestEntry{
		Id: &id, MessageBody: in.MessageBody, DelaySeconds: in.DelaySeconds,
		MessageAttributes: in.MessageAttributes, MessageSystemAttributes: in.MessageSystemAttributes,
		MessageDeduplicationId: in.MessageDeduplicationId, MessageGroupId: in.MessageGroupId,
	}
}

func (c *client) sendBatch(t *testing.T, queue string, entries ...types.SendMessageBatchRequestEntry) *sqs.SendMessageBatchOutput {
	t.Helper()
	return must[*sqs.SendMessageBatchOutput](t)(c.trySendBatch(t, queue, entries...))
}

func (c *client) trySendBatch(t *testing.T, queue string, entries ...types.SendMessageBatchRequestEntry) (*sqs.SendMessageBatchOutput,
	*refusal) {
	t.Helper()
	return call(t, c.sqs.SendMessageBatch, &sqs.SendMessageBatchInput{QueueUrl: &queue, Entries: entries}, nil)
}

// receiving changes a receive.
type receiving func(*sqs.ReceiveMessageInput, members)

func atMost(n int32) receiving {
	return func(in *sqs.ReceiveMessageInput, _ members) { in.MaxNumberOfMessages = n }
}

// wait sets WaitTimeSeconds, also to an explicit zero, which the SDK cannot send.
func wait(seconds int32) receiving {
	return func(in *sqs.ReceiveMessageInput, extra members) {
		if in.WaitTimeSeconds = seconds; seconds == 0 {
			extra["WaitTimeSeconds"] = seconds
		}
	}
}

// hidden sets VisibilityTimeout, also to an explicit zero, which the SDK cannot send.
func hidden(seconds int32) receiving {
	return func(in *sqs.ReceiveMessageInput, extra members) {
		if in.VisibilityTimeout = seconds; seconds == 0 {
			extra["VisibilityTimeout"] = seconds
		}
	}
}

func attempt(id string) receiving {
	return func(in *sqs.ReceiveMessageInput, _ members) { in.ReceiveRequestAttemptId = &id }
}

// system asks for system attributes.
func system(names ...types.MessageSystemAttributeName) receiving {
	return func(in *sqs.ReceiveMessageInput, _ members) { in.MessageSystemAttributeNames = names }
}

// user asks for user attributes.
func user(names ...string) receiving {
	return func(in *sqs.ReceiveMessageInput, _ members) { in.MessageAttributeNames = names }
}

// everything asks for all attributes.
func everything(in *sqs.ReceiveMessageInput, _ members) {
	in.MessageSystemAttributeNames = []types.MessageSystemAttributeName{"All"}
	in.MessageAttributeNames = []string{"All"}
}

func (c *client) receive(t *testing.T, queue string, options ...receiving) []types.Message {
	t.Helper()
	return must[[]types.Message](t)(c.tryReceive(t, queue, options...))
}

func (c *client) tryReceive(t *testing.T, queue string, options ...receiving) ([]types.Message, *refusal) {
	t.Helper()
	in, extra := &sqs.ReceiveMessageInput{QueueUrl: &queue}, members{}
	for _, o := range options {
		o(in, extra)
	}
	out, refused := call(t, c.sqs.ReceiveMessage, in, extra)
	if refused != nil {
		return nil, refused
	}
	return out.Messages, nil
}

// one receives exactly one message, waiting for it.
func (c *client) one(t *testing.T, queue string, options ...receiving) types.Message {
	t.Helper()
	got := c.receive(t, queue, append([]receiving{wait(20)}, options...)...)
	if len(got) != 1 {
		t.Fatalf("received %d messages, want one", len(got))
	}
	return got[0]
}

// empty checks that a short poll returns no message.
func (c *client) empty(t *testing.T, queue string, options ...receiving) {
	t.Helper()
	got := c.receive(t, queue, append([]receiving{wait(0), atMost(10)}, options...)...)
	if len(got) != 0 {
		t.Errorf("received %q, want nothing", bodies(got))
	}
}

// expect receives up to ten messages, waiting for the first, and compares the
// bodies in their order.
func (c *client) expect(t *testing.T, queue string, want ...string) []types.Message {
	t.Helper()
	got := c.receive(t, queue, atMost(10), wait(20), system("All"))
	if diff := cmp.Diff(want, bodies(got)); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
	return got
}

// expectSet is expect for a standard queue, which has no order. It receives until it has the wanted
// number of messages.
func (c *client) expectSet(t *testing.T, queue string, want ...string) []types.Message {
	t.Helper()
	var got []types.Message
	for len(got) < len(want) {
		more := c.receive(t, queue, atMost(10), wait(20))
		if len(more) == 0 {
			break
		}
		got = append(got, more...)
	}
	have := bodies(got)
	slices.Sort(have)
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
	return got
}

func bodies(messages []types.Message) []string {
	out := []string{}
	for _, m := range messages {
		out = append(out, aws.ToString(m.Body))
	}
	return out
}

func (c *client) delete(t *testing.T, queue string, messages ...types.Message) {
	t.Helper()
	for _, m := range messages {
		if got := c.tryDelete(t, queue, aws.ToString(m.ReceiptHandle)); got != nil {
			t.Fatalf("delete %q: %v", aws.ToString(m.Body), got)
		}
	}
}

func (c *client) tryDelete(t *testing.T, queue, handle string) *refusal {
	t.Helper()
	_, refused := call(t, c.sqs.DeleteMessage, &sqs.DeleteMessageInput{QueueUrl: &queue, ReceiptHandle: &handle}, nil)
	return refused
}

// hide is ChangeMessageVisibility.
func (c *client) hide(t *testing.T, queue string, m types.Message, seconds int32) {
	t.Helper()
	if got := c.tryHide(t, queue, aws.ToString(m.ReceiptHandle), seconds); got != nil {
		t.Fatalf("change the visibility of %q: %v", aws.ToString(m.Body), got)
	}
}

func (c *client) tryHide(t *testing.T, queue, handle string, seconds int32) *refusal {
	t.Helper()
	_, refused := call(t, c.sqs.ChangeMessageVisibility,
		&sqs.ChangeMessageVisibilityInput{QueueUrl: &queue, ReceiptHandle: &handle, VisibilityTimeout: seconds}, nil)
	return refused
}

// attributes returns the queue attributes with the given names.
func (c *client) attributes(t *testing.T, queue string, names ...types.QueueAttributeName) attrs {
	t.Helper()
	in := &sqs.GetQueueAttributesInput{QueueUrl: &queue, AttributeNames: names}
	out, refused := call(t, c.sqs.GetQueueAttributes, in, nil)
	return must[*sqs.GetQueueAttributesOutput](t)(out, refused).Attributes
}

func (c *client) set(t *testing.T, queue string, attributes attrs) {
	t.Helper()
	if got := c.trySet(t, queue, attributes); got != nil {
		t.Fatalf("set %v: %v", attributes, got)
	}
}

func (c *client) trySet(t *testing.T, queue string, attributes attrs) *refusal {
	t.Helper()
	_, refused := call(t, c.sqs.SetQueueAttributes, &sqs.SetQueueAttributesInput{QueueUrl: &queue, Attributes: attributes}, nil)
	return refused
}

// counts checks the three counters: available, in flight, delayed.
func (c *client) counts(t *testing.T, queue string, visible, notVisible, delayed int) {
	t.Helper()
	got := c.attributes(t, queue, "ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible",
		"ApproximateNumberOfMessagesDelayed")
	want := attrs{
		"ApproximateNumberOfMessages":           strconv.Itoa(visible),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(notVisible),
		"ApproximateNumberOfMessagesDelayed":    strconv.Itoa(delayed),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

func (c *client) purge(t *testing.T, queue string) {
	t.Helper()
	if _, got := call(t, c.sqs.PurgeQueue, &sqs.PurgeQueueInput{QueueUrl: &queue}, nil); got != nil {
		t.Fatalf("purge: %v", got)
	}
}

func (c *client) deleteQueue(t *testing.T, queue string) {
	t.Helper()
	if _, got := call(t, c.sqs.DeleteQueue, &sqs.DeleteQueueInput{QueueUrl: &queue}, nil); got != nil {
		t.Fatalf("delete queue: %v", got)
	}
}

func redrive(target string, maxReceiveCount int) string {
	return fmt.Sprintf(`{"deadLetterTargetArn":"%s","maxReceiveCount":%d}`, arn(target), maxReceiveCount)
}

// pass lets time pass on the server: it polls an empty queue for this long, so that the server's
// clock counts.
func (c *client) pass(t *testing.T, seconds int32) {
	t.Helper()
	quiet := c.std(t, nil)
	for seconds > 0 {
		step := min(seconds, 20)
		if got := c.receive(t, quiet, wait(step)); len(got) != 0 {
			t.Fatalf("a queue nobody sent to gave %q", bodies(got))
		}
		seconds -= step
	}
}

// eventually repeats a check until it returns true, about once a second.
func (c *client) eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for range 60 {
		if check() {
			return
		}
		c.pass(t, 1)
	}
	t.Fatalf("never: %s", what)
}

// windows counts the assertions that hold only within a window of the server, and those that were
// omitted because a slow machine may have exceeded it.
var windows struct{ checked, missed atomic.Int64 }

// before reports whether less than the window has passed since start. Otherwise the assertion that
// asks must be omitted, which is logged and counted. If this happens too often, run fails.
func before(t *testing.T, start time.Time, window time.Duration) bool {
	t.Helper()
	if passed := time.Since(start); passed >= window {
		windows.missed.Add(1)
		t.Logf("not checked: %v passed, and it holds only within %v", passed.Round(time.Millisecond), window)
		return false
	}
	windows.checked.Add(1)
	return true
}

// checkWindows reports an error if more than a fifth of these assertions were omitted, because the
// suite then tests little of them.
func checkWindows() error {
	checked, missed := windows.checked.Load(), windows.missed.Load()
	if missed*4 > checked {
		return fmt.Errorf("%d assertions about windows of time could be made and %d not: this machine is too slow for them", checked,
			missed)
	}
	return nil
}
