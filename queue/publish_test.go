package queue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/refusal/refusaltest"
)

const (
	rawDelivery = "RawMessageDelivery"
	publishedAt = "http://localhost:9324"
)

// entry is a message for a FIFO topic.
func entry(group, id, message string) PublishEntry {
	return PublishEntry{Message: message, GroupID: group, GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: true}
}

func (w *world) publish(topic string, entries ...PublishEntry) []PublishedEntry {
	w.t.Helper()
	cmd := &Publish{Topic: topic, SenderID: "AIDAEXAMPLE", Endpoint: publishedAt, Batch: len(entries) > 1, Entries: entries}
	return w.must(cmd).(Published).Entries
}

// stored counts the messages of a queue.
func (w *world) stored(queue string) int64 {
	w.t.Helper()
	s, err := w.b.View().Stats(queue)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Visible + s.NotVisible + s.Delayed
}

func TestPublishIsCheckedBeforeTheLog(t *testing.T) {
	const group, id = "group", "id"
	long := strings.Repeat("x", limits.PublishBytesMax)
	cases := []struct {
		name    string
		command Publish
		code    refusal.Code
		text    string
	}{
		{"good", Publish{Topic: "t.fifo", Entries: []PublishEntry{entry(group, id, long)}}, 0, ""},
		{"without entries", Publish{Topic: "t.fifo", Batch: true}, refusal.EmptyBatchRequest,
			"The batch request doesn't contain any entries."},
		{"eleven", Publish{Topic: "t.fifo", Batch: true, Entries: make([]PublishEntry, 11)}, refusal.TooManyEntriesInBatchRequest,
			"The batch request contains more entries than permissible."},
		{
			"a batch too long",
			Publish{Topic: "t.fifo", Batch: true, Entries: []PublishEntry{entry(group, id, long), entry(group, "2", "x")}},
			refusal.BatchRequestTooLong, "The length of all the messages put together is more than the limit.",
		},
		{
			"large", Publish{Topic: "t.fifo", Batch: true, Large: true, Entries: []PublishEntry{
				entry(group, id, long+long+long), entry(group, "2", long)}}, 0, "",
		},
		{
			"a large batch too long", Publish{Topic: "t.fifo", Batch: true, Large: true, Entries: []PublishEntry{
				entry(group, id, long+long), entry(group, "2", long+long+"x")}},
			refusal.BatchRequestTooLong, "The length of all the messages put together is more than the limit.",
		},
		{"too many of a large batch", Publish{Topic: "t.fifo", Batch: true, Large: true, Entries: make([]PublishEntry, 4501)},
			refusal.TooManyEntriesInBatchRequest, "The batch request contains more entries than permissible."},
		{"no topic", Publish{Entries: []PublishEntry{entry(group, id, "m")}}, refusal.NotFound, "Topic does not exist"},
		{"empty subject", Publish{Topic: "t.fifo", Entries: []PublishEntry{{SubjectGiven: true}}}, refusal.SNSInvalidParameter,
			"Invalid parameter: Subject"},
		{"empty", Publish{Topic: "t.fifo", Entries: []PublishEntry{entry(group, id, "")}}, refusal.SNSInvalidParameter,
			"Invalid parameter: Empty message"},
		{"too long", Publish{Topic: "t.fifo", Entries: []PublishEntry{entry(group, id, long+"x")}}, refusal.SNSInvalidParameter,
			"Invalid parameter: Message too long"},
		{
			"an attribute",
			Publish{Topic: "t", Entries: []PublishEntry{{Message: "m", Attributes: []MessageAttribute{{Name: "x", DataType: "String"}}}}},
			refusal.ParameterValueInvalid, "The message attribute 'x' must contain non-empty message attribute value " +
				"for message attribute type 'String'.",
		},
		{
			"standard with options",
			Publish{Topic: "t", Entries: []PublishEntry{{Message: "m", Options: &SendOptions{EnqueueAt: 1}}}},
			refusal.UnsupportedOperation,
			"Scheduled messages, partition keys and times to live are only available on FIFO topics.",
		},
		{
			"bad time",
			Publish{Topic: "t.fifo", Entries: []PublishEntry{{Message: "m", Options: &SendOptions{EnqueueAt: -1}}}},
			refusal.SNSInvalidParameter,
			"Invalid parameter: Value -1 for parameter EnqueueAt is invalid. Reason: Must be a number of milliseconds since 1970, " +
				"before the year 10000.",
		},
		{
			"group and key",
			Publish{Topic: "t.fifo", Entries: []PublishEntry{
				{Message: "m", GroupID: "g", GroupIDGiven: true, Options: &SendOptions{PartitionKey: "k"}}}},
			refusal.SNSInvalidParameter,
			"Invalid parameter: Value k for parameter PartitionKey is invalid. Reason: It must be equal to the MessageGroupId if both " +
				"are given.",
		},
		{
			"standard with an id",
			Publish{Topic: "t", Entries: []PublishEntry{entry(group, id, "m")}},
			refusal.SNSInvalidParameter,
			"Invalid parameter: MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter " +
				"that is not valid for this topic type",
		},
		{"standard with a group", Publish{Topic: "t", Entries: []PublishEntry{{Message: "m", GroupID: group, GroupIDGiven: true}}}, 0, ""},
		{
			"bad id",
			Publish{Topic: "t.fifo", Entries: []PublishEntry{entry(group, "a b", "m")}},
			refusal.SNSInvalidParameter,
			"Invalid parameter: MessageDeduplicationId Reason: can only include alphanumeric and punctuation " +
				"characters. 1 to 128 in length",
		},
		{
			"bad group",
			Publish{Topic: "t.fifo", Entries: []PublishEntry{entry("", id, "m")}},
			refusal.SNSInvalidParameter,
			"Invalid parameter: MessageGroupId Reason: can only include alphanumeric and punctuation characters. 1 to 128 in length",
		},
		{
			"bad character",
			Publish{Topic: "t.fifo", Entries: []PublishEntry{entry(group, id, "\x00")}},
			refusal.SNSInvalidParameter,
			"Invalid parameter: Message Reason: invalid characters found",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := c.command.Validate()
			if c.text == "" && err != nil || c.text != "" && (err == nil || err.Code != c.code || err.Message != c.text) {
				t.Errorf("got %v, want %d %s", err, c.code, c.text)
			}
		})
	}
}

