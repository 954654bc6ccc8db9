package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type tagQueueInput struct {
	QueueURL awswire.Text
	Tags     []awswire.Pair
}

var tagQueueInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *tagQueueInput) *awswire.Text { return &v.QueueURL }),
	awswire.StringMap("Tags", "Tag", "Key", "Value", func(v *tagQueueInput) *[]awswire.Pair { return &v.Tags }),
)

// tagQueue adds tags or overwrites them. A tag whose value is null in JSON is
// absent: null equals absent everywhere in this protocol (sqs.md 1.2), and how
// AWS takes it here is not on record.
func (s *Service) tagQueue(ctx context.Context, c *call, in *tagQueueInput) (*nothing, error) {
	name, err := c.queueName(in.QueueURL)
	if err != nil {
		return nil, err
	}
	if len(in.Tags) == 0 {
		return nil, missingParameter("Tags")
	}
	_, err = s.submit(ctx, c, &queue.SetQueueTags{Queue: name, Set: queueTags(in.Tags)})
	return &nothing{}, err
}
