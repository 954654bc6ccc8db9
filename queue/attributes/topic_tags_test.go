package attributes

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/refusal/refusaltest"
)

func TestTopicTags(t *testing.T) {
	many := make([]Tag, 51)
	for i := range many {
		many[i].Key = strings.Repeat("k", i+1)
	}
	refusaltest.Want(t, CheckTopicTags(many[:50]), 0, "")
	refusaltest.Want(t, CheckTopicTags(many), refusal.TagLimitExceeded, "Could not complete request: tag quota of per resource exceeded")
	refusaltest.Want(t, TooManyTopicTags(), refusal.TagLimitExceeded, "Could not complete request: tag quota of per resource exceeded")
	for text, tags := range map[string][]Tag{
		"Duplicated keys are not allowed.":                           {{"a", "1"}, {"b", "1"}, {"a", "1"}},
		"Tag keys must be between 1 and 128 characters in length.":   {{"", "1"}},
		"Tag values must be between 0 and 256 characters in length.": {{"a", strings.Repeat("x", 257)}},
	} {
		refusaltest.Want(t, CheckTopicTags(tags), refusal.SNSInvalidParameter, "Invalid parameter: "+text)
	}
	existing := []Tag{{"a", "1"}, {"b", "2"}}
	for _, same := range [][]Tag{nil, existing, existing[1:]} {
		refusaltest.Want(t, MatchTopicTags(existing, same), 0, "")
	}
	for _, other := range [][]Tag{{{"a", "2"}}, {{"a", "1"}, {"c", "1"}}} {
		refusaltest.Want(t, MatchTopicTags(existing, other), refusal.SNSInvalidParameter,
			"Invalid parameter: Tags Reason: Topic already exists with different tags")
	}
}

// TestDefaultTopicTexts checks that the default policies, which are not stored, are valid policies.
func TestDefaultTopicTexts(t *testing.T) {
	access := policy.DefaultTopicAccess("arn:aws:sns:us-east-1:000000000000:t.fifo", "000000000000")
	for _, part := range []string{
		`"Id":"__default_policy_ID"`, `"Sid":"__default_statement_ID"`, `"Resource":"arn:aws:sns:us-east-1:000000000000:t.fifo"`,
		`"AWS:SourceOwner":"000000000000"`,
	} {
		if !strings.Contains(access, part) {
			t.Errorf("%s is not in %s", part, access)
		}
	}
	if delivery := policy.EffectiveTopicDeliveryText(""); !policy.IsAccess(access) || policy.ParseTopicDelivery(delivery) != "" {
		t.Errorf("no policies: %s, %s", access, delivery)
	}
}
