package sqs

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

// attributeValue is one message attribute on the wire.
type attributeValue struct {
	Name        string
	DataType    string
	StringValue string
	BinaryValue string // raw bytes
	StringList  []string
	BinaryList  []string
}

var attributeValueSchema = awswire.Structure(
	awswire.String("StringValue", func(v *attributeValue) *string { return &v.StringValue }),
	awswire.Blob("BinaryValue", func(v *attributeValue) *string { return &v.BinaryValue }),
	awswire.String("DataType", func(v *attributeValue) *string { return &v.DataType }),
	awswire.Strings("StringListValues", "StringListValue", func(v *attributeValue) *[]string { return &v.StringList }),
	awswire.Strings("BinaryListValues", "BinaryListValue", func(v *attributeValue) *[]string { return &v.BinaryList }),
)

func attributeName(v *attributeValue) *string { return &v.Name }

// domainAttributes converts attributes of a request, sorted by name. If a name is sent twice, the
// last value counts, as in a JSON object.
func domainAttributes(values []attributeValue) ([]queue.MessageAttribute, *queue.Error) {
	if len(values) == 0 {
		return nil, nil
	}
	out := make([]queue.MessageAttribute, 0, len(values))
	for i := range values {
		v := &values[i]
		if len(v.StringList) > 0 || len(v.BinaryList) > 0 {
			return nil, refusal.InvalidParameter("Message attribute list values in SendMessage operation are not supported.")
		}
		a := queue.MessageAttribute{Name: v.Name, DataType: v.DataType, Value: v.StringValue}
		if isBinary(v.DataType) {
			a.Value = v.BinaryValue
		}
		out = append(out, a)
	}
	sortAttributes(out)
	return aws.LastOfEach(out, func(a, b queue.MessageAttribute) bool { return a.Name == b.Name }), nil
}

// wireAttributes is the reverse of domainAttributes.
func wireAttributes(attributes []queue.MessageAttribute) []attributeValue {
	out := make([]attributeValue, len(attributes))
	for i, a := range attributes {
		out[i] = attributeValue{Name: a.Name, DataType: a.DataType}
		if isBinary(a.DataType) {
			out[i].BinaryValue = a.Value
		} else {
			out[i].StringValue = a.Value
		}
	}
	return out
}

func queueTags(pairs []awswire.Pair) ([]queue.Tag, error) {
	out := make([]queue.Tag, len(pairs))
	for i, p := range pairs {
		out[i] = queue.Tag{Key: p.Key, Value: p.Value}
	}
	slices.SortStableFunc(out, func(a, b queue.Tag) int { return strings.Compare(a.Key, b.Key) })
	out = aws.LastOfEach(out, func(a, b queue.Tag) bool { return a.Key == b.Key })
	if reason := service.BadTag(out); reason != "" {
		return nil, refusal.InvalidParameter(reason)
	}
	return out, nil
}
