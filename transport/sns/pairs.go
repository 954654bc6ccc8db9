package sns

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

// attributesMember returns the member Attributes of an input or an output.
func attributesMember[T any](at func(*T) *[]awswire.Pair) awswire.Member[T] {
	return awswire.Within("Attributes", awswire.StringMap("Attributes", "entry", "key", "value", at))
}

func attributePairs(listed []queue.Attribute) []awswire.Pair {
	out := make([]awswire.Pair, len(listed))
	for i, a := range listed {
		out[i] = awswire.Pair{Key: a.Name, Value: a.Value}
	}
	return out
}

// tag is one tag on the wire.
type tag struct{ Key, Value awswire.Text }

// tagsMember returns the member Tags of an input or an output.
func tagsMember[T any](at func(*T) *[]tag) awswire.Member[T] {
	return awswire.Within("Tags", awswire.Structures("Tags", "member", awswire.Structure(
		awswire.OptionalString("Key", func(v *tag) *awswire.Text { return &v.Key }),
		awswire.OptionalString("Value", func(v *tag) *awswire.Text { return &v.Value }),
	), at))
}

// domainTags converts tags of a request, sorted by key. It keeps repeated keys, which package queue
// refuses (recorded at SNS).
func domainTags(given []tag) ([]queue.Tag, error) {
	out := make([]queue.Tag, len(given))
	for i, t := range given {
		path := "tags." + strconv.Itoa(i+1) + ".member."
		switch {
		case !t.Key.Given:
			return nil, absent(path + "key")
		case !t.Value.Given:
			return nil, absent(path + "value")
		}
		out[i] = queue.Tag{Key: t.Key.Value, Value: t.Value.Value}
	}
	if reason := service.BadTag(out); reason != "" {
		return nil, refusal.SNSInvalid(reason)
	}
	slices.SortStableFunc(out, func(a, b queue.Tag) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// single is the attribute in a request of SetTopicAttributes or SetSubscriptionAttributes. An absent
// value is empty.
type single struct{ Name, Value string }

func singleMembers[T any](at func(*T) *single) []awswire.Member[T] {
	return []awswire.Member[T]{
		awswire.String("AttributeName", func(v *T) *string { return &at(v).Name }),
		awswire.String("AttributeValue", func(v *T) *string { return &at(v).Value }),
	}
}

func (s *single) domain() ([]queue.Attribute, error) {
	if s.Name == "" {
		return nil, missing("AttributeName")
	}
	return aws.Attributes([]awswire.Pair{{Key: s.Name, Value: s.Value}}), nil
}