func TestPublishIsPrepared(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t.fifo", Attribute{Name: "ContentBasedDeduplication", Value: "true"})
	given := &Publish{Topic: "t.fifo", Entries: []PublishEntry{{Message: "Test", GroupID: "g", GroupIDGiven: true}}}
	ready, err := Prepare(given)
	if err != nil {
		t.Fatal(err)
	}
	hash := ready.Command.(*Publish).Entries[0].ContentHash
	if fmt.Sprintf("%x", hash) != "532eaabd9574880dbf76b9b8cc00832c20a6ec113d682299550d7a6e0f345e25" ||
		given.Entries[0].ContentHash != nil {
		t.Errorf("prepared with %x, given with %x", hash, given.Entries[0].ContentHash)
	}
	first := w.must(ready.Command).(Published).Entries[0]
	w.pass(logtime.Second)
	again := w.must(given).(Published).Entries[0]
	if want := (PublishedEntry{MessageID: first.MessageID, Sequence: first.Sequence, Duplicate: true,
		AcceptedAt: w.at.Add(-logtime.Second)}); again != want {
		t.Errorf("without the hash it was answered %+v, want %+v", again, want)
	}
}

// apply repeats the checks that ordering and deduplication depend on.
func TestPublishIsCheckedAgain(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t.fifo")
	w.createTopic("plain")
	w.refused(&Publish{Topic: "t.fifo", Batch: true, Entries: []PublishEntry{entry("g", "1", "m"), {Message: "m"}}},
		refusal.SNSInvalidParameter, "Invalid parameter: The MessageGroupId parameter is required for FIFO topics")
	w.refused(&Publish{Topic: "t.fifo", Entries: []PublishEntry{{Message: "m", GroupID: "g", GroupIDGiven: true}}},
		refusal.SNSInvalidParameter,
		"Invalid parameter: The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly")
	w.refused(&Publish{Topic: "none", Entries: []PublishEntry{{Message: "m"}}}, refusal.NotFound, "Topic does not exist")
	w.publish("t.fifo", entry("g", "1", "m"))
}

