package attributes

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/refusal/refusaltest"
)

var usual = Assignment{MinimumWindow: 20}

func topicDefaults(fifo bool) []Attribute {
	if !fifo {
		return []Attribute{{"DisplayName", ""}}
	}
	return []Attribute{
		{"ContentBasedDeduplication", "false"},
		{"DisplayName", ""},
		{"FifoThroughputScope", "Topic"},
		{"FifoTopic", "true"},
	}
}

// replaced puts attributes into a sorted list and removes those in gone.
func replaced(list []Attribute, changes ...Attribute) []Attribute {
	out := slices.Clone(list)
	for _, c := range changes {
		out = slices.DeleteFunc(out, func(a Attribute) bool { return a.Name == c.Name })
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func mustTopic(t *testing.T, fifo bool, given ...Attribute) Topic {
	t.Helper()
	a, err := CreateTopic(fifo, given, usual)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func checkRows[T any](t *testing.T, of *table[T]) {
	t.Helper()
	names := make([]string, len(of.rows))
	for i, r := range of.rows {
		names[i] = r.name
		if r.print == nil || (r.parse == nil) != r.readOnly {
			t.Errorf("%s: no print, or no parse although it can be set", r.name)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("rows are not sorted by name: %q", names)
	}
}

func TestTopicTablesAreComplete(t *testing.T) {
	checkRows(t, topicTable)
	checkRows(t, subscriptionTable)
}

func TestTopicDefaults(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		a := mustTopic(t, fifo)
		if diff := cmp.Diff(topicDefaults(fifo), a.List()); diff != "" {
			t.Error(diff)
		}
		if want := (deduplication.Rules{WindowSeconds: 300}); a.Deduplication != want {
			t.Errorf("rules %+v, want %+v", a.Deduplication, want)
		}
	}
}

func TestCheckTopicName(t *testing.T) {
	const bad = "Invalid parameter: Topic Name"
	fifo := func(value string) []Attribute { return []Attribute{{"DisplayName", "x"}, {"FifoTopic", value}} }
	cases := []struct {
		name  string
		topic string
		given []Attribute
		text  string
	}{
		{"standard", "a-B_9", nil, ""},
		{"standard, said", "t", fifo("false"), ""},
		{"FIFO", "t.fifo", fifo("true"), ""},
		{"FIFO in another case", "t.fifo", fifo("TRUE"), ""},
		{"longest", strings.Repeat("t", 256), nil, ""},
		{"longest FIFO", strings.Repeat("t", 795) + ".fifo", fifo("true"), ""},
		{"empty", "", nil, bad},
		{"too long", strings.Repeat("t", 257), nil, bad},
		{"too long FIFO", strings.Repeat("t", 796) + ".fifo", fifo("true"), bad},
		{"character", "a.b", nil, bad},
		{"letter that is not ASCII", "tä", nil, bad},
		{"suffix only", ".fifo", fifo("true"), bad},
		{"suffix in another case", "t.FIFO", fifo("true"), bad},
		{"suffix twice", "t.fifo.fifo", fifo("true"), bad},
		{"suffix without attribute", "t.fifo", nil, bad},
		{"suffix and false", "t.fifo", fifo("false"), bad},
		{"suffix and neither", "t.fifo", fifo("yes"), bad},
		{"attribute without suffix", "t", fifo("true"), bad},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			refused := CheckTopicName(c.topic, c.given)
			if refused == nil {
				refused = CheckNewTopicName(c.topic, c.given)
			}
			refusaltest.Want(t, refused, refusal.SNSInvalidParameter, c.text)
		})
	}
}

// A request for an existing topic need not repeat that it is a FIFO topic.
func TestCheckTopicNameOfAnExistingTopic(t *testing.T) {
	refusaltest.Want(t, CheckTopicName("t.fifo", nil), refusal.SNSInvalidParameter, "")
}

// valueCase is one value of an attribute. If text is set, the value is refused with it. Otherwise
// the attribute is listed as want, or as given if want is empty.
type valueCase struct{ name, value, want, text string }

func topicValues() []valueCase {
	const (
		window     = "Must be between 20 and 604800."
		badArchive = "ArchivePolicy: MessageRetentionPeriod value is invalid"
	)
	invalid := func(name, value, rule string) valueCase {
		return valueCase{name: name, value: value, text: name + ": Invalid value [" + value + "]. " + rule}
	}
	return []valueCase{
		{name: "ContentBasedDeduplication", value: "true"},
		{name: "ContentBasedDeduplication", value: "False", want: "false"},
		invalid("ContentBasedDeduplication", "yes", "Must be true or false."),
		{name: "FifoThroughputScope", value: "Topic"},
		{name: "FifoThroughputScope", value: "MessageGroup"},
		invalid("FifoThroughputScope", "messageGroup", "Please use either Topic or MessageGroup"),
		{name: "ContentDeduplicationMode", value: "IdOverrides"},
		invalid("ContentDeduplicationMode", "", "Please use either IdOverrides or IdAndContent"),
		invalid("ContentDeduplicationMode", "IdAndContent", "Requires ContentBasedDeduplication."),
		{name: "DeduplicationWindowSeconds", value: "20"},
		{name: "DeduplicationWindowSeconds", value: "604800"},
		invalid("DeduplicationWindowSeconds", "19", window),
		invalid("DeduplicationWindowSeconds", "604801", window),
		invalid("DeduplicationWindowSeconds", "", window),
		{name: "DisplayName", value: strings.Repeat("ä", 100)},
		invalid("DisplayName", strings.Repeat("ä", 101), "Must be at most 100 valid characters."),
		invalid("DisplayName", "\x01", "Must be at most 100 valid characters."),
		{name: "DisplayName", value: "\xff", text: "DisplayName: Invalid value [\ufffd]. Must be at most 100 valid characters."},
		{name: "KmsMasterKeyId", value: "alias/aws/sns"},
		{name: "KmsMasterKeyId", value: "\xff", text: "KmsMasterKeyId: Invalid value [\ufffd]. Must be at most 2048 bytes of UTF-8."},
		{name: "SignatureVersion", value: "1"},
		{name: "SignatureVersion", value: "2"},
		invalid("SignatureVersion", "3", "Please use either 1 or 2"),
		{name: "TracingConfig", value: "PassThrough"},
		invalid("TracingConfig", "Active", "A FIFO topic can only have PassThrough."),
		invalid("TracingConfig", "active", "Please use either PassThrough or Active"),
		{name: "Policy", value: `{ "Version":"2012-10-17" }`},
		{name: "Policy", value: `[]`, text: "Policy Error: null"},
		{name: "Policy", value: "", text: "Policy Error: null"},
		{name: "DeliveryPolicy", value: `{"http":{}}`},
		{name: "DeliveryPolicy", value: `x`, text: "DeliveryPolicy: failed to parse JSON."},
		{
			name: "DeliveryPolicy", value: `{"http":{"defaultHealthyRetryPolicy":{"numRetries":101}}}`,
			text: "DeliveryPolicy: defaultHealthyRetryPolicy numRetries must be a whole number from 0 to 100",
		},
		{name: "ArchivePolicy", value: `{"MessageRetentionPeriod":"1"}`},
		{name: "ArchivePolicy", value: ` {"MessageRetentionPeriod": 365}`, want: `{"MessageRetentionPeriod":365}`},
		{name: "ArchivePolicy", value: ``, text: "ArchivePolicy: Unable to parse JSON"},
		{name: "ArchivePolicy", value: `null`, text: "ArchivePolicy: Unable to parse JSON"},
		{name: "ArchivePolicy", value: `{`, text: "ArchivePolicy: Unable to parse JSON"},
		{name: "ArchivePolicy", value: `{"x":1}`, text: "ArchivePolicy: JSON is missing required fields"},
		{name: "ArchivePolicy", value: `{"MessageRetentionPeriod":null}`, text: "ArchivePolicy: JSON is missing required fields"},
		{name: "ArchivePolicy", value: `{"MessageRetentionPeriod":0}`, text: badArchive},
		{name: "ArchivePolicy", value: `{"MessageRetentionPeriod":"366"}`, text: badArchive},
		{name: "ArchivePolicy", value: `{"MessageRetentionPeriod":1.5}`, text: badArchive},
		{name: "ArchivePolicy", value: `{"MessageRetentionPeriod":"+1"}`, text: badArchive},
		{name: "ArchivePolicy", value: `{"MessageRetentionPeriod":[1]}`, text: badArchive},
		{name: "FifoTopic", value: "True", want: "true"},
	}
}

func TestTopicValues(t *testing.T) {
	for _, c := range topicValues() {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			given := []Attribute{{c.name, c.value}}
			a, err := CreateTopic(true, given, usual)
			changed, changeErr := mustTopic(t, true).WithChanges(given, usual)
			if c.text != "" {
				refusaltest.Want(t, err, refusal.SNSInvalidParameter, "Invalid parameter: Attributes Reason: "+c.text)
				refusaltest.Want(t, changeErr, refusal.SNSInvalidParameter, "Invalid parameter: "+c.text)
				return
			}
			refusaltest.Want(t, err, 0, "")
			want := c.want
			if want == "" {
				want = c.value
			}
			if diff := cmp.Diff(replaced(topicDefaults(true), Attribute{c.name, want}), a.List()); diff != "" {
				t.Error(diff)
			}
			if c.name == "FifoTopic" {
				return
			}
			if diff := cmp.Diff(a, changed); diff != "" || changeErr != nil {
				t.Error(diff, changeErr)
			}
		})
	}
}

