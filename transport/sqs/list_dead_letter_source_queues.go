package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type listDeadLetterSourceQueuesInput struct {
	QueueURL   awswire.Text
	MaxResults awswire.Int
	NextToken  string
}

var listDeadLetterSourceQueuesInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *listDeadLetterSourceQueuesInput) *awswire.Text { return &v.QueueURL }),
	awswire.Integer("MaxResults", func(v *listDeadLetterSourceQueuesInput) *awswire.Int { return &v.MaxResults }),
	awswire.String("NextToken", func(v *listDeadLetterSourceQueuesInput) *string { return &v.NextToken }),
)

type listDeadLetterSourceQueuesOutput struct {
	QueueURLs []string
	NextToken string
}

var listDeadLetterSourceQueuesOutputSchema = awswire.Structure(
	// Lower case in the model, and required there, so never left out.
	awswire.StringsAlways("queueUrls", "QueueUrl", func(v *listDeadLetterSourceQueuesOutput) *[]string { return &v.QueueURLs }),
	awswire.String("NextToken", func(v *listDeadLetterSourceQueuesOutput) *string { return &v.NextToken }),
)

// listDeadLetterSourceQueues lists the queues that send their dead letters here.
func (s *Service) listDeadLetterSourceQueues(ctx context.Context, c *call, in *listDeadLetterSourceQueuesInput) (*listDeadLetterSourceQueuesOutput, error) {
	name, err := c.queueName(in.QueueURL)
	if err != nil {
		return nil, err
	}
	p, refusal := readPage(in.MaxResults, in.NextToken)
	if refusal != nil {
		return nil, s.refuse(ctx, c, name, refusal)
	}
	var names []string
	err = s.read(ctx, c, func(v queue.View) error {
		var refusal *queue.Error
		if names, refusal = v.DeadLetterSources(name, p.after, p.limit+1); refusal != nil {
			return refusal
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &listDeadLetterSourceQueuesOutput{}
	out.QueueURLs, out.NextToken = s.cut(c, p, names)
	return out, nil
}
