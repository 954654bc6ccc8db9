package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type listDeadLetterSourceQueuesInput struct {
	onQueue
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
	// The model has it in lower case, and requires it.
	awswire.StringsAlways("queueUrls", "QueueUrl", func(v *listDeadLetterSourceQueuesOutput) *[]string { return &v.QueueURLs }),
	awswire.String("NextToken", func(v *listDeadLetterSourceQueuesOutput) *string { return &v.NextToken }),
)

// listDeadLetterSourceQueues lists the queues whose dead-letter queue this is.
func (s *Service) listDeadLetterSourceQueues(ctx context.Context, c *aws.Call,
	in *listDeadLetterSourceQueuesInput) (*listDeadLetterSourceQueuesOutput, error) {
	p, refusal := aws.ReadPage(in.MaxResults, in.NextToken)
	if refusal != nil {
		return nil, refuse(ctx, c, refusal)
	}
	names, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]string, *queue.Error) {
		return v.DeadLetterSources(c.Resource.Name, p.After, p.Limit())
	})
	if err != nil {
		return nil, err
	}
	out := &listDeadLetterSourceQueuesOutput{}
	out.QueueURLs, out.NextToken = c.QueueURLs(p, names)
	return out, nil
}
