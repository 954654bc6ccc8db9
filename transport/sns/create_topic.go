package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type createTopicInput struct {
	Name                 awswire.Text
	Attributes           []awswire.Pair
	Tags                 []tag
	DataProtectionPolicy awswire.Text
}

var createTopicInputSchema = awswire.Structure(
	awswire.OptionalString("Name", func(v *createTopicInput) *awswire.Text { return &v.Name }),
	attributesMember(func(v *createTopicInput) *[]awswire.Pair { return &v.Attributes }),
	tagsMember(func(v *createTopicInput) *[]tag { return &v.Tags }),
	awswire.OptionalString("DataProtectionPolicy", func(v *createTopicInput) *awswire.Text { return &v.DataProtectionPolicy }),
)

type createTopicOutput struct{ TopicARN string }

var createTopicOutputSchema = awswire.Structure(
	awswire.String("TopicArn", func(v *createTopicOutput) *string { return &v.TopicARN }),
)

// byNewName finds the topic of CreateTopic. An empty name is invalid, not missing (recorded at SNS).
func byNewName(c *aws.Call, input any) (service.Resource, error) {
	name := input.(*createTopicInput).Name
	if !name.Given {
		return service.Resource{}, missing("Name")
	}
	return service.Resource{Topic: c.Scope.Own(cutTopic(name.Value))}, nil
}

// createTopic creates a topic, or confirms an equal one.
func createTopic(ctx context.Context, c *aws.Call, in *createTopicInput) (*createTopicOutput, error) {
	if err := attributes.CheckSNSTopicName(in.Name.Value); err != nil {
		return nil, err
	}
	tags, err := domainTags(in.Tags)
	if err != nil {
		return nil, err
	}
	given := aws.Attributes(in.Attributes)
	if err := noDataProtection(given, "Attributes Reason: "); err != nil {
		return nil, err
	}
	if in.DataProtectionPolicy.Given {
		given = aws.Attributes(append(in.Attributes, awswire.Pair{Key: attributes.NameDataProtection,
			Value: in.DataProtectionPolicy.Value}))
	}
	cmd := &queue.CreateTopic{
		Topic: c.Resource.Topic, TopicARN: c.Names().TopicARN(c.Resource.Topic), Attributes: given, Tags: tags,
	}
	done, err := service.Submit[queue.TopicCreated](ctx, &c.Call, cmd)
	return &createTopicOutput{done.TopicARN}, err
}
