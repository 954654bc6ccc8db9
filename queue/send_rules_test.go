package queue

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/refusal/refusaltest"
)

func TestIsFIFOName(t *testing.T) {
	for name, want := range map[string]bool{"a.fifo": true, ".fifo": true, "a": false, "a.FIFO": false, "a.fifo.b": false, "fifo": false} {
		if got := isFIFOName(name); got != want {
			t.Errorf("isFIFOName(%q) = %t", name, got)
		}
	}
}

func TestSize(t *testing.T) {
	e := &SendEntry{
		Body:        "é",
		Attributes:  []MessageAttribute{{Name: "k", DataType: "String", Value: "x"}, {Name: "bin", DataType: "Binary", Value: "\x00\xff"}},
		TraceHeader: "does not count",
	}
	if got, want := e.size(), int64(2+1+6+1+3+6+2); got != want {
		t.Errorf("size %d, want %d", got, want)
	}
}

func TestCheckSendAllocatesNothing(t *testing.T) {
	a := attributes.Default(true)
	a.ReservedAttributes = true
	e := fifoEntry(func(e *SendEntry) {
		e.Body = strings.Repeat("plain text ", 100)
		e.Attributes = []MessageAttribute{{Name: "k", DataType: "String", Value: "x"}, {Name: "n", DataType: "Binary", Value: "12"}}
	})
	if n := testing.AllocsPerRun(100, func() {
		if err := checkSend(&a, e, false); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func fifoEntry(change func(e *SendEntry)) *SendEntry {
	e := &SendEntry{Body: "b", GroupID: "g", GroupIDGiven: true, DeduplicationID: "d", DeduplicationIDGiven: true}
	if change != nil {
		change(e)
	}
	return e
}

func standardEntry(change func(e *SendEntry)) *SendEntry {
	e := &SendEntry{Body: "b"}
	if change != nil {
		change(e)
	}
	return e
}

const (
	allPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	badContents    = "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | " +
		"#xE000 to #xFFFD | #x10000 to #x10FFFF"
	groupRule = " for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include alphanumeric " +
		"and punctuation characters. 1 to 128 in length."
	idRule = " for parameter MessageDeduplicationId is invalid. Reason: MessageDeduplicationId can only include " +
		"alphanumeric and punctuation characters. 1 to 128 in length."
)

type sendCase struct {
	name  string
	rules func(a *QueueAttributes)
	entry func(e *SendEntry)
	batch bool
	code  refusal.Code
	text  string
}

func runSendCases(t *testing.T, fifo bool, cases []sendCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := attributes.Default(fifo)
			if c.rules != nil {
				c.rules(&a)
			}
			e := standardEntry(c.entry)
			if fifo {
				e = fifoEntry(c.entry)
			}
			refusaltest.Want(t, checkSend(&a, e, c.batch), c.code, c.text)
		})
	}
}

