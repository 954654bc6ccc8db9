package attributes

import (
	"slices"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// CheckTopicTags checks the tags of one request for a topic. It checks their number first, which
// bounds the keys to compare.
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

// MatchTopicTags refuses CreateTopic on an existing topic that lacks a requested tag. It does not
// compare other tags.
func MatchTopicTags(existing, given []Tag) *refusal.Error {
	for _, t := range given {
		if !slices.Contains(existing, t) {
			return refusal.SNSInvalid("Tags Reason: Topic already exists with different tags")
		}
	}
	return nil
}

// TooManyTopicTags returns the error for more than the 50 tags of a topic.
func TooManyTopicTags() *refusal.Error {
	return refusal.New(refusal.TagLimitExceeded, "Could not complete request: tag quota of per resource exceeded")
}
