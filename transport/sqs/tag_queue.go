package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type tagQueueInput struct {
	onQueue
	Tags []awswire.Pair
}

var tagQueueInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *tagQueueInput) *awswire.Text { return &v.QueueURL }),
	awswire.StringMap("Tags", "Tag", "Key", "Value", func(v *tagQueueInput) *[]awswire.Pair { return &v.Tags }),
)

// tagQueue adds tags or overwrites them. A tag with the value null in JSON is absent, as everywhere in
// this protocol (sqs.md 1.2).
func (s *Service) tagQueue(ctx context.Context, c *aws.Call, in *tagQueueInput) (*aws.Nothing, error) {
	if len(in.Tags) == 0 {
		return nil, refusal.MissingParameter("Tags")
	}
	tags, err := queueTags(in.Tags)
	if err != nil {
		return nil, err
	}
	_, err = c.Submit(ctx, &queue.SetQueueTags{Queue: c.Resource.Name, Set: tags})
	return &aws.Nothing{}, err
}
