package client

import (
	"context"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// Requests and answers of the service Operations. Their fields are as in the proto.
type (
	ExplainRequest      = seriatimpb.ExplainRequest
	Explanation         = seriatimpb.Explanation
	FindMessagesRequest = seriatimpb.FindMessagesRequest
	MessageSelector     = seriatimpb.MessageSelector
	MoveResult          = seriatimpb.MoveResult
	ExplainGroup        = seriatimpb.ExplainRequest_GroupId
	ExplainMessage      = seriatimpb.ExplainRequest_Message
	ExplainSubscription = seriatimpb.ExplainRequest_Subscription
	SubscriptionSubject = seriatimpb.SubscriptionSubject
	MessageFilter       = seriatimpb.MessageFilter
	// FoundMessages is one page of a search.
	FoundMessages = seriatimpb.FindMessagesResponse
)

// Explain tells why a queue, group, message, deduplication id, topic or subscription is as it is.
func (c *Client) Explain(ctx context.Context, in *ExplainRequest) (*Explanation, error) {
	return Call(ctx, c, true, seriatimpb.NewOperationsClient, seriatimpb.OperationsClient.Explain, in)
}

// FindMessages returns the next page of the stored messages that match a filter.
func (c *Client) FindMessages(ctx context.Context, in *FindMessagesRequest) (*FoundMessages, error) {
	return Call(ctx, c, true, seriatimpb.NewOperationsClient, seriatimpb.OperationsClient.FindMessages, in)
}

// DeleteStored deletes 1 to 100 stored messages. force includes messages in flight. The error is that
// of the call, or a *BatchError.
func (c *Client) DeleteStored(ctx context.Context, queue string, force bool, messages ...*MessageSelector) error {
	in := &seriatimpb.DeleteStoredRequest{Queue: queue, Messages: messages, Force: force}
	out, err := Call(ctx, c, false, seriatimpb.NewOperationsClient, seriatimpb.OperationsClient.DeleteStored, in)
	if err != nil {
		return err
	}
	return batchError(out.GetOutcomes())
}

// MoveStored moves 1 to 100 stored messages to another queue; without a destination, each to the queue
// from which it was dead-lettered. force includes messages in flight.
func (c *Client) MoveStored(ctx context.Context, queue, destination string, force bool, messages ...*MessageSelector,
) ([]*MoveResult, error) {
	in := &seriatimpb.MoveStoredRequest{Queue: queue, Destination: destination, Messages: messages, Force: force}
	out, err := Call(ctx, c, false, seriatimpb.NewOperationsClient, seriatimpb.OperationsClient.MoveStored, in)
	return out.GetResults(), err
}