// A body is stored once for all subscriptions, and freed with the last message.
func TestOneBodyForManySubscriptions(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t.fifo")
	const subscriptions, body = 100, 10 << 10
	for i := range subscriptions {
		name := fmt.Sprint("q", i, ".fifo")
		w.create(name)
		w.subscribe("t.fifo", name, Attribute{Name: rawDelivery, Value: fmt.Sprint(i%2 == 0)})
	}
	size := func() int64 { return w.b.View().StateBytes() }
	before := size()
	w.publish("t.fifo", entry("g", "1", strings.Repeat("x", body)))
	if grown := size() - before; grown < body || grown > body+subscriptions*1024 {
		t.Errorf("the state grew by %d bytes", grown)
	}
	restored, err := restore(w.b.Freeze())
	if err != nil {
		t.Fatal(err)
	}
	if got := restored.View().StateBytes(); got != size() {
		t.Errorf("restored, the state has %d bytes, before %d", got, size())
	}
	for i := range subscriptions {
		name := fmt.Sprint("q", i, ".fifo")
		got := w.receive(name, 1)
		if len(got) != 1 || !strings.Contains(got[0].Body.String(), "xxxx") {
			t.Fatalf("%s received %v", name, got)
		}
		if held := w.b.publications.Bytes(); held < body || held > body+1024 {
			t.Fatalf("%d bytes before the message of %s was deleted", held, name)
		}
		w.must(&DeleteMessages{Queue: name, Handles: []string{got[0].Handle.String()}})
	}
	if held := w.b.publications.Bytes(); held != 0 {
		t.Errorf("%d bytes are held for no message", held)
	}
}

// A purge or deletion takes constant time; later commands release the publications.
func TestDroppedMessagesAreReleasedLater(t *testing.T) {
	for name, drop := range map[string]Command{ // order does not matter: each is a test of its own
		"purge": &PurgeQueue{Queue: "q.fifo"}, "deletion": &DeleteQueue{Queue: "q.fifo"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create("q.fifo")
			w.create("kept.fifo")
			w.createTopic("t.fifo")
			w.subscribe("t.fifo", "q.fifo")
			const messages = 2*releaseBudget + 1
			for i := range messages {
				if i == messages-1 {
					w.subscribe("t.fifo", "kept.fifo")
				}
				cmd := &Publish{Topic: "t.fifo", Endpoint: publishedAt, Entries: []PublishEntry{entry("g", fmt.Sprint(i), "message")}}
				if _, err := w.b.Apply(w.at, cmd); err != nil {
					t.Fatal(err)
				}
			}
			each := w.b.publications.Bytes() / messages
			w.must(drop)
			left := w.b.publications.Bytes() / each
			if left >= messages || left < messages-2*releaseBudget || w.b.NextDeadline() != w.b.Now() {
				t.Errorf("%d of %d publications are held right after, the next deadline is %d at %d", left, messages, w.b.NextDeadline(),
					w.b.Now())
			}
			frozen := w.b.Freeze()
			w.must(&AdvanceClock{})
			if held := w.b.publications.Bytes() / each; held != 1 || len(w.b.releases.pending) != 0 {
				t.Errorf("%d publications are held after the clock was advanced, one has a message", held)
			}
			restored, err := restore(frozen)
			if err != nil || restored.publications.Bytes() != w.b.publications.Bytes() || restored.StateHash() != frozen.StateHash() {
				t.Errorf("a replica restored in between holds %d bytes, not %d (%v)", restored.publications.Bytes(),
					w.b.publications.Bytes(), err)
			}
			if got := w.receive("kept.fifo", 10); len(got) != 1 {
				t.Errorf("the message that was kept: %v", got)
			}
		})
	}
}

