package queue

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// accepted runs a command as the accepting node does: prepared and applied, or refused before the
// log.
func (w *world) accepted(cmd Command) (result Result, err *Error, logged bool) {
	w.t.Helper()
	prepared, refused := Prepare(cmd)
	if refused != nil {
		result, err = w.b.View().Refuse(cmd, refused)
		return result, err, false
	}
	if result, err = w.apply(prepared.Command); err == nil {
		result = prepared.Answer(result)
	}
	return result, err, true
}

// Errors that need no state are returned before the log, as if the command had been applied.
func TestRefusedBeforeTheLog(t *testing.T) {
	w := newWorld(t)
	w.create("q")
	w.create("small", Attribute{Name: "MaximumMessageSize", Value: "1024"})
	w.create("q.fifo")
	send := func(queue string, batch bool, entries ...SendEntry) *SendMessages {
		return &SendMessages{Queue: queue, Batch: batch, Entries: entries}
	}
	bad := SendEntry{Body: "\x00"}
	long := SendEntry{Body: strings.Repeat("\x00", limits.MessageBytesMax+1)}
	for _, c := range []struct {
		name string
		cmd  Command
		want string
	}{
		{"a character", send("q", false, bad), "Invalid characters found."},
		{"a character, in an unknown queue", send("none", false, bad), "The specified queue does not exist."},
		{"too long for any queue", send("q", false, long), "Message must be shorter than 1048576 bytes."},
		{"too long for this queue", send("small", false, long), "Message must be shorter than 1024 bytes."},
		{"a batch that is too long", send("q", true, long),
			"Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes."},
		{"a batch that is too long and has no ids", send("q.fifo", true, long), "The request must contain the parameter MessageGroupId."},
		{"a handle", &DeleteMessages{Queue: "q", Handles: []string{"x"}}, `The input receipt handle "x" is not`},
		{"a handle of 5 MiB", &DeleteMessages{Queue: "q", Handles: []string{strings.Repeat("x", 5<<20)}},
			`x..." is not a valid receipt handle.`},
		{"a name of 5 MiB", &PurgeQueue{Queue: strings.Repeat("x", 5<<20)}, "The specified queue does not exist."},
		{"an attribute that cannot change", &SetQueueAttributes{Queue: "q.fifo", Attributes: []Attribute{
			{Name: "CompatibilityProfile", Value: "ymq"}, {Name: "VisibilityTimeout", Value: "x"},
		}}, "the attribute cannot be changed after creation."},
	} {
		t.Run(c.name, func(t *testing.T) {
			hash := w.b.StateHash()
			_, err, logged := w.accepted(c.cmd)
			if err == nil || !strings.Contains(err.Message, c.want) || len(err.Message) > 2*refusal.EchoBytesMax {
				t.Fatalf("refused with %.300v", err)
			}
			if logged || hash != w.b.StateHash() {
				t.Fatal("it went into the log")
			}
		})
	}
}

// An error names the limits in force, from the log or before it.
func TestRefusalNamesTheWindowInForce(t *testing.T) {
	topicARN := func(name string) string { return "arn:aws:sns:us-east-1:000000000000:" + name }
	for _, minimum := range []string{"20", "7"} {
		w := newWorld(t)
		w.must(&SetClusterSetting{Name: SettingMinimumWindow, Value: minimum})
		w.create("q.fifo")
		w.must(&CreateTopic{Topic: "t.fifo", TopicARN: topicARN("t.fifo"), Attributes: []Attribute{{Name: "FifoTopic", Value: "true"}}})
		want := "ust be between " + minimum + " and 604800."
		for _, value := range []string{"abc", "", "-1", "0", "6", "20.5", "604801"} {
			window := Attribute{Name: "DeduplicationWindowSeconds", Value: value}
			for _, cmd := range []Command{
				&CreateQueue{Queue: "new.fifo", Attributes: []Attribute{window, {Name: "FifoQueue", Value: "true"}}},
				&SetQueueAttributes{Queue: "q.fifo", Attributes: []Attribute{window}},
				&CreateTopic{Topic: "new.fifo", TopicARN: topicARN("new.fifo"),
					Attributes: []Attribute{window, {Name: "FifoTopic", Value: "true"}}},
				&SetTopicAttributes{Topic: "t.fifo", Attributes: []Attribute{window}},
			} {
				_, err, logged := w.accepted(cmd)
				if err == nil || !strings.HasSuffix(err.Message, want) {
					t.Errorf("%T with %q: %v, want ...%s", cmd, value, err, want)
				}
				if logged && value != "6" {
					t.Errorf("%T with %q went into the log", cmd, value)
				}
			}
		}
	}
}

