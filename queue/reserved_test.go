package queue

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue/refusal"
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
		return "Message (user) attribute name '" + name + "' is invalid. Reason: names beginning with 'seriatim.' are reserved on this queue."
	}
	cases := []struct {
		name  string
		attrs []MessageAttribute
		at    Timestamp
		key   string
		rest  []MessageAttribute
		text  string
	}{
		{name: "none"},
		{name: "only of the user", attrs: []MessageAttribute{user}, rest: []MessageAttribute{user}},
		{name: "number", attrs: []MessageAttribute{scheduled("Number", "1763711100123"), user}, at: 1763711100123, rest: []MessageAttribute{user}},
		{name: "text", attrs: []MessageAttribute{user, scheduled("String", "2025-11-21T07:45:00.5Z")}, at: 1763711100500, rest: []MessageAttribute{user}},
		{name: "custom type", attrs: []MessageAttribute{scheduled("Number.long", "5")}, at: 5, rest: []MessageAttribute{}},
		{name: "both", attrs: []MessageAttribute{key("p"), scheduled("Number", "7")}, at: 7, key: "p", rest: []MessageAttribute{}},
		{name: "key between", attrs: []MessageAttribute{user, key("p"), user}, key: "p", rest: []MessageAttribute{user, user}},
		{name: "last millisecond", attrs: []MessageAttribute{scheduled("Number", "253402300799999")}, at: 253402300799999, rest: []MessageAttribute{}},
		{name: "number too large", attrs: []MessageAttribute{scheduled("Number", "253402300800000")}, text: badTime("253402300800000")},
		{name: "negative", attrs: []MessageAttribute{scheduled("Number", "-1")}, text: badTime("-1")},
		{name: "before 1970", attrs: []MessageAttribute{scheduled("String", "1969-12-31T23:59:59Z")}, text: badTime("1969-12-31T23:59:59Z")},
		{name: "number as text", attrs: []MessageAttribute{scheduled("String", "5")}, text: badTime("5")},
		{name: "binary", attrs: []MessageAttribute{scheduled("Binary", "5")}, text: badTime("5")},
		{name: "twice", attrs: []MessageAttribute{key("a"), key("b")}, text: isReserved("seriatim.PartitionKey")},
		{name: "unknown name", attrs: []MessageAttribute{{"seriatim.Other", "String", "x"}}, text: isReserved("seriatim.Other")},
		{name: "key with a blank", attrs: []MessageAttribute{key("a b")}, text: badKey("a b")},
		{name: "key empty", attrs: []MessageAttribute{key("")}, text: badKey("")},
		{name: "key of 128", attrs: []MessageAttribute{key(strings.Repeat("k", 128))}, key: strings.Repeat("k", 128), rest: []MessageAttribute{}},
		{name: "key of 129", attrs: []MessageAttribute{key(strings.Repeat("k", 129))}, text: badKey(strings.Repeat("k", 129))},
		{name: "key not a string", attrs: []MessageAttribute{{"seriatim.PartitionKey", "Number", "1"}}, text: badKey("1")},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sent := append([]MessageAttribute(nil), c.attrs...)
			at, key, rest, err := reserved(c.attrs)
			wantError(t, err, refusal.InvalidParameterValue, c.text)
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

func TestParseRFC3339(t *testing.T) {
	good := map[string]string{
		"epoch":                  "1970-01-01T00:00:00Z",
		"before the epoch":       "1969-12-31T23:59:59.999Z",
		"leap day":               "2024-02-29T12:34:56Z",
		"leap day of a 400th":    "2000-02-29T00:00:00Z",
		"fraction":               "2026-11-21T07:25:00.1Z",
		"fraction cut off":       "2026-11-21T07:25:00.123999999Z",
		"offset":                 "2026-11-21T07:25:00+05:30",
		"negative offset":        "2026-11-21T07:25:00.25-11:59",
		"first year":             "0000-01-01T00:00:00Z",
		"end of February, year0": "0000-02-29T00:00:00Z",
		"last year":              "9999-12-31T23:59:59.999Z",
	}
	for name, text := range good {
		t.Run(name, func(t *testing.T) {
			want, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := parseRFC3339(text); !ok || got != Timestamp(want.UnixMilli()) {
				t.Errorf("%d, %t, want %d", got, ok, want.UnixMilli())
			}
		})
	}
	if lower, ok := parseRFC3339("2026-11-21t07:25:00z"); !ok || lower != Timestamp(time.Date(2026, 11, 21, 7, 25, 0, 0, time.UTC).UnixMilli()) {
		t.Errorf("lower-case letters: %d, %t", lower, ok)
	}
	bad := []string{
		"", "2026-11-21", "2026-11-21T07:25:00", "2026-11-21 07:25:00Z", "2026-02-29T00:00:00Z",
		"1900-02-29T00:00:00Z", "2026-00-01T00:00:00Z", "2026-13-01T00:00:00Z", "2026-04-31T00:00:00Z",
		"2026-11-00T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T07:60:00Z", "2026-11-21T23:59:60Z",
		"2026-11-21T07:25:00.Z", "2026-11-21T07:25:00,5Z", "2026-11-21T07:25:00.5", "2026-11-21T07:25:00+0530",
		"2026-11-21T07:25:00+24:00", "2026-11-21T07:25:00+05:60", "2026-11-21T07:25:00ZZ", "12026-11-21T07:25:00Z",
		"2026-11-21T7:25:00Z", " 2026-11-21T07:25:00Z", "2026-11-21T07:25:00Z ",
	}
	for _, text := range bad {
		if at, ok := parseRFC3339(text); ok {
			t.Errorf("%q is read as %d", text, at)
		}
	}
}

func TestDaysFromCivilOverAllDays(t *testing.T) {
	day := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	want := day.Unix() / 86_400
	for day.Year() < 10_000 {
		y, m, d := day.Date()
		if got := daysFromCivil(int64(y), int64(m), int64(d)); got != want {
			t.Fatalf("%s is day %d, want %d", day.Format(time.DateOnly), got, want)
		}
		day, want = day.AddDate(0, 0, 1), want+1
	}
}

func FuzzParseRFC3339(f *testing.F) {
	f.Add("2026-11-21T07:25:00.125+01:00")
	f.Add("0000-01-01t00:00:00z")
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := parseRFC3339(text)
		want, err := time.Parse(time.RFC3339, strings.ToUpper(text))
		if ok && (err != nil || got != Timestamp(want.UnixMilli())) {
			t.Errorf("%q: %d, want %d, %v", text, got, want.UnixMilli(), err)
		}
		// What the time package writes must be read.
		if err == nil && want.Year() >= 0 && want.Year() < 10_000 {
			text := want.UTC().Format(time.RFC3339Nano)
			if year := want.UTC().Year(); year < 0 || year > 9999 {
				return
			}
			if got, ok := parseRFC3339(text); !ok || got != Timestamp(want.UnixMilli()) {
				t.Errorf("%q: %d, %t, want %d", text, got, ok, want.UnixMilli())
			}
		}
	})
}