func TestCheckSendOnStandardQueue(t *testing.T) {
	limit := func(a *QueueAttributes) { a.MaximumMessageSize = 1024 }
	const tooLate = "DelaySeconds must be >= 0 and <= 900."
	runSendCases(t, false, []sendCase{
		{name: "good"},
		{name: "empty body", entry: func(e *SendEntry) { e.Body = "" }, code: refusal.MissingRequiredParameter,
			text: "The request must contain the parameter MessageBody."},
		{name: "at the limit", rules: limit, entry: func(e *SendEntry) { e.Body = strings.Repeat("x", 1024) }},
		{
			name: "over the limit", rules: limit, entry: func(e *SendEntry) { e.Body = strings.Repeat("x", 1025) },
			code: refusal.InvalidParameterValue,
			text: "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.",
		},
		{
			name: "over the limit by its attribute", rules: limit, entry: func(e *SendEntry) {
				e.Body, e.Attributes = strings.Repeat("x", 1017), []MessageAttribute{{Name: "k", DataType: "String", Value: "x"}}
			},
			code: refusal.InvalidParameterValue,
			text: "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.",
		},
		{
			name: "over the limit in a batch", batch: true, rules: limit, entry: func(e *SendEntry) { e.Body = strings.Repeat("x", 1025) },
			code: refusal.InvalidParameterValue,
			text: "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.",
		},
		{
			name: "size before characters", rules: limit, entry: func(e *SendEntry) { e.Body = strings.Repeat("\x00", 1025) },
			code: refusal.InvalidParameterValue,
			text: "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.",
		},
		{name: "bad character", entry: func(e *SendEntry) { e.Body = "a\x08" }, code: refusal.InvalidMessageContents, text: badContents},
		{name: "bad character in a batch", batch: true, entry: func(e *SendEntry) { e.Body = "\x01" }, code: refusal.InvalidMessageContents,
			text: badContents},
		{
			name: "characters before attributes", entry: func(e *SendEntry) { e.Body, e.Attributes = "\x00", []MessageAttribute{{}} },
			code: refusal.InvalidMessageContents, text: badContents,
		},
		{name: "group id of a fair queue", entry: func(e *SendEntry) { e.GroupID, e.GroupIDGiven = "test", true }},
		{name: "group id empty", entry: func(e *SendEntry) { e.GroupIDGiven = true }, code: refusal.InvalidParameterValue,
			text: "Value " + groupRule},
		{name: "group id with a blank", entry: func(e *SendEntry) { e.GroupID, e.GroupIDGiven = "group 123", true },
			code: refusal.InvalidParameterValue, text: "Value group 123" + groupRule},
		{
			name:  "group id of 129",
			entry: func(e *SendEntry) { e.GroupID, e.GroupIDGiven = strings.Repeat("g", 129), true },
			code:  refusal.InvalidParameterValue, text: "Value " + strings.Repeat("g", 129) + groupRule,
		},
		{
			name:  "deduplication id",
			entry: func(e *SendEntry) { e.DeduplicationID, e.DeduplicationIDGiven = "d", true },
			code:  refusal.InvalidParameterValue,
			text: "Value d for parameter MessageDeduplicationId is invalid. Reason: The request include parameter " +
				"that is not valid for this queue type.",
		},
		{name: "bad deduplication id", entry: func(e *SendEntry) { e.DeduplicationIDGiven = true }, code: refusal.InvalidParameterValue,
			text: "Value " + idRule},
		{name: "delay 900", entry: func(e *SendEntry) { e.DelaySeconds = Some(900) }},
		{name: "delay 901", entry: func(e *SendEntry) { e.DelaySeconds = Some(901) }, code: refusal.InvalidParameterValue,
			text: "Value 901 for parameter DelaySeconds is invalid. Reason: " + tooLate},
		{name: "delay -1", entry: func(e *SendEntry) { e.DelaySeconds = Some(-1) }, code: refusal.InvalidParameterValue,
			text: "Value -1 for parameter DelaySeconds is invalid. Reason: " + tooLate},
		{name: "trace header", entry: func(e *SendEntry) { e.TraceHeader = "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1" }},
		{
			name: "bad trace header", entry: func(e *SendEntry) { e.TraceHeader = "\x00" },
			code: refusal.InvalidParameterValue, text: "The value of message system attribute 'AWSTraceHeader' is invalid.",
		},
	})
}

