package sns

import (
	"context"
	"errors"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type publishInput struct {
	TopicARN    awswire.Text
	TargetARN   awswire.Text
	PhoneNumber awswire.Text
	message
}

var publishInputSchema = awswire.Structure(append([]awswire.Member[publishInput]{
	awswire.OptionalString("TopicArn", func(v *publishInput) *awswire.Text { return &v.TopicARN }),
	awswire.OptionalString("TargetArn", func(v *publishInput) *awswire.Text { return &v.TargetARN }),
	awswire.OptionalString("PhoneNumber", func(v *publishInput) *awswire.Text { return &v.PhoneNumber }),
}, messageMembers(func(v *publishInput) *message { return &v.message })...)...)

// published holds the members that the answers of Publish and of an entry of PublishBatch share.
type published struct {
	MessageID      string
	SequenceNumber string
}

func publishedMembers[T any](at func(*T) *published) []awswire.Member[T] {
	return []awswire.Member[T]{
		awswire.String("MessageId", func(v *T) *string { return &at(v).MessageID }),
		awswire.String("SequenceNumber", func(v *T) *string { return &at(v).SequenceNumber }),
	}
}

var publishOutputSchema = awswire.Structure(publishedMembers(func(v *published) *published { return v })...)

func (p *published) accept(e queue.PublishedEntry) {
	p.MessageID = e.MessageID.String()
	if e.Sequence != 0 {
		p.SequenceNumber = e.Sequence.String()
	}
}

// byTarget finds the topic of Publish, which TargetArn may name. Phone numbers are not supported.
func byTarget(c *aws.Call, input any) (service.Resource, error) {
	in := input.(*publishInput)
	switch {
	case in.PhoneNumber.Given:
		return service.Resource{}, refusal.SNSInvalid("PhoneNumber Reason: there are no phone numbers here, publish to a TopicArn")
	case in.TopicARN.Value != "":
		return byTopic(c, &onTopic{in.TopicARN.Value})
	case in.TargetARN.Value != "":
		return byTopic(c, &onTopic{in.TargetARN.Value})
	case in.TopicARN.Given:
		return service.Resource{}, tooFewElements("TopicArn", 1)
	case in.TargetARN.Given:
		return service.Resource{}, tooFewElements("TargetArn", 1)
	}
	return service.Resource{}, missing("TopicArn or TargetArn")
}

// newPublish returns a command for the topic of the request.
func newPublish(c *aws.Call, entries int) *queue.Publish {
	return &queue.Publish{
		Topic: c.Resource.Topic, SenderID: c.SenderID(), Endpoint: c.BaseURL(), Entries: make([]queue.PublishEntry, 0, entries),
	}
}

func publish(ctx context.Context, c *aws.Call, in *publishInput) (*published, error) {
	entry, refused := in.entry()
	if refused != nil {
		return nil, refused
	}
	cmd := newPublish(c, 1)
	cmd.Entries = append(cmd.Entries, entry)
	done, err := submitPublish(ctx, c, cmd, func(int) bool { return in.structured() })
	if err != nil {
		return nil, err
	}
	out := &published{}
	out.accept(done.Entries[0])
	if done.Entries[0].Duplicate {
		c.Duplicate = "true"
	}
	return out, nil
}

// submitPublish resolves structured messages and publishes.
func submitPublish(ctx context.Context, c *aws.Call, cmd *queue.Publish, structured func(i int) bool) (queue.Published, error) {
	err := resolve(cmd, structured, func(e *queue.PublishEntry) error {
		return c.Read(ctx, func(v queue.View) error {
			if refused := v.RefusePublish(cmd.Topic, e); refused != nil {
				return refused
			}
			return nil
		})
	})
	if err != nil {
		return queue.Published{}, err
	}
	if cmd.Batch {
		c.Record.Trace.Batch(len(cmd.Entries))
	}
	trace := c.TraceHeader()
	for i := range cmd.Entries {
		cmd.Entries[i].TraceHeader = trace
	}
	c.Record.Trace.Published(cmd.Entries)
	done, err := service.Submit[queue.Published](ctx, &c.Call, cmd)
	if err != nil {
		err = batchError(ctx, c, cmd, err)
	}
	return done, err
}

// batchError replaces the error of a refused batch if the topic does not exist, which SNS checks
// before the entries (recorded).
func batchError(ctx context.Context, c *aws.Call, cmd *queue.Publish, err error) error {
	if _, refused := errors.AsType[*queue.Error](err); !refused || !cmd.Batch {
		return err
	}
	if missing := topicExists(ctx, c); missing != nil {
		return missing
	}
	return err
}

// topicExists refuses a request about a topic that does not exist.
func topicExists(ctx context.Context, c *aws.Call) error {
	_, err := service.ReadValue(ctx, &c.Call, func(v queue.View) (string, *queue.Error) { return v.TopicARN(c.Resource.Topic) })
	return err
}
