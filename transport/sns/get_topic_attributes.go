package sns

import (
	"context"

	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/service"
)

// getTopicAttributes lists all attributes of a topic that have a value, with the defaults
// that SNS shows.
func getTopicAttributes(ctx context.Context, c *aws.Call, _ *topicOnlyInput) (*attributesOutput, error) {
	listed, err := service.TopicAttributes(ctx, &c.Call)
	return &attributesOutput{attributePairs(listed)}, err
}