// The envelope is built for each receive and is always equal.
func TestEnvelopeOfRepeatedReceives(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	w.createTopic("t.fifo")
	w.subscribe("t.fifo", "q.fifo")
	sent := w.publish("t.fifo", PublishEntry{
		Message: "text", Subject: "subject", SubjectGiven: true, GroupID: "g", GroupIDGiven: true, DeduplicationID: "1",
		DeduplicationIDGiven: true,
		Attributes:           []MessageAttribute{{Name: "n", DataType: "Number", Value: "99.12"}},
	})[0]
	first := w.receive("q.fifo", 1)[0]
	w.must(&SetTopicAttributes{Topic: "t.fifo", Attributes: []Attribute{{Name: "DisplayName", Value: "other"}}})
	w.must(&DeleteTopic{Topic: "t.fifo"})
	w.pass(logtime.Minute)
	second := w.receive("q.fifo", 1)[0]
	if first.Body.String() != second.Body.String() || second.ReceiveCount != 2 || len(second.Attributes) != 0 {
		t.Errorf("received %+v, then %+v", first, second)
	}
	if !strings.Contains(first.Body.String(), `"MessageId":"`+sent.MessageID.String()+`","SequenceNumber":"`+sent.Sequence.String()+`"`) {
		t.Errorf("the envelope of %s is %s", sent.MessageID, first.Body.String())
	}
	if first.MessageID == sent.MessageID {
		t.Error("the queue gave the message the id of the topic")
	}
	peeked, err := w.b.View().Peek("q.fifo", 0, "", 1)
	if err != nil || peeked[0].Body.String() != first.Body.String() {
		t.Errorf("peeked %v, %v", peeked, err)
	}
}

// Deliveries may exceed the queue's MaximumMessageSize, but not the largest of all queues.
func TestLongEnvelopes(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo", Attribute{Name: "MaximumMessageSize", Value: "1024"})
	w.create("raw.fifo")
	w.createTopic("t.fifo")
	w.subscribe("t.fifo", "q.fifo")
	w.subscribe("t.fifo", "raw.fifo", Attribute{Name: rawDelivery, Value: "true"})
	w.publish("t.fifo", entry("g", "1", strings.Repeat("x", limits.PublishBytesMax)))
	if n := w.stored("q.fifo"); n != 1 {
		t.Errorf("%d messages", n)
	}
	// In an envelope, accepted characters and binary attributes take at most twice their bytes.
	attribute := MessageAttribute{Name: "b", DataType: "Binary", Value: strings.Repeat("\xff", limits.PublishBytesMax/2-7)}
	long := entry("g", "2", strings.Repeat(`"`, limits.PublishBytesMax/2))
	long.Attributes = []MessageAttribute{attribute}
	if err := (&Publish{Topic: "t.fifo", Entries: []PublishEntry{long}}).Validate(); err != nil {
		t.Fatal(err)
	}
	w.publish("t.fifo", long)
	w.pass(logtime.Minute)
	for _, m := range w.receive("q.fifo", 10) {
		if m.Body.Len() <= limits.PublishBytesMax || m.Body.Len() > limits.MessageBytesMax {
			t.Errorf("an envelope of %d bytes", m.Body.Len())
		}
	}
}

// A failed publish changes nothing. A repeated one is refused unless the topic remembers it.
func TestRepeatedPublish(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t.fifo")
	w.pass(logtime.Second)
	since := w.at
	cmd := &Publish{Topic: "t.fifo", Entries: []PublishEntry{entry("g", "1", "m")}, RepeatedSince: since}
	if sent := w.must(cmd).(Published).Entries[0]; sent.Duplicate {
		t.Errorf("the first was answered %+v", sent)
	}
	if sent := w.must(cmd).(Published).Entries[0]; !sent.Duplicate {
		t.Errorf("the second was answered %+v", sent)
	}
	const unknown = "The topic can no longer detect whether it accepted this publish before."
	w.must(&SetTopicAttributes{Topic: "t.fifo", Attributes: []Attribute{{Name: "DisplayName", Value: "x"}}})
	w.refused(cmd, refusal.UnsupportedOperation, unknown)
	w.pass(logtime.Hour)
	w.must(&AdvanceClock{})
	w.refused(cmd, refusal.UnsupportedOperation, unknown)
}

// The clock expires ids of topics without a publish.
func TestTopicsForgetIDs(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t.fifo", Attribute{Name: "DeduplicationWindowSeconds", Value: "20"})
	empty := w.b.View().StateBytes()
	for i := range 30 {
		w.publish("t.fifo", entry("g", fmt.Sprint(i), "m"))
	}
	due := w.b.NextDeadline()
	if due <= w.at.Add(20*logtime.Second) || due > w.at.Add(31*logtime.Second) {
		t.Fatalf("ids accepted at %d are forgotten at %d", w.at, due)
	}
	w.at = due
	w.must(&AdvanceClock{})
	if got := w.b.View().StateBytes(); got != empty || w.b.NextDeadline() != 0 {
		t.Errorf("%d bytes, %d before; the next deadline is %d", got, empty, w.b.NextDeadline())
	}
}

