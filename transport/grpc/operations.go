package grpc

import (
	"context"
	"slices"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/explain"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// operations implements the service Operations. Safe for concurrent use.
type operations struct {
	seriatimpb.UnimplementedOperationsServer
	server *Server
}

// onExplained sets the queue or the topic of an Explain. A topic or subscription needs the permission
// to read its attributes.
func onExplained(c *call, request any) error {
	in := request.(*seriatimpb.ExplainRequest)
	_, aboutSubscription := in.GetSubject().(*seriatimpb.ExplainRequest_Subscription)
	_, aboutGroup := in.GetSubject().(*seriatimpb.ExplainRequest_GroupId)
	_, aboutMessage := in.GetSubject().(*seriatimpb.ExplainRequest_Message)
	switch {
	case in.GetQueue() != "" && in.GetTopic() != "":
		return refusal.InvalidParameter("Explain takes a queue or a topic, not both.")
	case in.GetQueue() != "" && aboutSubscription:
		return refusal.InvalidParameter("A subscription belongs to a topic: name the topic instead of a queue.")
	case in.GetQueue() != "":
		return c.on(in.GetQueue())
	case in.GetTopic() == "" && !aboutSubscription:
		return refusal.MissingParameter("queue")
	case aboutGroup || aboutMessage:
		return refusal.InvalidParameter("A topic stores no messages: name a queue that is subscribed to it.")
	}
	if c.method.permission = "sns:GetTopicAttributes"; aboutSubscription {
		c.method.permission = "sns:GetSubscriptionAttributes"
	}
	c.Record.Permission = c.method.permission
	if aboutSubscription {
		return c.onSubscription(in.GetSubscription().GetSubscriptionArn())
	}
	return c.onTopic(in.GetTopic())
}

// explainNeeds returns the Need for the content of a message.
func explainNeeds(c *call) ([]service.Need, error) {
	if _, aboutMessage := c.request.(*seriatimpb.ExplainRequest).GetSubject().(*seriatimpb.ExplainRequest_Message); !aboutMessage {
		return nil, nil
	}
	return []service.Need{{Permission: "sqs:ReceiveMessage", Resource: c.Resource}}, nil
}

// moveStoredNeeds returns the Needs of a move, as for a move task.
func moveStoredNeeds(c *call) ([]service.Need, error) {
	destination := c.request.(*seriatimpb.MoveStoredRequest).GetDestination()
	if destination != "" {
		destination = c.qualify(destination)
	}
	return service.MoveNeeds(c.in.request.Context(), c.server.look, c.Resource.Name, destination)
}

// Explain tells why something is as it is.
func (o *operations) Explain(ctx context.Context, in *seriatimpb.ExplainRequest) (*seriatimpb.Explanation, error) {
	c := callOf(ctx)
	about, err := c.explainer(ctx, in)
	if err != nil {
		return nil, err
	}
	e, err := service.ReadValue(ctx, &c.Call, about)
	if err != nil {
		return nil, err
	}
	out := wireExplanation(&e)
	if e.Group != nil {
		holder, text := c.holderOf(ctx, e.Group)
		out.Holder = holder
		out.Details = append(out.Details, text)
	}
	return out, nil
}

// explainer returns the function that explains the subject of a request.
func (c *call) explainer(ctx context.Context, in *seriatimpb.ExplainRequest) (func(queue.View) (explain.Explanation, *queue.Error), error) {
	switch subject := in.GetSubject().(type) {
	case *seriatimpb.ExplainRequest_GroupId:
		return func(v queue.View) (explain.Explanation, *queue.Error) {
			return explain.Group(v, c.queue, subject.GroupId)
		}, nil
	case *seriatimpb.ExplainRequest_Message:
		found, err := c.resolve(ctx, []*seriatimpb.MessageSelector{subject.Message})
		if err == nil && found[0].refused != nil {
			err = found[0].refused
		}
		if err != nil {
			return nil, err
		}
		return func(v queue.View) (explain.Explanation, *queue.Error) {
			return explain.Message(v, c.queue, found[0].sequence)
		}, nil
	case *seriatimpb.ExplainRequest_Deduplication:
		id := queue.DeduplicationID{
			ID: subject.Deduplication.GetDeduplicationId(), GroupID: subject.Deduplication.GetGroupId(),
			PartitionKey: subject.Deduplication.GetPartitionKey(),
		}
		if c.topic != "" {
			return func(v queue.View) (explain.Explanation, *queue.Error) {
				return explain.TopicDeduplication(v, c.topic, id)
			}, nil
		}
		return func(v queue.View) (explain.Explanation, *queue.Error) { return explain.Deduplication(v, c.queue, id) }, nil
	case *seriatimpb.ExplainRequest_Subscription:
		s := subject.Subscription
		var p *explain.Publication
		if s.Message != nil || len(s.GetAttributes()) > 0 {
			p = &explain.Publication{Attributes: domainAttributes(s.GetAttributes()), Body: s.GetMessage()}
		}
		return func(v queue.View) (explain.Explanation, *queue.Error) {
			return explain.Subscription(v, s.GetSubscriptionArn(), p)
		}, nil
	}
	if c.topic != "" {
		return func(v queue.View) (explain.Explanation, *queue.Error) { return explain.Topic(v, c.topic) }, nil
	}
	return func(v queue.View) (explain.Explanation, *queue.Error) { return explain.Queue(v, c.queue) }, nil
}

func wireExplanation(e *explain.Explanation) *seriatimpb.Explanation {
	out := &seriatimpb.Explanation{State: e.State, Summary: e.Summary, Details: e.Details, UntilMs: int64(e.Until), Next: e.Next}
	for _, cmd := range e.Commands {
		out.Commands = append(out.Commands, &seriatimpb.SuggestedCommand{Line: cmd.Line, Effect: cmd.Effect})
	}
	for _, event := range e.Timeline {
		out.Timeline = append(out.Timeline, &seriatimpb.TimelineEvent{AtMs: int64(event.At), Event: event.Event})
	}
	return out
}

// DeleteStored deletes stored messages, each on its own.
func (o *operations) DeleteStored(ctx context.Context, in *seriatimpb.DeleteStoredRequest) (*seriatimpb.DeleteStoredResponse, error) {
	c := callOf(ctx)
	found, err := c.resolve(ctx, in.GetMessages())
	if err != nil {
		return nil, err
	}
	cmd := &queue.DeleteStored{Queue: c.queue, Force: in.GetForce(), Sequences: sequencesOf(found)}
	done := queue.EntriesDone{}
	if len(cmd.Sequences) > 0 {
		if done, err = service.Submit[queue.EntriesDone](ctx, &c.Call, cmd); err != nil {
			return nil, err
		}
	}
	out := &seriatimpb.DeleteStoredResponse{}
	for _, f := range found {
		refused := f.refused
		if refused == nil {
			refused, done.Errs = done.Errs[0], done.Errs[1:]
			if c.Repeated && refused != nil && refused.Code == refusal.MessageNotFound {
				refused = nil // the first attempt deleted it
			}
		}
		outcome := &seriatimpb.Outcome{}
		if refused != nil {
			outcome.Failure = refusalFailure(refused)
		}
		out.Outcomes = append(out.Outcomes, outcome)
	}
	return out, nil
}

// MoveStored moves stored messages, each on its own.
func (o *operations) MoveStored(ctx context.Context, in *seriatimpb.MoveStoredRequest) (*seriatimpb.MoveStoredResponse, error) {
	c := callOf(ctx)
	found, err := c.resolve(ctx, in.GetMessages())
	if err != nil {
		return nil, err
	}
	cmd := &queue.MoveStored{Queue: c.queue, Force: in.GetForce(), Sequences: sequencesOf(found)}
	if in.GetDestination() != "" {
		cmd.Destination = c.qualify(in.GetDestination())
	} else if err := c.permitSources(ctx, cmd.Sequences); err != nil {
		return nil, err
	}
	moved := queue.StoredMoved{}
	if len(cmd.Sequences) > 0 {
		if moved, err = service.Submit[queue.StoredMoved](ctx, &c.Call, cmd); err != nil {
			return nil, err
		}
	}
	out := &seriatimpb.MoveStoredResponse{}
	for _, f := range found {
		entry := queue.MovedEntry{Err: f.refused}
		if f.refused == nil {
			entry, moved.Entries = moved.Entries[0], moved.Entries[1:]
		}
		result := &seriatimpb.MoveResult{Destination: access.PlainName(entry.Destination), SequenceNumber: entry.Sequence.Number()}
		if entry.Err != nil {
			result.Failure = refusalFailure(entry.Err)
		}
		out.Results = append(out.Results, result)
	}
	return out, nil
}

// permitSources refuses a caller who may not send to the queues from which messages were
// dead-lettered. Such a queue may have another dead-letter queue by now, so moveStoredNeeds does not
// know it. The source of a message never changes.
func (c *call) permitSources(ctx context.Context, sequences []queue.SequenceNumber) error {
	if c.Backend.Authorizer == nil {
		return nil
	}
	var sources []string
	err := c.Read(ctx, func(v queue.View) error {
		sources = nil
		for _, sequence := range sequences {
			if m, refused := v.Stored(c.queue, sequence); refused == nil && m.DeadLetterSource != "" {
				sources = append(sources, m.DeadLetterSource)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(sources)
	for _, source := range slices.Compact(sources) {
		if err := c.Permit(ctx, service.ToSend(source)); err != nil {
			return err
		}
	}
	return nil
}
