package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type setTopicAttributesInput struct {
	onTopic
	single
}

var setTopicAttributesInputSchema = awswire.Structure(append([]awswire.Member[setTopicAttributesInput]{
	topicMember(func(v *setTopicAttributesInput) *onTopic { return &v.onTopic }),
}, singleMembers(func(v *setTopicAttributesInput) *single { return &v.single })...)...)

// setTopicAttributes changes one attribute of a topic.
func setTopicAttributes(ctx context.Context, c *aws.Call, in *setTopicAttributesInput) (*aws.Nothing, error) {
	attributes, err := in.domain()
	if err != nil {
		return nil, err
	}
	if err := noDataProtection(attributes, ""); err != nil {
		return nil, err
	}
	for i := range attributes {
		// Terraform deletes the policy like this.
		if a := &attributes[i]; a.Name == "ArchivePolicy" && a.Value == "" {
			a.Value = "{}"
		}
	}
	_, err = c.Submit(ctx, &queue.SetTopicAttributes{Topic: c.Resource.Topic, Attributes: attributes})
	return &aws.Nothing{}, err
}
