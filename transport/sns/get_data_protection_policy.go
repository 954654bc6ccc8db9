package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type getDataProtectionPolicyOutput struct{ DataProtectionPolicy awswire.Text }

var getDataProtectionPolicyOutputSchema = awswire.Structure(
	awswire.OptionalString("DataProtectionPolicy", func(v *getDataProtectionPolicyOutput) *awswire.Text { return &v.DataProtectionPolicy }),
)

// getDataProtectionPolicy returns the stored policy, empty if there is none.
func getDataProtectionPolicy(ctx context.Context, c *aws.Call, _ *resourceOnlyInput) (*getDataProtectionPolicyOutput, error) {
	text, err := service.ReadValue(ctx, &c.Call, func(v queue.View) (string, *queue.Error) {
		attributes, refused := v.TypedTopic(c.Resource.Topic)
		return attributes.DataProtection, refused
	})
	return &getDataProtectionPolicyOutput{awswire.TextOf(text)}, err
}
