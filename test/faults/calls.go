package faults

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// send tries once to send, and reports whether the call succeeded. Workloads send nothing that a
// rule refuses.
func (c *client) send(ctx context.Context, node *harness.Node, queue, group, dedup, body string) bool {
	in := sendInput(group, dedup, body)
	in["QueueUrl"] = c.url(queue)
	e := sendEvent(queue, group, dedup, body)
	out, sent := c.do(ctx, node, "SendMessage", in, &e)
	if !sent {
		return false
	}
	c.sent(e, out)
	return e.Result == history.OK && e.Error == ""
}

// sendEvent is the line of a send before its answer.
func sendEvent(queue, group, dedup, body string) history.Event {
	e := history.Event{Action: history.Send, Queue: queue, Group: group, Dedup: dedup, Body: body}
	e.Extra = history.AttributesText(attributesFor(body))
	return e
}

// sent records a send with its answer.
func (c *client) sent(e history.Event, out answer) {
	e.Message, e.Sequence = out.MessageID, out.SequenceNumber
	if e.Result == history.OK && e.Error == "" {
		checkDigests(&e, e.Body, attributesFor(e.Body), out.BodyDigest, out.AttributesDigest)
	}
	c.recorder.Add(e)
}

// wanted describes a receive: how many messages, with which attempt id and visibility (nil: the
// queue's), and whether to discard the answer unread, as if the connection had broken after the
// server had executed it.
type wanted struct {
	most    int
	attempt string
	timeout *int64 // microseconds, whole seconds
	drop    bool
	wait    int // seconds of a long poll
}

// receive tries once.
func (c *client) receive(ctx context.Context, node *harness.Node, queue string, w wanted) ([]history.Message, history.Result) {
	in := map[string]any{"QueueUrl": c.url(queue), "MaxNumberOfMessages": w.most, "MessageSystemAttributeNames": []string{"All"},
		"MessageAttributeNames": []string{"All"}}
	if w.attempt != "" {
		in["ReceiveRequestAttemptId"] = w.attempt
	}
	if w.timeout != nil {
		in["VisibilityTimeout"] = *w.timeout / 1e6
	}
	if w.wait > 0 {
		in["WaitTimeSeconds"] = w.wait
	}
	e := history.Event{Action: history.Receive, Queue: queue, Attempt: w.attempt, Detail: history.Detail{Most: w.most, Timeout: w.timeout}}
	out, sent := c.do(ctx, node, "ReceiveMessage", in, &e)
	if !sent {
		return nil, history.Fail
	}
	if w.drop && e.Result == history.OK {
		e.Result, e.Error, e.Index, e.LogTime = history.Unknown, "the answer was dropped", 0, 0
	} else {
		e.Messages = delivered(out)
		for i, m := range out.Messages {
			e.Messages[i].Extra = history.AttributesText(unwireAttributes(m.MessageAttributes))
			checkDigests(&e, m.Body, unwireAttributes(m.MessageAttributes), m.BodyDigest, m.AttributesDigest)
		}
	}
	c.recorder.Add(e)
	return e.Messages, e.Result
}

func delivered(out answer) []history.Message {
	var messages []history.Message
	for _, m := range out.Messages {
		// Numbers that do not parse stay 0, which the checkers refuse.
		count, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
		at, _ := strconv.ParseInt(m.Attributes["SentTimestamp"], 10, 64)
		messages = append(messages, history.Message{
			ID: m.MessageID, Body: m.Body, Group: m.Attributes["MessageGroupId"], Dedup: m.Attributes["MessageDeduplicationId"],
			Sequence: m.Attributes["SequenceNumber"], Handle: m.ReceiptHandle, Count: count, Sent: at,
		})
	}
	return messages
}

// remove tries to delete once.
func (c *client) remove(ctx context.Context, node *harness.Node, queue, handle, id string) bool {
	e := history.Event{Action: history.Delete, Queue: queue, Handle: handle, Message: id}
	return c.record(ctx, node, "DeleteMessage", map[string]any{"QueueUrl": c.url(queue), "ReceiptHandle": handle}, e)
}

