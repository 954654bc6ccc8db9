package attributes

import (
	"math/bits"
	"testing"

	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/refusal/refusaltest"
)

func TestQueueTableIsComplete(t *testing.T) {
	checkRows(t, queueTable)
	var seen ExtensionSet
	for _, r := range queueTable.rows {
		if r.extension != 0 && (bits.OnesCount32(uint32(r.extension)) != 1 || seen&r.extension != 0) {
			t.Errorf("%s: bit %b is not its own", r.name, r.extension)
		}
		seen |= r.extension
		if r.fixed && r.extension == 0 && r.name != NameFIFO {
			t.Errorf("%s: only extension attributes are fixed by the table", r.name)
		}
	}
	if want := ExtensionSet(1<<22-1) &^ extensionTopicScope; seen != want {
		t.Errorf("extension bits in use: %b, want %b", seen, want)
	}
}

func TestKnownAttribute(t *testing.T) {
	known := []string{
		"ApproximateNumberOfMessagesDeferred",
		"All", "AutoDeleteOnIdleSeconds", "ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed",
		"ApproximateNumberOfMessagesNotVisible", "CompatibilityProfile", "ContentBasedDeduplication",
		"ContentDeduplicationMode", "CreatedTimestamp", "DeadLetterKeepsDeduplicationId", "DeadLetterOnExpiration",
		"DeduplicationEnabled", "DeduplicationScope", "DeduplicationWindowSeconds", "DefaultTimeToLiveSeconds", "DelaySeconds",
		"DeliveryPaused", "EntityStatus",
		"FifoQueue", "FifoThroughputLimit", "ForwardDeadLetteredMessagesTo", "ForwardTo", "ImplicitDeadLetterQueue",
		"KmsDataKeyReusePeriodSeconds",
		"KmsMasterKeyId", "LastModifiedTimestamp", "MaxDeduplicationEntries",
		"MaxMessagesPerGroupPerReceive", "MaxSizeInMegabytes", "MaximumMessageSize", "MessageGroupIdMode",
		"MessageRetentionPeriod", "Policy", "PurgeClearsDeduplicationHistory", "QueueArn",
		"ReceiveAttemptWindowSeconds", "ReceiveCompatibility", "ReceiveMessageWaitTimeSeconds",
		"RedriveAllowPolicy", "RedrivePolicy", "ReservedAttributesEnabled", "SqsManagedSseEnabled",
		"VisibilityTimeout",
	}
	for _, name := range known {
		if !Known(name) {
			t.Errorf("%s is not known", name)
		}
	}
	if len(known) != len(queueTable.rows)+len(readOnlyAttributes) {
		t.Errorf("%d names are known, %d are expected", len(queueTable.rows)+len(readOnlyAttributes), len(known))
	}
	for _, name := range []string{"", "Foobar", "all", "visibilityTimeout", "VisibilityTimeout "} {
		if Known(name) {
			t.Errorf("%q is known", name)
		}
	}
}

