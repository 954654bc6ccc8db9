package attributes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/refusal/refusaltest"
)

var standardDefaults = []Attribute{
	{"DelaySeconds", "0"},
	{"MaximumMessageSize", "1048576"},
	{"MessageRetentionPeriod", "345600"},
	{"ReceiveMessageWaitTimeSeconds", "0"},
	{"SqsManagedSseEnabled", "true"},
	{"VisibilityTimeout", "30"},
}

var fifoDefaults = []Attribute{
	{"ContentBasedDeduplication", "false"},
	{"DeduplicationScope", "queue"},
	{"DelaySeconds", "0"},
	{"FifoQueue", "true"},
	{"FifoThroughputLimit", "perQueue"},
	{"MaximumMessageSize", "1048576"},
	{"MessageRetentionPeriod", "345600"},
	{"ReceiveMessageWaitTimeSeconds", "0"},
	{"SqsManagedSseEnabled", "true"},
	{"VisibilityTimeout", "30"},
}

// with replaces and adds attributes in a sorted list, and removes those whose new value is empty.
func with(list []Attribute, changes ...Attribute) []Attribute {
	values := map[string]string{}
	for _, a := range append(append([]Attribute{}, list...), changes...) {
		values[a.Name] = a.Value
	}
	var out []Attribute
	for _, r := range queueTable.rows {
		if v := values[r.name]; v != "" {
			out = append(out, Attribute{r.name, v})
		}
	}
	return out
}

