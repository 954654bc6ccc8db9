package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// stock is a client that uses an unmodified SDK. An operation is one call of the SDK, which repeats
// it by itself. Used by one goroutine.
type stock struct {
	client *client
	sqs    *sqs.Client

	id    int64 // the current operation, and how often the SDK has tried it
	tries int
}

// newStock makes the SDK of a client; each of its tries goes to any node.
func (c *client) newStock() *stock {
	k := &stock{client: c}
	cluster := &harness.Cluster{Nodes: c.nodes}
	next := harness.NewSecureRoundTripper(c.any, c.access.config())
	k.sqs = cluster.NewSQS(c.any, func(o *sqs.Options) {
		o.HTTPClient = &http.Client{Timeout: tryTimeout, Transport: numbered{k, next}}
	})
	return k
}

// numbered adds the operation's number and the number of the try to each request of the SDK.
type numbered struct {
	stock *stock
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (n numbered) RoundTrip(r *http.Request) (*http.Response, error) {
	n.stock.tries++
	r = r.Clone(r.Context())
	r.Header.Set(headerOpID, fmt.Sprintf("%d.%d", n.stock.id, n.stock.tries))
	return n.next.RoundTrip(r)
}

// begin records the beginning of a call, and end its result.
func (k *stock) begin(e *history.Event) {
	k.id, k.tries = k.client.recorder.Next(), 0
	e.Kind, e.Client, e.Workload, e.ID = history.KindOp, k.client.number, k.client.workload, k.id
	e.Call, e.Stock = k.client.recorder.Now(), true
	e.Queue = k.client.queue()
}

func (k *stock) end(e *history.Event, err error) {
	e.Return, e.Result, e.Tries = k.client.recorder.Now(), history.OK, k.tries
	if err != nil {
		// An earlier try of the SDK may have taken effect, although its answer was lost.
		e.Result, e.Error = history.Unknown, err.Error()
		var api smithy.APIError
		if errors.As(err, &api) && api.ErrorFault() == smithy.FaultClient && k.tries == 1 {
			e.Result, e.Error = history.OK, api.ErrorCode()
		}
	}
	k.client.recorder.Add(*e)
}

// stockStep uses the SDK to send, to receive with an attempt id, and to delete.
func (c *client) stockStep(ctx context.Context) {
	if c.stock == nil {
		c.stock = c.newStock()
	}
	k, url := c.stock, aws.String(c.url(c.queue()))
	body := c.body()
	e := sendEvent("", fmt.Sprint(c.random.IntN(5)), keyOf(body), body)
	k.begin(&e)
	sent, err := k.sqs.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: url, MessageBody: &body, MessageGroupId: &e.Group, MessageDeduplicationId: &e.Dedup,
		MessageAttributes: attributesBySDK(attributesFor(body)),
	})
	if err == nil {
		e.Message, e.Sequence = aws.ToString(sent.MessageId), aws.ToString(sent.SequenceNumber)
	}
	k.end(&e, err)

	e = history.Event{Action: history.Receive, Attempt: c.attempt(), Detail: history.Detail{Most: 3}}
	k.begin(&e)
	got, err := k.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: url, MaxNumberOfMessages: 3, ReceiveRequestAttemptId: &e.Attempt,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		MessageAttributeNames:       []string{"All"},
	})
	if err == nil {
		e.Messages = deliveredBySDK(got)
	}
	k.end(&e, err)
	for _, m := range e.Messages {
		e := history.Event{Action: history.Delete, Handle: m.Handle, Message: m.ID}
		k.begin(&e)
		_, err := k.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: &m.Handle})
		k.end(&e, err)
	}
}

func deliveredBySDK(got *sqs.ReceiveMessageOutput) []history.Message {
	var out answer
	for _, m := range got.Messages {
		out.Messages = append(out.Messages, answeredMessage{
			MessageID: aws.ToString(m.MessageId), Body: aws.ToString(m.Body), ReceiptHandle: aws.ToString(m.ReceiptHandle),
			Attributes: m.Attributes,
		})
	}
	messages := delivered(out)
	for i, m := range got.Messages {
		var list []history.Attribute
		for name, a := range m.MessageAttributes {
			list = append(list, history.Attribute{Name: name, Type: aws.ToString(a.DataType),
				Value: aws.ToString(a.StringValue) + string(a.BinaryValue)})
		}
		messages[i].Extra = history.AttributesText(list)
	}
	return messages
}

// attributesBySDK are message attributes in the types of the SDK, which compares the
// digests of the answers itself.
func attributesBySDK(attributes []history.Attribute) map[string]types.MessageAttributeValue {
	values := map[string]types.MessageAttributeValue{}
	for _, a := range attributes {
		v := types.MessageAttributeValue{DataType: &a.Type}
		if a.Type == "Binary" {
			v.BinaryValue = []byte(a.Value)
		} else {
			v.StringValue = &a.Value
		}
		values[a.Name] = v
	}
	return values
}