func TestTopicWindowFollowsTheSetting(t *testing.T) {
	given := []Attribute{{"DeduplicationWindowSeconds", "1"}}
	_, err := CreateTopic(true, given, Assignment{MinimumWindow: 1})
	refusaltest.Want(t, err, 0, "")
	_, err = CreateTopic(true, given, Assignment{MinimumWindow: 2})
	refusaltest.Want(t, err, refusal.SNSInvalidParameter,
		"Invalid parameter: Attributes Reason: DeduplicationWindowSeconds: Invalid value [1]. Must be between 2 and 604800.")
}

func TestTopicAttributeNames(t *testing.T) {
	fifoOnly := []string{
		"ArchivePolicy", "ContentBasedDeduplication", "ContentDeduplicationMode", "DeduplicationWindowSeconds", "FifoThroughputScope",
	}
	readOnly := []string{
		"", "BeginningArchiveTime", "EffectiveDeliveryPolicy", "Owner", "SubscriptionsConfirmed", "SubscriptionsDeleted",
		"SubscriptionsPending", "TopicArn", "VisibilityTimeout", "displayName",
	}
	for _, fifo := range []bool{false, true} {
		refused := readOnly
		if !fifo {
			refused = slices.Concat(fifoOnly, readOnly)
		}
		for _, name := range refused {
			given := []Attribute{{name, "true"}}
			_, err := CreateTopic(fifo, given, usual)
			refusaltest.Want(t, err, refusal.SNSInvalidParameter, "Invalid parameter: Attributes Reason: AttributeName")
			_, err = DefaultTopic(fifo).WithChanges(given, usual)
			refusaltest.Want(t, err, refusal.SNSInvalidParameter, "Invalid parameter: AttributeName")
			refusaltest.Want(t, CheckTopicChanges(fifo, given, usual), refusal.SNSInvalidParameter, "Invalid parameter: AttributeName")
			refusaltest.Want(t, DefaultTopic(fifo).Matches(given, usual), refusal.SNSInvalidParameter,
				"Invalid parameter: Attributes Reason: AttributeName")
		}
		for _, value := range []string{"true", "false"} {
			_, err := DefaultTopic(fifo).WithChanges([]Attribute{{"FifoTopic", value}}, usual)
			refusaltest.Want(t, err, refusal.SNSInvalidParameter, "Invalid parameter: AttributeName")
		}
		_, err := CreateTopic(fifo, []Attribute{{"FifoTopic", "x"}}, usual)
		if err == nil || !strings.HasPrefix(err.Message, "Invalid parameter: Attributes Reason: FifoTopic: Invalid value [x]. Must be ") {
			t.Errorf("FifoTopic=x: %v", err)
		}
	}
	refusaltest.Want(t, CheckTopicChanges(true, []Attribute{{"DeduplicationWindowSeconds", "1"}}, AnyWindow()), 0, "")
}

