package message

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/refusal/refusaltest"
)

func TestReserved(t *testing.T) {
	user := MessageAttribute{"user", "String", "x"}
	scheduled := func(dataType, value string) MessageAttribute {
		return MessageAttribute{"seriatim.ScheduledEnqueueTime", dataType, value}
	}
	key := func(value string) MessageAttribute {
		return MessageAttribute{"seriatim.PartitionKey", "String", value}
	}
	badTime := func(v string) string {
		return "Value " + v + " for parameter seriatim.ScheduledEnqueueTime is invalid. Reason: " +
			"Must be a Number of milliseconds since 1970 or a String with a time as in RFC 3339."
	}
	badKey := func(v string) string {
		return "Value " + v + " for parameter seriatim.PartitionKey is invalid. Reason: " +
			"seriatim.PartitionKey can only include alphanumeric and punctuation characters. 1 to 128 in length."
	}
	isReserved := func(name string) string {
		return "Message (user) attribute name '" + name +
			"' is invalid. Reason: names beginning with 'seriatim.' are reserved."
	}
	cases := []struct {
		name  string
		attrs []MessageAttribute
		at    logtime.Timestamp
		key   string
		rest  []MessageAttribute
		text  string
	}{
		{name: "none"},
		{name: "only of the user", attrs: []MessageAttribute{user}, rest: []MessageAttribute{user}},
		{name: "number", attrs: []MessageAttribute{scheduled("Number", "1763711100123"), user}, at: 1763711100123,
			rest: []MessageAttribute{user}},
		{name: "text", attrs: []MessageAttribute{user, scheduled("String", "2025-11-21T07:45:00.5Z")}, at: 1763711100500,
			rest: []MessageAttribute{user}},
		{name: "custom type", attrs: []MessageAttribute{scheduled("Number.long", "5")}, at: 5},
		{name: "both", attrs: []MessageAttribute{key("p"), scheduled("Number", "7")}, at: 7, key: "p"},
		{name: "key between", attrs: []MessageAttribute{user, key("p"), user}, key: "p", rest: []MessageAttribute{user, user}},
		{name: "last millisecond", attrs: []MessageAttribute{scheduled("Number", "253402300799999")}, at: 253402300799999},
		{name: "number too large", attrs: []MessageAttribute{scheduled("Number", "253402300800000")}, text: badTime("253402300800000")},
		{name: "negative", attrs: []MessageAttribute{scheduled("Number", "-1")}, text: badTime("-1")},
		{name: "before 1970", attrs: []MessageAttribute{scheduled("String", "1969-12-31T23:59:59Z")},
			text: badTime("1969-12-31T23:59:59Z")},
		{name: "number as text", attrs: []MessageAttribute{scheduled("String", "5")}, text: badTime("5")},
		{name: "binary", attrs: []MessageAttribute{scheduled("Binary", "5")}, text: badTime("5")},
		{name: "twice", attrs: []MessageAttribute{key("a"), key("b")}, text: isReserved("seriatim.PartitionKey")},
		{name: "unknown name", attrs: []MessageAttribute{{"seriatim.Other", "String", "x"}}, text: isReserved("seriatim.Other")},
		{name: "key with a blank", attrs: []MessageAttribute{key("a b")}, text: badKey("a b")},
		{name: "key empty", attrs: []MessageAttribute{key("")}, text: badKey("")},
		{name: "key of 128", attrs: []MessageAttribute{key(strings.Repeat("k", 128))}, key: strings.Repeat("k", 128)},
		{name: "key of 129", attrs: []MessageAttribute{key(strings.Repeat("k", 129))}, text: badKey(strings.Repeat("k", 129))},
		{name: "key not a string", attrs: []MessageAttribute{{"seriatim.PartitionKey", "Number", "1"}}, text: badKey("1")},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sent := append([]MessageAttribute(nil), c.attrs...)
			at, key, rest, err := SplitReserved(c.attrs)
			refusaltest.Want(t, err, refusal.InvalidParameterValue, c.text)
			if at != c.at || key != c.key {
				t.Errorf("scheduled at %d with key %q, want %d, %q", at, key, c.at, c.key)
			}
			if diff := cmp.Diff(c.rest, rest); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(sent, c.attrs); diff != "" {
				t.Errorf("the request was changed: %s", diff)
			}
		})
	}
}