func TestCheckSendOnFIFOQueue(t *testing.T) {
	const wrongType = "The request include parameter that is not valid for this queue type."
	const noID = "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
	noGroup := func(e *SendEntry) { e.GroupID, e.GroupIDGiven = "", false }
	noDeduplication := func(e *SendEntry) { e.DeduplicationID, e.DeduplicationIDGiven = "", false }
	runSendCases(t, true, []sendCase{
		{name: "good"},
		{name: "id of 128", entry: func(e *SendEntry) { e.DeduplicationID = strings.Repeat("a", 128) }},
		{name: "id with all punctuation", entry: func(e *SendEntry) { e.DeduplicationID, e.GroupID = allPunctuation, allPunctuation }},
		{name: "id of 129", entry: func(e *SendEntry) { e.DeduplicationID = strings.Repeat("a", 129) }, code: refusal.InvalidParameterValue,
			text: "Value " + strings.Repeat("a", 129) + idRule},
		{name: "id empty", entry: func(e *SendEntry) { e.DeduplicationID = "" }, code: refusal.InvalidParameterValue,
			text: "Value " + idRule},
		{name: "id with a blank", entry: func(e *SendEntry) { e.DeduplicationID = "group 123" }, code: refusal.InvalidParameterValue,
			text: "Value group 123" + idRule},
		{name: "id not ASCII", entry: func(e *SendEntry) { e.DeduplicationID = "é" }, code: refusal.InvalidParameterValue,
			text: "Value é" + idRule},
		{name: "id with DEL", entry: func(e *SendEntry) { e.DeduplicationID = "\x7f" }, code: refusal.InvalidParameterValue,
			text: "Value \x7f" + idRule},
		{name: "deduplication id before group id", entry: func(e *SendEntry) { e.DeduplicationID, e.GroupID = "", "" },
			code: refusal.InvalidParameterValue, text: "Value " + idRule},
		{name: "delay 0", entry: func(e *SendEntry) { e.DelaySeconds = Some(0) }},
		{name: "delay 2", entry: func(e *SendEntry) { e.DelaySeconds = Some(2) }, code: refusal.InvalidParameterValue,
			text: "Value 2 for parameter DelaySeconds is invalid. Reason: " + wrongType},
		{name: "delay before group id", entry: func(e *SendEntry) { noGroup(e); e.DelaySeconds = Some(2) },
			code: refusal.InvalidParameterValue, text: "Value 2 for parameter DelaySeconds is invalid. Reason: " + wrongType},
		{name: "no group id", entry: noGroup, code: refusal.MissingRequiredParameter,
			text: "The request must contain the parameter MessageGroupId."},
		{name: "no group id in a batch", batch: true, entry: noGroup, code: refusal.InvalidParameterValue,
			text: "The request must contain the parameter MessageGroupId."},
		{name: "no group id where it is optional", rules: func(a *QueueAttributes) { a.GroupOptional = true }, entry: noGroup},
		{name: "no deduplication id", entry: noDeduplication, code: refusal.InvalidParameterValue, text: noID},
		{name: "no deduplication id with content deduplication", rules: func(a *QueueAttributes) { a.Deduplication.ContentBased = true },
			entry: noDeduplication},
		{name: "no deduplication id without deduplication", rules: func(a *QueueAttributes) { a.Deduplication.Disabled = true },
			entry: noDeduplication},
		{name: "group id before deduplication id", entry: func(e *SendEntry) { noGroup(e); noDeduplication(e) },
			code: refusal.MissingRequiredParameter, text: "The request must contain the parameter MessageGroupId."},
	})
}

