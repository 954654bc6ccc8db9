package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
)

// deleteTopic deletes a topic with its subscriptions. An unknown topic is no error.
func deleteTopic(ctx context.Context, c *aws.Call, _ *topicOnlyInput) (*aws.Nothing, error) {
	_, err := c.Submit(ctx, &queue.DeleteTopic{Topic: c.Resource.Topic})
	return &aws.Nothing{}, err
}