// hide tries once to change the visibility of a message in flight.
func (c *client) hide(ctx context.Context, node *harness.Node, queue, handle, id string, timeout int64) bool {
	e := history.Event{Action: history.Visibility, Queue: queue, Handle: handle, Message: id, Detail: history.Detail{Timeout: &timeout}}
	return c.record(ctx, node, "ChangeMessageVisibility", map[string]any{
		"QueueUrl": c.url(queue), "ReceiptHandle": handle, "VisibilityTimeout": timeout / 1e6,
	}, e)
}

// record makes a call whose only result is that it succeeded.
func (c *client) record(ctx context.Context, node *harness.Node, action string, in map[string]any, e history.Event) bool {
	if _, sent := c.do(ctx, node, action, in, &e); !sent {
		return false
	}
	c.recorder.Add(e)
	return e.Result == history.OK
}

// batch tries a batch once and fills in the results of its entries.
func (c *client) batch(ctx context.Context, node *harness.Node, queue, action string, entries []history.Entry) history.Event {
	e := history.Event{Action: action, Queue: queue, Detail: history.Detail{Entries: entries}}
	call := map[string]string{
		history.SendBatch: "SendMessageBatch", history.DeleteBatch: "DeleteMessageBatch",
		history.VisibilityBatch: "ChangeMessageVisibilityBatch",
	}[action]
	var list []map[string]any
	for i, entry := range entries {
		one := map[string]any{}
		switch action {
		case history.SendBatch:
			one = sendInput(entry.Group, entry.Dedup, entry.Body)
			entries[i].Extra = history.AttributesText(attributesFor(entry.Body))
		default:
			one["ReceiptHandle"] = entry.Handle
			if entry.Timeout != nil {
				one["VisibilityTimeout"] = *entry.Timeout / 1e6
			}
		}
		one["Id"] = strconv.Itoa(i)
		list = append(list, one)
	}
	out, sent := c.do(ctx, node, call, map[string]any{"QueueUrl": c.url(queue), "Entries": list}, &e)
	if !sent {
		e.Result = history.Fail
		return e
	}
	for _, done := range out.Successful {
		if i, err := strconv.Atoi(done.ID); err == nil && i < len(e.Entries) && action == history.SendBatch {
			e.Entries[i].Message, e.Entries[i].Sequence = done.MessageID, done.SequenceNumber
			checkDigests(&e, e.Entries[i].Body, attributesFor(e.Entries[i].Body), done.BodyDigest, done.AttributesDigest)
		}
	}
	for _, refused := range out.Failed {
		if i, err := strconv.Atoi(refused.ID); err == nil && i < len(e.Entries) {
			e.Entries[i].Error = refused.Code
		}
	}
	c.recorder.Add(e)
	return e
}

// create repeats the creation of a queue until it succeeds.
func (c *client) create(ctx context.Context, queue string, attributes map[string]string) error {
	e := history.Event{Action: history.CreateQueue, Queue: queue, Detail: history.Detail{Attributes: attributes}}
	for !c.record(ctx, c.any(), "CreateQueue", map[string]any{"QueueName": queue, "Attributes": attributes}, e) {
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("create %s: %w", queue, ctx.Err())
		}
	}
	return nil
}

// attributesOf returns the attributes with which the run creates a queue.
func attributesOf(rules history.Rules, queue string) map[string]string {
	attributes := map[string]string{
		"FifoQueue": "true", "VisibilityTimeout": fmt.Sprint(rules.Visibility / 1e6),
		"DeduplicationWindowSeconds":  fmt.Sprint(rules.WindowOf(queue) / 1e6),
		"ReceiveAttemptWindowSeconds": fmt.Sprint(rules.Attempt / 1e6),
	}
	if most, found := rules.DeadLetter[queue]; found {
		attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:%s","maxReceiveCount":%d}`,
			history.DeadLetterOf(queue), most)
	}
	return attributes
}
