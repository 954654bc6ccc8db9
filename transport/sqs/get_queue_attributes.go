package sqs

import (
	"context"
	"slices"

	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type getQueueAttributesInput struct {
	onQueue
	Names []string
}

var getQueueAttributesInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *getQueueAttributesInput) *awswire.Text { return &v.QueueURL }),
	awswire.Strings("AttributeNames", "AttributeName", func(v *getQueueAttributesInput) *[]string { return &v.Names }),
)

type getQueueAttributesOutput struct{ Attributes []awswire.Pair }

var getQueueAttributesOutputSchema = awswire.Structure(
	awswire.StringMap("Attributes", "Attribute", "Name", "Value",
		func(v *getQueueAttributesOutput) *[]awswire.Pair { return &v.Attributes }),
)

const attributeAll = "All"

// getQueueAttributes lists the requested attributes that have a value.
func (s *Service) getQueueAttributes(ctx context.Context, c *aws.Call, in *getQueueAttributesInput) (*getQueueAttributesOutput, error) {
	all := slices.Contains(in.Names, attributeAll)
	names := slices.DeleteFunc(slices.Clone(in.Names), func(name string) bool { return name == attributeAll })
	listed, err := service.QueueAttributes(ctx, &c.Call, s.Node.EncryptsAtRest(), names, all)
	out := &getQueueAttributesOutput{}
	for _, a := range listed {
		out.Attributes = append(out.Attributes, awswire.Pair{Key: a.Name, Value: a.Value})
	}
	return out, err
}
