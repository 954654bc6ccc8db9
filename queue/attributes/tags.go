package attributes

import (
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Tag is one tag of a queue or a topic.
type Tag struct{ Key, Value string }

// CheckTags checks the tags of one request for a queue.
func CheckTags(queue string, tags []Tag) *refusal.Error {
	if len(tags) > limits.TagsMax {
		return TooManyTags(queue)
	}
	for _, t := range tags {
		if err := checkTag(t); err != nil {
			return err
		}
	}
	return nil
}

func checkTag(t Tag) *refusal.Error {
	if err := CheckTagKey(t.Key); err != nil {
		return err
	}
	if !utf8.ValidString(t.Value) || utf8.RuneCountInString(t.Value) > limits.TagValueLengthMax {
		return refusal.InvalidParameter("Tag values must be between 0 and 256 characters in length.")
	}
	return nil
}

// CheckTagKey checks the key of a tag.
func CheckTagKey(key string) *refusal.Error {
	if key == "" || !utf8.ValidString(key) || utf8.RuneCountInString(key) > limits.TagKeyLengthMax {
		return refusal.InvalidParameter("Tag keys must be between 1 and 128 characters in length.")
	}
	return nil
}

// TooManyTags returns the error for more than the 50 tags of a queue.
func TooManyTags(queue string) *refusal.Error {
	return refusal.InvalidParameter("Too many tags added for queue ", queue, ".")
}
