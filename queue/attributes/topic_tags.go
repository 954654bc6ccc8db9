package attributes

import (
	"slices"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// CheckTopicTags checks the tags of one request for a topic. How many may be given
// comes first, so that the keys to compare are few.
func CheckTopicTags(tags []Tag) *refusal.Error {
	if len(tags) > limits.TagsMax {
		return TooManyTopicTags()
	}
	for i, t := range tags {
		if err := checkTag(t); err != nil {
			// SNS has no recorded text for these; they are those of queues.
			return refusal.SNSInvalid(err.Message)
		}
		if slices.ContainsFunc(tags[:i], func(u Tag) bool { return u.Key == t.Key }) {
			return refusal.SNSInvalid("Duplicated keys are not allowed.")
		}
	}
	return nil
}

// MatchTopicTags refuses CreateTopic on an existing topic if a tag that is given
// is not there; others are not compared.
func MatchTopicTags(existing, given []Tag) *refusal.Error {
	for _, t := range given {
		if !slices.Contains(existing, t) {
			return refusal.SNSInvalid("Tags Reason: Topic already exists with different tags")
		}
	}
	return nil
}

// TooManyTopicTags refuses tags beyond the 50 of a topic.
func TooManyTopicTags() *refusal.Error {
	return refusal.New(refusal.TagLimitExceeded, "Could not complete request: tag quota of per resource exceeded")
}