// A restored epoch skips sequence numbers of topics, too.
func TestEpochsOfTopics(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t.fifo")
	before := w.publish("t.fifo", entry("g", "1", "m"))[0]
	w.b.BeginEpoch("other", BrokerRecord{})
	after := w.publish("t.fifo", entry("g", "2", "m"))[0]
	if after.Sequence <= before.Sequence+sequenceGap || after.MessageID == before.MessageID {
		t.Errorf("number %d before, %d after", before.Sequence, after.Sequence)
	}
	if again := w.publish("t.fifo", entry("g", "1", "m"))[0]; again.MessageID != before.MessageID {
		t.Errorf("the duplicate was answered %+v", again)
	}
}

// The default window of a topic is 300 seconds, and duplicates do not extend it.
func TestDefaultWindowOfTopics(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t.fifo")
	first := w.publish("t.fifo", entry("g", "1", "m"))[0]
	accepted := w.at
	for _, after := range []logtime.Timestamp{150_000, 299_999} {
		w.at = accepted + after
		if again := w.publish("t.fifo", entry("g", "1", "m"))[0]; !again.Duplicate || again.MessageID != first.MessageID {
			t.Errorf("after %d ms: %+v", after, again)
		}
	}
	w.at = accepted + 300_000
	if again := w.publish("t.fifo", entry("g", "1", "m"))[0]; again.Duplicate || again.MessageID == first.MessageID {
		t.Errorf("after the window: %+v", again)
	}
}

// A trace header passes through topics, raw delivery, replay and a move.
func TestTraceHeaderOfAPublish(t *testing.T) {
	const trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1"
	w := newWorld(t)
	w.createTopic("t.fifo", archivedDays("1"))
	w.create("raw.fifo")
	w.create("wrapped.fifo")
	w.create("late.fifo")
	w.subscribe("t.fifo", "raw.fifo", Attribute{Name: rawDelivery, Value: "true"})
	w.subscribe("t.fifo", "wrapped.fifo")
	traced := entry("g", "1", "traced")
	traced.TraceHeader = trace
	w.publish("t.fifo", traced, entry("h", "2", "plain"))
	w.subscribe("t.fifo", "late.fifo", replayFrom(w.at))
	w.replay()
	for _, name := range []string{"raw.fifo", "wrapped.fifo", "late.fifo"} {
		got := w.receive(name, 10)
		if len(got) != 2 || got[0].TraceHeader != trace || got[1].TraceHeader != "" {
			t.Errorf("%s received %+v", name, got)
		}
	}
	traced.TraceHeader = "\x00"
	refusaltest.Want(t, (&Publish{Topic: "t.fifo", Entries: []PublishEntry{traced}}).Validate(), refusal.SNSInvalidParameter,
		"Invalid parameter: AWSTraceHeader Reason: it is too long or has invalid characters")
}

// The record of an id at a topic equals the answer to a publish with it, and does not depend on
// queues.
func TestKnownTopicID(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t.fifo")
	w.createTopic("standard")
	w.create("t.fifo")
	w.send("t.fifo", "g", "sent", "m")
	first := w.publish("t.fifo", entry("g", "published", "m"))[0]
	known, found, err := w.b.View().KnownTopicID("t.fifo", DeduplicationID{ID: "published"})
	if err != nil || !found || known.MessageID != first.MessageID || known.Sequence != first.Sequence ||
		known.AcceptedAt != first.AcceptedAt ||
		known.ForgottenAt != first.AcceptedAt.Add(logtime.Seconds(300)) {
		t.Errorf("%+v %v %v, of %+v", known, found, err, first)
	}
	if _, found, err := w.b.View().KnownTopicID("t.fifo", DeduplicationID{ID: "sent"}); found || err != nil {
		t.Errorf("the topic knows what was sent to a queue: %v %v", found, err)
	}
	for name, id := range map[string]string{"standard": "published", "nowhere.fifo": "published", "t.fifo": "a\x00b"} {
		if _, _, err := w.b.View().KnownTopicID(name, DeduplicationID{ID: id}); err == nil {
			t.Errorf("%s was asked for %q", name, id)
		}
	}
}