func TestAttributeValues(t *testing.T) {
	const longKey = 2048
	cases := []struct {
		name string
		fifo bool
		good []string
		bad  []string
	}{
		{"DelaySeconds", false, []string{"0", "1", "900"},
			[]string{"901", "-1", "3.5", " 6", "6 ", "", "x", "+1", "1e2", "99999999999999999999"}},
		{"MaximumMessageSize", false, []string{"1024", "262144", "1048576"}, []string{"1023", "1048577", ""}},
		{"MessageRetentionPeriod", false, []string{"60", "1209600"}, []string{"59", "1209601"}},
		{"ReceiveMessageWaitTimeSeconds", false, []string{"0", "20"}, []string{"21", "-1"}},
		{"VisibilityTimeout", false, []string{"0", "43200"}, []string{"43201", "-1", "3.5", " 6", ""}},
		{"KmsDataKeyReusePeriodSeconds", false, []string{"60", "86400"}, []string{"59", "86401"}},
		{"KmsMasterKeyId", false, []string{"alias/aws/sqs", string(make([]byte, longKey))},
			[]string{string(make([]byte, longKey+1)), "\xff"}},
		{"SqsManagedSseEnabled", false, []string{"true", "false"}, []string{"", "yes", "1", " true"}},
		{"Policy", false, []string{`{}`, `{"Version":"2012-10-17"}`}, []string{"x", "[]", `"{}"`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}"}},
		{"FifoQueue", true, []string{"true"}, []string{"", "yes"}},
		{"ContentBasedDeduplication", true, []string{"true", "false"}, []string{"", "on"}},
		{"DeduplicationScope", true, []string{"queue", "messageGroup", "partitionKey"}, []string{"", "Queue", "messagegroup"}},
		{"FifoThroughputLimit", true, []string{"perQueue"}, []string{"", "perqueue", "perMessageGroup"}},
		{"DeduplicationEnabled", true, []string{"true", "false"}, []string{"", "no"}},
		{"ContentDeduplicationMode", true, []string{"IdOverrides"}, []string{"", "idOverrides", "IdAndContent"}},
		{"MessageGroupIdMode", true, []string{"Required", "Optional"}, []string{"", "optional"}},
		{"MaxMessagesPerGroupPerReceive", true, []string{"1", "10"}, []string{"0", "11"}},
		{"MaxDeduplicationEntries", true, []string{"0", "1", "1000000000000"}, []string{"-1", "1000000000001"}},
		{"ImplicitDeadLetterQueue", false, []string{"true", "false"}, []string{"", "maybe"}},
		{"ReceiveCompatibility", true, []string{"aws", "ymq"}, []string{"", "AWS", "servicebus"}},
		{"PurgeClearsDeduplicationHistory", true, []string{"true", "false"}, []string{""}},
		{"DeadLetterKeepsDeduplicationId", true, []string{"true", "false"}, []string{""}},
		{"ReceiveAttemptWindowSeconds", true, []string{"20", "3600"}, []string{"19", "3601"}},
		{"ReservedAttributesEnabled", false, []string{"true", "false"}, []string{""}},
		{"DeliveryPaused", false, []string{"true", "false"}, []string{"", "paused"}},
		{"CompatibilityProfile", false, []string{"aws", "ymq", "servicebus"}, []string{"", "AWS", "azure"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, v := range c.good {
				a, err := Create(c.fifo, []Attribute{{c.name, v}}, Assignment{MinimumWindow: 20})
				if err != nil {
					t.Errorf("%q: %v", v, err)
				} else if got, _ := ValueOf(a.List(), c.name); got != v {
					t.Errorf("%q is listed as %q", v, got)
				}
			}
			for _, v := range c.bad {
				_, err := Create(c.fifo, []Attribute{{c.name, v}}, Assignment{MinimumWindow: 20})
				refusaltest.Want(t, err, refusal.InvalidAttributeValue, "Invalid value for the parameter "+c.name+".")
			}
		})
	}
}

func TestBooleansAreReadInAnyCaseAndListedInLower(t *testing.T) {
	for _, r := range queueTable.rows {
		for _, v := range []string{"True", "TRUE", "False"} {
			a := Default(true)
			set := func(value string) error {
				if err := queueTable.set(&a, &r, value, AnyWindow(), &a.Extensions); err != nil {
					return err
				}
				return nil
			}
			if set("x") == nil || set("true") != nil || r.name == "FifoQueue" {
				continue // not a boolean, or one that takes only true
			}
			if err := set(v); err != nil {
				t.Errorf("%s=%s: %v", r.name, v, err)
			}
			want := map[string]string{"True": "true", "TRUE": "true", "False": "false"}[v]
			if got, _ := r.print(&a); got != want {
				t.Errorf("%s=%s is listed as %q", r.name, v, got)
			}
		}
	}
	a, err := Create(true, []Attribute{{"FifoQueue", "True"}}, Assignment{MinimumWindow: 20})
	if got, _ := ValueOf(a.List(), "FifoQueue"); err != nil || got != "true" {
		t.Errorf("FifoQueue=True: %q, %v", got, err)
	}
}

func TestWindowBounds(t *testing.T) {
	cases := []struct {
		name    string
		value   string
		minimum int64
		text    string
	}{
		{"lower bound", "20", 20, ""},
		{"upper bound", "604800", 20, ""},
		{"below", "19", 20, "Invalid value for the parameter DeduplicationWindowSeconds. Reason: must be between 20 and 604800."},
		{"above", "604801", 20, "Invalid value for the parameter DeduplicationWindowSeconds. Reason: must be between 20 and 604800."},
		{"not a number", "a", 20, "Invalid value for the parameter DeduplicationWindowSeconds. Reason: must be between 20 and 604800."},
		{"lower minimum", "1", 1, ""},
		{"below lower minimum", "0", 1,
			"Invalid value for the parameter DeduplicationWindowSeconds. Reason: must be between 1 and 604800."},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Create(true, []Attribute{{"DeduplicationWindowSeconds", c.value}}, Assignment{MinimumWindow: c.minimum})
			refusaltest.Want(t, err, refusal.InvalidAttributeValue, c.text)
		})
	}
	if _, err := Create(true, []Attribute{{"ReceiveAttemptWindowSeconds", "1"}}, Assignment{MinimumWindow: 1}); err != nil {
		t.Errorf("ReceiveAttemptWindowSeconds does not follow the minimum window: %v", err)
	}
}

// The state hash covers the attributes that List always lists. During an upgrade older programs do
// not list a newer attribute, so it must be an extension, which is listed only where it is set.
func TestLaterAttributes(t *testing.T) {
	for _, r := range queueTable.rows {
		if r.since > 1 && r.extension == 0 {
			t.Errorf("%s came with format version %d and is always listed: give it a bit with as", r.name, r.since)
		}
	}
}
