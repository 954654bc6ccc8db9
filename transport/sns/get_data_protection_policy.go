package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type getDataProtectionPolicyOutput struct{ DataProtectionPolicy awswire.Text }

var getDataProtectionPolicyOutputSchema = awswire.Structure(
	awswire.OptionalString("DataProtectionPolicy", func(v *getDataProtectionPolicyOutput) *awswire.Text { return &v.DataProtectionPolicy }),
)

// getDataProtectionPolicy returns what was stored, empty if nothing was.
func getDataProtectionPolicy(ctx context.Context, c *aws.Call, _ *resourceOnlyInput) (*getDataProtectionPolicyOutput, error) {
	out := &getDataProtectionPolicyOutput{}
	err := c.Read(ctx, func(v queue.View) error {
		attributes, refused := v.TypedTopic(c.Resource.Topic)
		if refused != nil {
			return refused
		}
		out.DataProtectionPolicy = awswire.TextOf(attributes.DataProtection)
		return nil
	})
	return out, err
}
