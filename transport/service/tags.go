package service

import (
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
)

// BadTag returns the reason to refuse one of the tags, empty if all are good. AWS reserves keys that
// begin with aws: in any letter case. The texts are ours.
func BadTag(tags []queue.Tag) string {
	for _, t := range tags {
		switch {
		case len(t.Key) >= len("aws:") && strings.EqualFold(t.Key[:len("aws:")], "aws:"):
			return "Tag keys that begin with aws: are reserved."
		case message.BadCharacter(t.Key), message.BadCharacter(t.Value):
			return "Tag keys and values must not have control characters."
		}
	}
	return ""
}