func TestTopicWithChanges(t *testing.T) {
	const prefix = "Invalid parameter: "
	content := []Attribute{{"ContentBasedDeduplication", "true"}, {"ContentDeduplicationMode", "IdAndContent"}}
	cases := []struct {
		name   string
		before []Attribute
		given  []Attribute
		want   []Attribute // what is listed afterwards beside the defaults
		text   string
	}{
		{name: "nothing"},
		{
			name: "merges", before: []Attribute{{"DisplayName", "A"}}, given: []Attribute{{"KmsMasterKeyId", "k"}},
			want: []Attribute{{"DisplayName", "A"}, {"KmsMasterKeyId", "k"}},
		},
		{name: "empty display name", before: []Attribute{{"DisplayName", "A"}}, given: []Attribute{{"DisplayName", ""}}},
		{name: "no key", before: []Attribute{{"KmsMasterKeyId", "k"}}, given: []Attribute{{"KmsMasterKeyId", ""}}},
		{name: "no delivery policy", before: []Attribute{{"DeliveryPolicy", "{}"}}, given: []Attribute{{"DeliveryPolicy", ""}}},
		{
			name: "archive off", before: []Attribute{{"ArchivePolicy", `{"MessageRetentionPeriod":9}`}},
			given: []Attribute{{"ArchivePolicy", " { } "}},
		},
		{
			name: "scope of groups", given: []Attribute{{"FifoThroughputScope", "MessageGroup"}},
			want: []Attribute{{"FifoThroughputScope", "MessageGroup"}},
		},
		{
			name: "no way back", before: []Attribute{{"FifoThroughputScope", "MessageGroup"}},
			given: []Attribute{{"FifoThroughputScope", "Topic"}},
			text:  prefix + "FifoThroughputScope: Invalid value [Topic]. Cannot be changed from MessageGroup to Topic.",
		},
		{
			name: "same scope", before: []Attribute{{"FifoThroughputScope", "MessageGroup"}},
			given: []Attribute{{"FifoThroughputScope", "MessageGroup"}},
			want:  []Attribute{{"FifoThroughputScope", "MessageGroup"}},
		},
		{name: "id and content", given: content, want: content},
		{
			name: "content off under id and content", before: content, given: []Attribute{{"ContentBasedDeduplication", "false"}},
			text: prefix + "ContentDeduplicationMode: Invalid value [IdAndContent]. Requires ContentBasedDeduplication.",
		},
		{
			name: "one good and one bad", given: []Attribute{{"DisplayName", "B"}, {"SignatureVersion", "0"}},
			text: prefix + "SignatureVersion: Invalid value [0]. Please use either 1 or 2",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := mustTopic(t, true, c.before...)
			before := a.List()
			b, err := a.WithChanges(c.given, usual)
			refusaltest.Want(t, err, refusal.SNSInvalidParameter, c.text)
			if diff := cmp.Diff(before, a.List()); diff != "" {
				t.Errorf("the old value changed: %s", diff)
			}
			if c.text != "" {
				return
			}
			if diff := cmp.Diff(replaced(topicDefaults(true), c.want...), b.List()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStandardTopicMayBeTraced(t *testing.T) {
	a := mustTopic(t, false, Attribute{"FifoTopic", "false"}, Attribute{"TracingConfig", "Active"})
	if diff := cmp.Diff([]Attribute{{"DisplayName", ""}, {"TracingConfig", "Active"}}, a.List()); diff != "" {
		t.Error(diff)
	}
}

func TestTopicMatches(t *testing.T) {
	const different = "Invalid parameter: Attributes Reason: Topic already exists with different attributes"
	archive := func(days string) []Attribute {
		return []Attribute{{"ArchivePolicy", `{"MessageRetentionPeriod":` + days + `}`}}
	}
	cases := []struct {
		name    string
		fifo    bool
		current []Attribute
		given   []Attribute
		text    string
	}{
		{name: "nothing given", current: []Attribute{{"DisplayName", "A"}}},
		{name: "equal", current: []Attribute{{"DisplayName", "A"}}, given: []Attribute{{"DisplayName", "A"}}},
		{name: "different", current: []Attribute{{"DisplayName", "A"}}, given: []Attribute{{"DisplayName", "B"}}, text: different},
		{name: "empty is a value", current: []Attribute{{"DisplayName", "A"}}, given: []Attribute{{"DisplayName", ""}}, text: different},
		{name: "standard type said", given: []Attribute{{"FifoTopic", "False"}}},
		{name: "FIFO type said", fifo: true, given: []Attribute{{"FifoTopic", "True"}}},
		{name: "defaults given", fifo: true, given: []Attribute{
			{"ContentBasedDeduplication", "FALSE"},
			{"ContentDeduplicationMode", "IdOverrides"},
			{"DeduplicationWindowSeconds", "300"},
			{"FifoThroughputScope", "Topic"},
			{"SignatureVersion", "1"},
			{"TracingConfig", "PassThrough"},
		}},
		{name: "window", fifo: true, given: []Attribute{{"DeduplicationWindowSeconds", "301"}}, text: different},
		{name: "second of two", fifo: true, given: []Attribute{{"DisplayName", ""}, {"SignatureVersion", "2"}}, text: different},
		{name: "archive as string and number", fifo: true, current: archive(`"7"`), given: archive("7")},
		{name: "archive", fifo: true, current: archive("7"), given: archive("8"), text: different},
		{name: "archive off", fifo: true, current: archive("7"), given: []Attribute{{"ArchivePolicy", "{}"}}, text: different},
		{name: "archive off on none", fifo: true, given: []Attribute{{"ArchivePolicy", "{}"}}},
		{name: "policy", current: []Attribute{{"Policy", "{}"}}, given: []Attribute{{"Policy", `{"Id":"x"}`}}, text: different},
		{
			name: "invalid request", fifo: true, given: []Attribute{{"ContentDeduplicationMode", "IdAndContent"}},
			text: "Invalid parameter: Attributes Reason: ContentDeduplicationMode: Invalid value [IdAndContent]. " +
				"Requires ContentBasedDeduplication.",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			refusaltest.Want(t, mustTopic(t, c.fifo, c.current...).Matches(c.given, usual), refusal.SNSInvalidParameter, c.text)
		})
	}
}

// listOf reads an attribute list from a text of names and values in turn.
func listOf(text string) (given []Attribute) {
	parts := strings.Split(text, "|")
	for i := 0; i+1 < len(parts); i += 2 {
		given = append(given, Attribute{parts[i], parts[i+1]})
	}
	return given
}

func FuzzTopic(f *testing.F) {
	for _, c := range topicValues() {
		f.Add(c.name+"|"+c.value, true)
		f.Add(c.name+"|"+c.value+"|DisplayName|x", false)
	}
	f.Add(`ContentBasedDeduplication|TRUE|ContentDeduplicationMode|IdAndContent|FifoTopic|true`, true)
	f.Fuzz(func(t *testing.T, text string, fifo bool) {
		given := listOf(text)
		a, err := CreateTopic(fifo, given, usual)
		if err != nil {
			if _, changeErr := DefaultTopic(fifo).WithChanges(given, usual); changeErr == nil {
				t.Fatalf("%q may be set, not given: %v", given, err)
			}
			return
		}
		again, err := CreateTopic(fifo, a.List(), usual)
		if err != nil {
			t.Fatalf("%q became %q, which is refused: %v", given, a.List(), err)
		}
		if diff := cmp.Diff(a, again); diff != "" {
			t.Error(diff)
		}
		if err := a.Matches(a.List(), usual); err != nil {
			t.Errorf("%q does not match itself: %v", a.List(), err)
		}
	})
}