func TestCheckSendBatch(t *testing.T) {
	noGroup := func(e *SendEntry) { e.GroupIDGiven = false }
	noDeduplication := func(e *SendEntry) { e.DeduplicationIDGiven = false }
	half := func(e *SendEntry) { e.Body = strings.Repeat("x", limits.BatchBytesMax/2) }
	const noID = "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
	cases := []struct {
		name    string
		fifo    bool
		single  bool
		rules   func(a *QueueAttributes)
		entries []func(e *SendEntry)
		code    refusal.Code
		text    string
	}{
		{name: "good", fifo: true, entries: []func(e *SendEntry){nil, nil}},
		{name: "no deduplication id", fifo: true, entries: []func(e *SendEntry){nil, noDeduplication}, code: refusal.InvalidParameterValue,
			text: noID},
		{name: "no group id", fifo: true, entries: []func(e *SendEntry){nil, noGroup}, code: refusal.InvalidParameterValue,
			text: "The request must contain the parameter MessageGroupId."},
		{
			name: "neither id", fifo: true, entries: []func(e *SendEntry){nil, func(e *SendEntry) { noGroup(e); noDeduplication(e) }},
			code: refusal.InvalidParameterValue, text: "The request must contain the parameter MessageGroupId.",
		},
		{
			name: "group id of a later entry first", fifo: true, entries: []func(e *SendEntry){noDeduplication, noGroup},
			code: refusal.InvalidParameterValue, text: "The request must contain the parameter MessageGroupId.",
		},
		{
			name: "content deduplication", fifo: true, rules: func(a *QueueAttributes) { a.Deduplication.ContentBased = true },
			entries: []func(e *SendEntry){noDeduplication},
		},
		{name: "no group id where it is optional", fifo: true, rules: func(a *QueueAttributes) { a.GroupOptional = true },
			entries: []func(e *SendEntry){noGroup}},
		{name: "standard needs no ids", entries: []func(e *SendEntry){nil, nil}},
		{name: "at the limit", entries: []func(e *SendEntry){half, half}},
		{
			name: "over the limit", entries: []func(e *SendEntry){half, half, nil}, code: refusal.BatchRequestTooLong,
			text: "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.",
		},
		{
			name:    "one entry over the limit",
			entries: []func(e *SendEntry){func(e *SendEntry) { e.Body = strings.Repeat("x", limits.BatchBytesMax+1) }},
			code:    refusal.BatchRequestTooLong, text: "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.",
		},
		{name: "limit of the queue is not that of the batch", rules: func(a *QueueAttributes) { a.MaximumMessageSize = 1024 },
			entries: []func(e *SendEntry){half}},
		{name: "single action has its own checks", single: true, fifo: true, entries: []func(e *SendEntry){noGroup}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := attributes.Default(c.fifo)
			if c.rules != nil {
				c.rules(&a)
			}
			m := &SendMessages{Batch: !c.single}
			for _, change := range c.entries {
				e := standardEntry(change)
				if c.fifo {
					e = fifoEntry(change)
				}
				m.Entries = append(m.Entries, *e)
			}
			refusaltest.Want(t, checkSendBatch(&a, m), c.code, c.text)
		})
	}
}

func userAttributes(n int) []MessageAttribute {
	attrs := make([]MessageAttribute, n)
	for i := range attrs {
		attrs[i] = MessageAttribute{Name: "n" + strings.Repeat("x", i), DataType: "String", Value: "v"}
	}
	return attrs
}

func TestCheckSendReservedAttributes(t *testing.T) {
	key := MessageAttribute{Name: "seriatim.PartitionKey", DataType: "String", Value: "p"}
	at := MessageAttribute{Name: "seriatim.ScheduledEnqueueTime", DataType: "Number", Value: "5"}
	on := func(a *QueueAttributes) { a.ReservedAttributes = true }
	runSendCases(t, true, []sendCase{
		{name: "not counted in the ten", rules: on, entry: func(e *SendEntry) {
			e.GroupID, e.Attributes = "p", append(userAttributes(10), key, at)
		}},
		{
			name: "eleven beside them", rules: on,
			entry: func(e *SendEntry) { e.GroupID, e.Attributes = "p", append(userAttributes(11), key) },
			code:  refusal.InvalidParameterValue, text: "Number of message attributes [11] exceeds the allowed maximum [10].",
		},
		{
			name: "counted where they are not reserved", entry: func(e *SendEntry) { e.Attributes = append(userAttributes(10), key) },
			code: refusal.InvalidParameterValue, text: "Number of message attributes [11] exceeds the allowed maximum [10].",
		},
		{
			name: "far too many", rules: on, entry: func(e *SendEntry) { e.Attributes = append(userAttributes(20), key) },
			code: refusal.InvalidParameterValue, text: "Number of message attributes [21] exceeds the allowed maximum [10].",
		},
		{
			name: "partition key differs from group id", rules: on, entry: func(e *SendEntry) { e.Attributes = []MessageAttribute{key} },
			code: refusal.InvalidParameterValue,
			text: "Value p for parameter seriatim.PartitionKey is invalid. Reason: It must be equal to the " +
				"MessageGroupId if both are given.",
		},
		{
			name: "bad time", rules: on, entry: func(e *SendEntry) {
				e.Attributes = []MessageAttribute{{Name: "seriatim.ScheduledEnqueueTime", DataType: "String", Value: "now"}}
			},
			code: refusal.InvalidParameterValue,
			text: "Value now for parameter seriatim.ScheduledEnqueueTime is invalid. Reason: Must be a Number of " +
				"milliseconds since 1970 or a String with a time as in RFC 3339.",
		},
	})
}