// Refused entries of a batch keep their positions, and count towards limits of the whole batch.
func TestRefusedEntries(t *testing.T) {
	w := newWorld(t)
	w.create("q")
	w.create("q.fifo")
	bad, long := SendEntry{Body: "\x00"}, SendEntry{Body: "x", GroupID: strings.Repeat("g", 5<<20), GroupIDGiven: true}
	result, err, logged := w.accepted(&SendMessages{Queue: "q", Batch: true, Entries: []SendEntry{bad, {Body: "good"}, long}})
	if err != nil || !logged {
		t.Fatalf("%v, in the log: %v", err, logged)
	}
	sent := result.(MessagesSent).Entries
	if sent[0].Err == nil || sent[0].Err.Code != refusal.InvalidMessageContents || sent[1].Err != nil || sent[2].Err == nil ||
		!strings.Contains(sent[2].Err.Message, "MessageGroupId") {
		t.Fatalf("sent %.300v", sent)
	}
	got := w.receive("q", 10)
	if bodies(got) != "good " {
		t.Fatalf("received %q", bodies(got))
	}
	result, err, logged = w.accepted(&SendMessages{Queue: "q", Batch: true, Entries: []SendEntry{bad, bad}})
	if err != nil || logged || result.(MessagesSent).Entries[1].Err == nil {
		t.Fatalf("a batch without a good entry: %v, %v, in the log: %v", result, err, logged)
	}
	_, err, _ = w.accepted(&SendMessages{Queue: "q.fifo", Batch: true, Entries: []SendEntry{
		{Body: "good", GroupID: "g", GroupIDGiven: true, DeduplicationID: "1", DeduplicationIDGiven: true}, bad,
	}})
	if err == nil || err.Message != noGroupID {
		t.Fatalf("a bad entry without group id: %v", err)
	}
	handle := got[0].Handle.String()
	result, err, _ = w.accepted(&ChangeMessageVisibility{Queue: "q", Batch: true,
		Entries: []VisibilityEntry{{"x", Some(1)}, {handle, Some(1)}, {handle, Some(-1)}}})
	if errs := result.(EntriesDone).Errs; err != nil || errs[0].Code != refusal.ReceiptHandleIsInvalid || errs[1] != nil ||
		errs[2].Code != refusal.InvalidParameterValue {
		t.Fatalf("visibility: %v, %v", errs, err)
	}
	result, err, _ = w.accepted(&DeleteMessages{Queue: "q", Batch: true, Handles: []string{"x", handle}})
	if errs := result.(EntriesDone).Errs; err != nil || errs[0].Message != `The input receipt handle "x" is not a valid receipt handle.` ||
		errs[1] != nil {
		t.Fatalf("delete: %v, %v", errs, err)
	}
	result, err, logged = w.accepted(&ChangeMessageVisibility{Queue: "q", Batch: true, Entries: []VisibilityEntry{{handle, Some(1)}}})
	if errs := result.(EntriesDone).Errs; err != nil || !logged || errs[0].Code != refusal.ReceiptHandleIsInvalid ||
		errs[0].Message != "Message does not exist or is not available for visibility timeout change" {
		t.Fatalf("visibility of a deleted message: %v, %v", errs, err)
	}
}

// A message must not be due for the dead-letter queue before its first receive, so the state
// machine reads a RedrivePolicy again.
func TestReceiveCountIsCheckedAgain(t *testing.T) {
	w := newWorld(t)
	w.create("dlq")
	w.create("q")
	never := []Attribute{redrive("dlq", "0")}
	for _, cmd := range []Command{&CreateQueue{Queue: "p", Attributes: never}, &SetQueueAttributes{Queue: "q", Attributes: never}} {
		if _, err := w.b.Apply(w.b.Now(), cmd); err == nil {
			t.Errorf("%T is applied", cmd)
		}
	}
}