func TestCreateAttributesList(t *testing.T) {
	cases := []struct {
		name  string
		fifo  bool
		given []Attribute
		want  []Attribute
	}{
		{"standard", false, nil, standardDefaults},
		{"fifo", true, []Attribute{{"FifoQueue", "true"}}, fifoDefaults},
		{
			"kms key turns managed encryption off", false,
			[]Attribute{{"KmsDataKeyReusePeriodSeconds", "6000"}, {"KmsMasterKeyId", "k"}},
			with(standardDefaults, Attribute{"KmsDataKeyReusePeriodSeconds", "6000"},
				Attribute{"KmsMasterKeyId", "k"}, Attribute{"SqsManagedSseEnabled", "false"}),
		},
		{
			"empty key with managed encryption", false,
			[]Attribute{{"KmsMasterKeyId", ""}, {"SqsManagedSseEnabled", "true"}},
			standardDefaults,
		},
		{
			"high throughput", true,
			[]Attribute{{"DeduplicationScope", "messageGroup"}, {"FifoThroughputLimit", "perMessageGroupId"}},
			with(fifoDefaults, Attribute{"DeduplicationScope", "messageGroup"}, Attribute{"FifoThroughputLimit", "perMessageGroupId"}),
		},
		{
			"profile aws lists itself only", true,
			[]Attribute{{"CompatibilityProfile", "aws"}},
			with(fifoDefaults, Attribute{"CompatibilityProfile", "aws"}),
		},
		{
			"profile ymq", true,
			[]Attribute{{"CompatibilityProfile", "ymq"}},
			with(fifoDefaults, Attribute{"CompatibilityProfile", "ymq"}, Attribute{"DeduplicationWindowSeconds", "300"},
				Attribute{"ContentDeduplicationMode", "IdOverrides"}, Attribute{"MaxMessagesPerGroupPerReceive", "1"},
				Attribute{"ReceiveCompatibility", "ymq"}, Attribute{"PurgeClearsDeduplicationHistory", "false"},
				Attribute{"DeadLetterKeepsDeduplicationId", "true"}),
		},
		{
			"profile servicebus", true,
			[]Attribute{{"CompatibilityProfile", "servicebus"}},
			with(fifoDefaults, Attribute{"CompatibilityProfile", "servicebus"}, Attribute{"DeduplicationWindowSeconds", "600"},
				Attribute{"PurgeClearsDeduplicationHistory", "false"}, Attribute{"DeadLetterKeepsDeduplicationId", "true"}),
		},
		{
			"explicit attributes win over presets", true,
			[]Attribute{
				{"CompatibilityProfile", "servicebus"},
				{"DeadLetterKeepsDeduplicationId", "false"},
				{"DeduplicationWindowSeconds", "60"},
			},
			with(fifoDefaults, Attribute{"CompatibilityProfile", "servicebus"}, Attribute{"DeduplicationWindowSeconds", "60"},
				Attribute{"PurgeClearsDeduplicationHistory", "false"}, Attribute{"DeadLetterKeepsDeduplicationId", "false"}),
		},
		{
			"profile ymq on a standard queue presets nothing", false,
			[]Attribute{{"CompatibilityProfile", "ymq"}},
			with(standardDefaults, Attribute{"CompatibilityProfile", "ymq"}),
		},
		{
			"id and content", true,
			[]Attribute{{"ContentBasedDeduplication", "true"}, {"ContentDeduplicationMode", "IdAndContent"}},
			with(fifoDefaults, Attribute{"ContentBasedDeduplication", "true"}, Attribute{"ContentDeduplicationMode", "IdAndContent"}),
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := Create(c.fifo, c.given, Assignment{MinimumWindow: 20})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, a.List()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCreateAttributesErrors(t *testing.T) {
	const bothEncryptions = "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE."
	cases := []struct {
		name  string
		fifo  bool
		given []Attribute
		code  refusal.Code
		text  string
	}{
		{"unknown", false, []Attribute{{"Foobar", "1"}}, refusal.InvalidAttributeName, "Unknown Attribute Foobar."},
		{"read only", true, []Attribute{{"QueueArn", "x"}}, refusal.InvalidAttributeName, "Unknown Attribute QueueArn."},
		{"All", true, []Attribute{{"All", "x"}}, refusal.InvalidAttributeName, "Unknown Attribute All."},
		{"letter case of a name", false, []Attribute{{"delaySeconds", "1"}}, refusal.InvalidAttributeName,
			"Unknown Attribute delaySeconds."},
		{"FifoQueue=false on standard", false, []Attribute{{"FifoQueue", "false"}}, refusal.InvalidAttributeName,
			"Unknown Attribute FifoQueue."},
		{
			"content deduplication on standard", false,
			[]Attribute{{"ContentBasedDeduplication", "false"}},
			refusal.InvalidAttributeName, "Unknown Attribute ContentBasedDeduplication.",
		},
		{
			"scope on standard", false,
			[]Attribute{{"DeduplicationScope", "queue"}},
			refusal.InvalidAttributeName, "You can specify the DeduplicationScope only when FifoQueue is set to true.",
		},
		{
			"throughput limit on standard", false,
			[]Attribute{{"FifoThroughputLimit", "perQueue"}},
			refusal.InvalidAttributeName, "You can specify the FifoThroughputLimit only when FifoQueue is set to true.",
		},
		{
			"extension on standard", false,
			[]Attribute{{"DeduplicationWindowSeconds", "300"}},
			refusal.InvalidAttributeName, "You can specify the DeduplicationWindowSeconds only when FifoQueue is set to true.",
		},
		{
			"high throughput without message group scope", true,
			[]Attribute{{"FifoThroughputLimit", "perMessageGroupId"}},
			refusal.InvalidAttributeValue, "Invalid value for the parameter FifoThroughputLimit.",
		},
		{
			"high throughput with partition key scope", true,
			[]Attribute{{"DeduplicationScope", "partitionKey"}, {"FifoThroughputLimit", "perMessageGroupId"}},
			refusal.InvalidAttributeValue, "Invalid value for the parameter FifoThroughputLimit.",
		},
		{
			"id and content without content deduplication", true,
			[]Attribute{{"ContentDeduplicationMode", "IdAndContent"}},
			refusal.InvalidAttributeValue, "Invalid value for the parameter ContentDeduplicationMode.",
		},
		{
			"two encryptions", false,
			[]Attribute{{"KmsMasterKeyId", "k"}, {"SqsManagedSseEnabled", "True"}},
			refusal.InvalidAttributeName, bothEncryptions,
		},
		{
			"unknown profile", true,
			[]Attribute{{"CompatibilityProfile", "gcp"}},
			refusal.InvalidAttributeValue, "Invalid value for the parameter CompatibilityProfile.",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Create(c.fifo, c.given, Assignment{MinimumWindow: 20})
			refusaltest.Want(t, err, c.code, c.text)
		})
	}
}

func mustCreate(t *testing.T, fifo bool, given ...Attribute) Queue {
	t.Helper()
	a, err := Create(fifo, given, Assignment{MinimumWindow: 20})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestWithChanges(t *testing.T) {
	const fixed = ". Reason: the attribute cannot be changed after creation."
	redrive := Attribute{"RedrivePolicy", `{"deadLetterTargetArn":"arn:aws:sqs:r:1:dlq","maxReceiveCount":3}`}
	cases := []struct {
		name   string
		fifo   bool
		before []Attribute
		given  []Attribute
		want   []Attribute // changes to what was listed before
		code   refusal.Code
		text   string
	}{
		{name: "merges", before: []Attribute{{"DelaySeconds", "5"}}, given: []Attribute{{"VisibilityTimeout", "1"}},
			want: []Attribute{{"VisibilityTimeout", "1"}}},
		{name: "nothing"},
		{name: "same type", fifo: true, given: []Attribute{{"FifoQueue", "TRUE"}}},
		{
			name: "other type", fifo: true, given: []Attribute{{"FifoQueue", "false"}}, code: refusal.InvalidAttributeValue,
			text: "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
		},
		{
			name: "type of a standard queue", given: []Attribute{{"FifoQueue", "true"}}, code: refusal.InvalidAttributeName,
			text: "Unknown Attribute FifoQueue.",
		},
		{
			name: "one good and one bad", given: []Attribute{{"DelaySeconds", "5"}, {"VisibilityTimeout", "x"}},
			code: refusal.InvalidAttributeValue, text: "Invalid value for the parameter VisibilityTimeout.",
		},
		{name: "empty policy removes", before: []Attribute{{"Policy", `{"a":1}`}}, given: []Attribute{{"Policy", ""}},
			want: []Attribute{{"Policy", ""}}},
		{name: "empty policy on none", given: []Attribute{{"Policy", ""}}},
		{name: "empty redrive policy removes", before: []Attribute{redrive}, given: []Attribute{{"RedrivePolicy", ""}},
			want: []Attribute{{"RedrivePolicy", ""}}},
		{name: "redrive policy without members removes", before: []Attribute{redrive}, given: []Attribute{{"RedrivePolicy", "{}"}},
			want: []Attribute{{"RedrivePolicy", ""}}},
		{
			name:   "default reuse period is not listed and managed encryption stays off",
			before: []Attribute{{"KmsDataKeyReusePeriodSeconds", "6000"}, {"KmsMasterKeyId", "k"}},
			given:  []Attribute{{"KmsDataKeyReusePeriodSeconds", "300"}, {"KmsMasterKeyId", ""}},
			want:   []Attribute{{"KmsDataKeyReusePeriodSeconds", ""}, {"KmsMasterKeyId", ""}},
		},
		{
			name: "managed encryption replaces the key", before: []Attribute{{"KmsMasterKeyId", "k"}},
			given: []Attribute{{"SqsManagedSseEnabled", "true"}},
			want:  []Attribute{{"KmsMasterKeyId", ""}, {"SqsManagedSseEnabled", "true"}},
		},
		{
			name: "leaving message group scope under high throughput", fifo: true,
			before: []Attribute{{"DeduplicationScope", "messageGroup"}, {"FifoThroughputLimit", "perMessageGroupId"}},
			given:  []Attribute{{"DeduplicationScope", "queue"}},
			code:   refusal.InvalidAttributeValue, text: "Invalid value for the parameter FifoThroughputLimit.",
		},
		{
			name: "content deduplication off under id and content", fifo: true,
			before: []Attribute{{"ContentBasedDeduplication", "true"}, {"ContentDeduplicationMode", "IdAndContent"}},
			given:  []Attribute{{"ContentBasedDeduplication", "false"}},
			code:   refusal.InvalidAttributeValue, text: "Invalid value for the parameter ContentDeduplicationMode.",
		},
		{
			name: "extension is listed once set", fifo: true, given: []Attribute{{"MaxDeduplicationEntries", "0"}},
			want: []Attribute{{"MaxDeduplicationEntries", "0"}},
		},
		{name: "DeduplicationEnabled", fifo: true, given: []Attribute{{"DeduplicationEnabled", "false"}},
			code: refusal.InvalidAttributeValue, text: "Invalid value for the parameter DeduplicationEnabled" + fixed},
		{name: "MessageGroupIdMode", fifo: true, given: []Attribute{{"MessageGroupIdMode", "Optional"}},
			code: refusal.InvalidAttributeValue, text: "Invalid value for the parameter MessageGroupIdMode" + fixed},
		{name: "ReceiveCompatibility", fifo: true, given: []Attribute{{"ReceiveCompatibility", "ymq"}}, code: refusal.InvalidAttributeValue,
			text: "Invalid value for the parameter ReceiveCompatibility" + fixed},
		{name: "CompatibilityProfile", fifo: true, given: []Attribute{{"CompatibilityProfile", "ymq"}}, code: refusal.InvalidAttributeValue,
			text: "Invalid value for the parameter CompatibilityProfile" + fixed},
		{
			name: "fixed attribute to its present value", fifo: true, given: []Attribute{{"MessageGroupIdMode", "Required"}},
			want: []Attribute{{"MessageGroupIdMode", "Required"}},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := mustCreate(t, c.fifo, c.before...)
			before := a.List()
			b, err := a.WithChanges(c.given, Assignment{MinimumWindow: 20})
			refusaltest.Want(t, err, c.code, c.text)
			if diff := cmp.Diff(before, a.List()); diff != "" {
				t.Errorf("the old value changed: %s", diff)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(with(before, c.want...), b.List()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDiffers(t *testing.T) {
	allow := `{"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:r:1:a","arn:aws:sqs:r:1:b"]}`
	cases := []struct {
		name      string
		fifo      bool
		current   []Attribute
		requested []Attribute
		want      string
		code      refusal.Code
		text      string
	}{
		{name: "nothing requested", current: []Attribute{{"DelaySeconds", "1"}}},
		{name: "equal", current: []Attribute{{"DelaySeconds", "1"}}, requested: []Attribute{{"DelaySeconds", "1"}}},
		{name: "different", current: []Attribute{{"DelaySeconds", "1"}}, requested: []Attribute{{"DelaySeconds", "2"}},
			want: "DelaySeconds"},
		{name: "default requested", requested: []Attribute{{"VisibilityTimeout", "30"}}},
		{name: "first of two", requested: []Attribute{{"DelaySeconds", "1"}, {"VisibilityTimeout", "1"}}, want: "DelaySeconds"},
		{name: "second of two", requested: []Attribute{{"DelaySeconds", "0"}, {"VisibilityTimeout", "1"}}, want: "VisibilityTimeout"},
		{
			name: "content deduplication", fifo: true, current: []Attribute{{"ContentBasedDeduplication", "true"}},
			requested: []Attribute{{"ContentBasedDeduplication", "false"}, {"FifoQueue", "true"}}, want: "ContentBasedDeduplication",
		},
		{name: "type", fifo: true, requested: []Attribute{{"FifoQueue", "true"}}},
		{name: "extension at its default that was never set", fifo: true, requested: []Attribute{{"DeduplicationWindowSeconds", "300"}}},
		{name: "extension", fifo: true, requested: []Attribute{{"DeduplicationWindowSeconds", "301"}}, want: "DeduplicationWindowSeconds"},
		{name: "key", current: []Attribute{{"KmsMasterKeyId", "k"}},
			requested: []Attribute{{"KmsMasterKeyId", "k"}, {"SqsManagedSseEnabled", "false"}}},
		{name: "other key", current: []Attribute{{"KmsMasterKeyId", "k"}}, requested: []Attribute{{"KmsMasterKeyId", "l"}},
			want: "KmsMasterKeyId"},
		{
			name:      "redrive policy in another order",
			current:   []Attribute{{"RedrivePolicy", `{"deadLetterTargetArn":"arn:aws:sqs:r:1:d","maxReceiveCount":3}`}},
			requested: []Attribute{{"RedrivePolicy", `{"maxReceiveCount":"3", "deadLetterTargetArn":"arn:aws:sqs:r:1:d"}`}},
		},
		{
			name:      "redrive policy",
			current:   []Attribute{{"RedrivePolicy", `{"deadLetterTargetArn":"arn:aws:sqs:r:1:d","maxReceiveCount":3}`}},
			requested: []Attribute{{"RedrivePolicy", `{"deadLetterTargetArn":"arn:aws:sqs:r:1:d","maxReceiveCount":4}`}},
			want:      "RedrivePolicy",
		},
		{
			name:    "redrive allow policy in another order",
			current: []Attribute{{"RedriveAllowPolicy", allow}},
			requested: []Attribute{{"RedriveAllowPolicy",
				`{"sourceQueueArns":["arn:aws:sqs:r:1:b","arn:aws:sqs:r:1:a"],"redrivePermission":"byQueue"}`}},
		},
		{
			name:      "redrive allow policy",
			current:   []Attribute{{"RedriveAllowPolicy", allow}},
			requested: []Attribute{{"RedriveAllowPolicy", `{"redrivePermission":"denyAll"}`}},
			want:      "RedriveAllowPolicy",
		},
		{name: "allow all equals no policy", requested: []Attribute{{"RedriveAllowPolicy", `{"redrivePermission":"allowAll"}`}}},
		{name: "profile", fifo: true, current: []Attribute{{"CompatibilityProfile", "ymq"}},
			requested: []Attribute{{"CompatibilityProfile", "ymq"}}},
		{name: "other profile", fifo: true, requested: []Attribute{{"CompatibilityProfile", "ymq"}}, want: "CompatibilityProfile"},
		{
			name: "invalid request", requested: []Attribute{{"DelaySeconds", "901"}},
			code: refusal.InvalidAttributeValue, text: "Invalid value for the parameter DelaySeconds.",
		},
		{
			name: "fifo attribute on standard", requested: []Attribute{{"FifoQueue", "false"}},
			code: refusal.InvalidAttributeName, text: "Unknown Attribute FifoQueue.",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := mustCreate(t, c.fifo, c.current...)
			got, err := a.Differs(c.requested, Assignment{MinimumWindow: 20})
			refusaltest.Want(t, err, c.code, c.text)
			if got != c.want {
				t.Errorf("differs in %q, want %q", got, c.want)
			}
		})
	}
}

func TestDiffersComparesWithCurrentValues(t *testing.T) {
	a := mustCreate(t, false, Attribute{"DelaySeconds", "1"})
	b, err := a.WithChanges([]Attribute{{"DelaySeconds", "2"}}, Assignment{MinimumWindow: 20})
	if err != nil {
		t.Fatal(err)
	}
	if name, _ := b.Differs([]Attribute{{"DelaySeconds", "2"}}, Assignment{MinimumWindow: 20}); name != "" {
		t.Errorf("the new value differs in %s", name)
	}
	if name, _ := b.Differs([]Attribute{{"DelaySeconds", "1"}}, Assignment{MinimumWindow: 20}); name != "DelaySeconds" {
		t.Errorf("the old value is equal")
	}
}
