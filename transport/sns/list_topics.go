package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type listTopicsInput struct{ NextToken string }

var listTopicsInputSchema = awswire.Structure(
	awswire.String("NextToken", func(v *listTopicsInput) *string { return &v.NextToken }),
)

type listedTopic struct{ TopicARN string }

type listTopicsOutput struct {
	Topics    []listedTopic
	NextToken string
}

var listTopicsOutputSchema = awswire.Structure(
	awswire.Within("Topics", awswire.Structures("Topics", "member", awswire.Structure(
		awswire.String("TopicArn", func(v *listedTopic) *string { return &v.TopicARN }),
	), func(v *listTopicsOutput) *[]listedTopic { return &v.Topics })),
	awswire.String("NextToken", func(v *listTopicsOutput) *string { return &v.NextToken }),
)

// listTopics lists the topics of the caller's account by name.
func listTopics(ctx context.Context, c *aws.Call, in *listTopicsInput) (*listTopicsOutput, error) {
	after, err := readToken(in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &listTopicsOutput{}
	err = c.Read(ctx, func(v queue.View) error {
		names := v.TopicsOf(c.Scope.Caller(), after, pageMax+1)
		if len(names) > pageMax {
			names = names[:pageMax]
			out.NextToken = service.PageToken(names[pageMax-1])
		}
		for _, name := range names {
			topicARN, refused := v.TopicARN(name)
			if refused != nil {
				return refused
			}
			out.Topics = append(out.Topics, listedTopic{topicARN})
		}
		return nil
	})
	return out, err
}
