package sqs

import (
	"context"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/refusal"
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

// getQueueAttributes lists the attributes asked for that have a value.
func (s *Service) getQueueAttributes(ctx context.Context, c *aws.Call, in *getQueueAttributesInput) (*getQueueAttributesOutput, error) {
	listed, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]queue.Attribute, *queue.Error) {
		return v.Attributes(c.Resource.Name)
	})
	if err != nil {
		return nil, err
	}
	for _, n := range in.Names {
		if n != attributeAll && !attributes.Known(n) {
			return nil, refusal.UnknownAttribute(n)
		}
	}
	all := slices.Contains(in.Names, attributeAll)
	attributes.ClaimEncryption(listed, s.Node.EncryptsAtRest())
	listed = append(listed, queue.Attribute{Name: "QueueArn", Value: c.ResourceARN()})
	slices.SortFunc(listed, func(a, b queue.Attribute) int { return strings.Compare(a.Name, b.Name) })
	out := &getQueueAttributesOutput{}
	for _, a := range listed {
		if all || slices.Contains(in.Names, a.Name) {
			out.Attributes = append(out.Attributes, awswire.Pair{Key: a.Name, Value: a.Value})
		}
	}
	return out, nil
}
