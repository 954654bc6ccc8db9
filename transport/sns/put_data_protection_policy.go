package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type putDataProtectionPolicyInput struct {
	onResource
	DataProtectionPolicy awswire.Text
}

var putDataProtectionPolicyInputSchema = awswire.Structure(
	resourceMember(func(v *putDataProtectionPolicyInput) *onResource { return &v.onResource }),
	awswire.OptionalString("DataProtectionPolicy", func(v *putDataProtectionPolicyInput) *awswire.Text { return &v.DataProtectionPolicy }),
)

// putDataProtectionPolicy stores a policy without any effect. Package queue keeps it as an attribute
// that SNS does not list.
func putDataProtectionPolicy(ctx context.Context, c *aws.Call, in *putDataProtectionPolicyInput) (*aws.Nothing, error) {
	if !in.DataProtectionPolicy.Given {
		return nil, missing("DataProtectionPolicy")
	}
	_, err := c.Submit(ctx, &queue.SetTopicAttributes{
		Topic: c.Resource.Topic, Attributes: []queue.Attribute{{Name: attributes.NameDataProtection, Value: in.DataProtectionPolicy.Value}},
	})
	return &aws.Nothing{}, err
}

// noDataProtection refuses the policy among the attributes of a request, as SNS does. The text of the
// error begins with begin.
func noDataProtection(given []queue.Attribute, begin string) error {
	for _, a := range given {
		if a.Name == attributes.NameDataProtection {
			return refusal.SNSInvalid(begin, "AttributeName")
		}
	}
	return nil
}
