package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type listQueuesInput struct {
	Prefix     string
	MaxResults awswire.Int
	NextToken  string
}

var listQueuesInputSchema = awswire.Structure(
	awswire.String("QueueNamePrefix", func(v *listQueuesInput) *string { return &v.Prefix }),
	awswire.Integer("MaxResults", func(v *listQueuesInput) *awswire.Int { return &v.MaxResults }),
	awswire.String("NextToken", func(v *listQueuesInput) *string { return &v.NextToken }),
)

type listQueuesOutput struct {
	QueueURLs []string
	NextToken string
}

var listQueuesOutputSchema = awswire.Structure(
	awswire.Strings("QueueUrls", "QueueUrl", func(v *listQueuesOutput) *[]string { return &v.QueueURLs }),
	awswire.String("NextToken", func(v *listQueuesOutput) *string { return &v.NextToken }),
)

// listQueues lists the queues of the caller's account by name.
func (s *Service) listQueues(ctx context.Context, c *aws.Call, in *listQueuesInput) (*listQueuesOutput, error) {
	p, refusal := aws.ReadPage(in.MaxResults, in.NextToken)
	if refusal != nil {
		return nil, refusal
	}
	names, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]string, *queue.Error) {
		return v.QueuesOf(c.Scope.Caller(), in.Prefix, p.After, p.Limit()), nil
	})
	if err != nil {
		return nil, err
	}
	out := &listQueuesOutput{}
	out.QueueURLs, out.NextToken = c.QueueURLs(p, names)
	return out, nil
}
