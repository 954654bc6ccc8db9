package explain

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
)

// state is a Broker with the explanations that a test got from it.
type state struct {
	t   *testing.T
	b   *queue.Broker
	at  queue.Timestamp
	got map[string]bool // subject and state
}

func newState(t *testing.T) *state {
	return &state{t: t, b: queue.New(), at: 1_800_000_000_000, got: map[string]bool{}}
}

func (s *state) must(cmd queue.Command) queue.Result {
	s.t.Helper()
	result, refused := s.b.Apply(s.at, cmd)
	if refused != nil {
		s.t.Fatalf("%T: %v", cmd, refused)
	}
	return result
}

func (s *state) create(name string, pairs ...string) {
	s.t.Helper()
	c := &queue.CreateQueue{Queue: name, Attributes: list(pairs)}
	if strings.HasSuffix(name, ".fifo") {
		c.Attributes = append(c.Attributes, queue.Attribute{Name: "FifoQueue", Value: "true"})
	}
	s.must(c)
}

func (s *state) set(name string, pairs ...string) {
	s.t.Helper()
	s.must(&queue.SetQueueAttributes{Queue: name, Attributes: list(pairs)})
}

func list(pairs []string) (out []queue.Attribute) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, queue.Attribute{Name: pairs[i], Value: pairs[i+1]})
	}
	return out
}

// send sends a message whose deduplication id is its body, and returns its number.
func (s *state) send(name, group, body string, change ...func(*queue.SendEntry)) queue.SequenceNumber {
	s.t.Helper()
	e := queue.SendEntry{Body: body}
	if strings.HasSuffix(name, ".fifo") {
		e.GroupID, e.GroupIDGiven, e.DeduplicationID, e.DeduplicationIDGiven = group, true, body, true
	}
	for _, c := range change {
		c(&e)
	}
	s.must(&queue.SendMessages{Queue: name, Entries: []queue.SendEntry{e}})
	stored, err := s.b.View().Peek(name, 0, "", 100)
	if err != nil {
		s.t.Fatal(err)
	}
	return stored[len(stored)-1].Sequence
}

func (s *state) receive(name string, timeout int64) []queue.ReceivedMessage {
	s.t.Helper()
	c := &queue.ReceiveMessages{Queue: name, MaxMessages: queue.Some(10), VisibilityTimeout: queue.Some(timeout)}
	return s.must(c).(queue.MessagesReceived).Messages
}

// want checks the state of an explanation and sentences of its text.
func (s *state) want(subject, code string, e Explanation, err *queue.Error, texts ...string) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %v", subject, err)
	}
	s.got[subject+" "+e.State] = true
	if e.State != code || e.Summary == "" {
		s.t.Errorf("%s: %+v, want %s", subject, e, code)
	}
	for _, text := range texts {
		if !strings.Contains(e.Text(), text) {
			s.t.Errorf("%s: %q lacks %q", subject, e.Text(), text)
		}
	}
}

func (s *state) queue(name, code string, texts ...string) {
	s.t.Helper()
	e, err := Queue(s.b.View(), name)
	s.want("queue", code, e, err, texts...)
}

func (s *state) group(name, group, code string, texts ...string) {
	s.t.Helper()
	e, err := Group(s.b.View(), name, group)
	s.want("group", code, e, err, texts...)
}

func (s *state) message(name string, n queue.SequenceNumber, code string, texts ...string) {
	s.t.Helper()
	e, err := Message(s.b.View(), name, n)
	s.want("message", code, e, err, texts...)
}

func (s *state) id(name, id, code string, texts ...string) {
	s.t.Helper()
	e, err := Deduplication(s.b.View(), name, queue.DeduplicationID{ID: id})
	s.want("deduplication id", code, e, err, texts...)
}

func (s *state) topic(name, code string, texts ...string) {
	s.t.Helper()
	e, err := Topic(s.b.View(), name)
	s.want("topic", code, e, err, texts...)
}

func (s *state) subscription(arn, code string, p *Publication, texts ...string) {
	s.t.Helper()
	e, err := Subscription(s.b.View(), arn, p)
	s.want("subscription", code, e, err, texts...)
}

// TestEveryState produces each state of docs/reference/explanations.md for each subject that has it.
func TestEveryState(t *testing.T) {
	s := newState(t)
	s.messages()
	s.heldMessages()
	s.deduplication()
	s.topics()
	s.limit()
	s.forwarding()
	documented := documentedStates(t)
	for _, subject := range documented {
		if !s.got[subject] {
			t.Errorf("no explanation here is of a %s", subject)
		}
	}
	for subject := range s.got {
		if !slices.Contains(documented, subject) {
			t.Errorf("docs/reference/explanations.md lacks the state: %s", subject)
		}
	}
}

// documentedStates returns the rows of the page, a subject and a state each.
func documentedStates(t *testing.T) (out []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/explanations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ([^|]+) \\|").FindAllSubmatch(page, -1) {
		for subject := range strings.SplitSeq(string(row[2]), ", ") {
			out = append(out, subject+" "+string(row[1]))
		}
	}
	if len(out) < 30 {
		t.Fatalf("the page has only %d rows", len(out))
	}
	return out
}

// messages produces the states of messages without a receiver.
func (s *state) messages() {
	s.create("q.fifo")
	s.queue("q.fifo", "empty", "The queue has no messages.")
	s.group("q.fifo", "g", "empty")
	first, second := s.send("q.fifo", "g", "1"), s.send("q.fifo", "g", "2")
	s.queue("q.fifo", "ready")
	s.group("q.fifo", "g", "ready", "number "+first.String())
	s.message("q.fifo", first, "ready", "Until 2027-01-15T08:05:00Z a send with its deduplication id 1 is a duplicate.")
	s.message("q.fifo", second, "waiting", "waits for 1 earlier message of its group")
	s.set("q.fifo", "DeliveryPaused", "true")
	s.queue("q.fifo", "paused")
	s.group("q.fifo", "g", "paused")
	s.message("q.fifo", first, "paused")
	s.set("q.fifo", "DeliveryPaused", "false")
	s.set("q.fifo", "EntityStatus", "ReceiveDisabled")
	s.queue("q.fifo", "disabled", "Receiving from the queue is disabled: receives get no messages. Sends go on.")
	s.group("q.fifo", "g", "disabled")
	s.message("q.fifo", first, "disabled")
	s.set("q.fifo", "EntityStatus", "Active")

	s.create("slow.fifo", "DelaySeconds", "900", "MessageRetentionPeriod", "600")
	delayed := s.send("slow.fifo", "g", "1")
	s.queue("slow.fifo", "delayed")
	s.group("slow.fifo", "g", "delayed", "Before that, at 2027-01-15T08:10:00Z, its retention ends")
	s.message("slow.fifo", delayed, "delayed", "Before that, at 2027-01-15T08:10:00Z, its retention ends")
	later := s.send("slow.fifo", "h", "2", func(e *queue.SendEntry) { e.Options = &queue.SendOptions{EnqueueAt: s.at + 60_000} })
	s.message("slow.fifo", later, "scheduled", "At 2027-01-15T08:01:00Z it is enqueued with a new sequence number.")
}

// forwarding produces the states of a queue that forwards. The clock of other commands shows its message
// before it is forwarded.
func (s *state) forwarding() {
	s.create("from.fifo", "ForwardTo", "q.fifo", "DelaySeconds", "5")
	s.queue("from.fifo", "forwarding", "The queue forwards its messages to q.fifo: receives get no messages.")
	n := s.send("from.fifo", "g", "forwarded")
	s.message("from.fifo", n, "delayed", "The queue forwards its messages to q.fifo: receives get no messages.")
	s.at += 5_000
	s.create("other.fifo")
	s.group("from.fifo", "g", "forwarding")
	s.message("from.fifo", n, "forwarding")
}

// heldMessages produces the states of received messages.
func (s *state) heldMessages() {
	s.create("dead.fifo")
	s.create("held.fifo", "RedrivePolicy", `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":1}`)
	first, second := s.send("held.fifo", "g", "1"), s.send("held.fifo", "g", "2")
	held := s.receive("held.fifo", 60)
	s.queue("held.fifo", "blocked", "All 1 message group with messages are blocked")
	s.group("held.fifo", "g", "in-flight", "(receive number 1), until 2027-01-15T08:01:00Z",
		"a receive moves it to the dead-letter queue dead.fifo")
	s.message("held.fifo", first, "in-flight",
		"At 2027-01-15T08:01:00Z it becomes visible, and a receive moves it to the dead-letter queue")
	s.message("held.fifo", second, "in-flight", "is delivered after the earlier messages of its group")
	s.must(&queue.ReleaseGroup{Queue: "held.fifo", Group: "g"})
	s.group("held.fifo", "g", "dead-letter", "it was received once.")
	s.message("held.fifo", first, "dead-letter", "The next receive moves it to the dead-letter queue dead.fifo.")
	s.receive("held.fifo", 0)
	dead, err := s.b.View().Peek("dead.fifo", 0, "", 10)
	if err != nil || len(dead) != 2 || dead[0].MessageID != held[0].MessageID {
		s.t.Fatalf("dead letters: %v %v", dead, err)
	}
	s.message("dead.fifo", dead[0].Sequence, "ready", "It was dead-lettered from held.fifo.")
	s.offersMove("dead.fifo", dead[0].Sequence, true)

	s.create("session.fifo")
	locked := s.send("session.fifo", "g", "1")
	s.must(&queue.AcceptSession{Queue: "session.fifo", SessionID: "g", LockSeconds: queue.Some(60)})
	s.group("session.fifo", "g", "session", "until 2027-01-15T08:01:00Z unless it renews the lock")
	s.message("session.fifo", locked, "session")

	s.create("standard")
	s.send("standard", "", "1")
	s.receive("standard", 60)
	s.queue("standard", "in-flight", "At 2027-01-15T08:01:00Z a message becomes available")

	s.create("deferred.fifo")
	n := s.send("deferred.fifo", "g", "1")
	s.must(&queue.Defer{Queue: "deferred.fifo", Handles: []string{s.receive("deferred.fifo", 60)[0].Handle.String()}})
	s.queue("deferred.fifo", "deferred")
	s.message("deferred.fifo", n, "deferred", "it does not expire")
	s.must(&queue.ReceiveDeferred{Queue: "deferred.fifo", Sequences: []queue.SequenceNumber{n}, VisibilityTimeout: queue.Some(60)})
	s.message("deferred.fifo", n, "in-flight", "At 2027-01-15T08:01:00Z it is deferred again")
	if e, _ := Message(s.b.View(), "deferred.fifo", n); e.Group != nil {
		s.t.Errorf("the receiver of the group is said to have a deferred message: %+v", e)
	}
}

func (s *state) deduplication() {
	s.create("ids.fifo", "MaxDeduplicationEntries", "1")
	s.id("ids.fifo", "new", "unknown", "remembers an id for 5 minutes")
	s.send("ids.fifo", "g", "known")
	s.id("ids.fifo", "known", "duplicate", "until 2027-01-15T08:05:00Z", "The first message is now stored.")
	s.id("ids.fifo", "new", "full", "refused with OverLimit")
	s.create("off.fifo", "DeduplicationEnabled", "false")
	s.id("off.fifo", "new", "off")
	s.id("standard", "new", "off")
	s.create("both.fifo", "MaxDeduplicationEntries", "3", "ContentBasedDeduplication", "true", "ContentDeduplicationMode", "IdAndContent")
	s.id("both.fifo", "new", "unknown")
	s.send("both.fifo", "g", "known")
	s.id("both.fifo", "new", "full", "refused with OverLimit") // id and content are two entries
	s.must(&queue.CreateTopic{Topic: "t.fifo", TopicARN: "arn:aws:sns:us-east-1:000000000000:t.fifo",
		Attributes: []queue.Attribute{{Name: "FifoTopic", Value: "true"}}})
	e, err := TopicDeduplication(s.b.View(), "t.fifo", queue.DeduplicationID{ID: "new"})
	s.want("deduplication id", "unknown", e, err, "The topic does not remember the id.")
}

// subscribe subscribes a queue or a URL to the topic t.
func (s *state) subscribe(endpoint string, pairs ...string) string {
	s.t.Helper()
	c := &queue.Subscribe{Topic: "t", Protocol: attributes.ProtocolQueue, Endpoint: "arn:aws:sqs:us-east-1:000000000000:" + endpoint,
		Owner: "000000000000", Attributes: list(pairs)}
	if strings.HasPrefix(endpoint, "http") {
		c.Protocol, c.Endpoint, c.Server = attributes.ProtocolHTTP, endpoint, "http://server:9324"
	}
	return s.must(c).(queue.Subscribed).SubscriptionARN
}

func (s *state) topics() {
	s.must(&queue.CreateTopic{Topic: "t", TopicARN: "arn:aws:sns:us-east-1:000000000000:t"})
	s.topic("t", "no-subscribers")
	web := s.subscribe("http://example.org/hook")
	s.subscription(web, "pending", nil, "The subscription is not confirmed")
	s.topic("t", "no-subscribers", "1 subscription is not confirmed yet.")
	good := s.subscribe("standard", "FilterPolicy", `{"color":["red"]}`)
	s.topic("t", "delivers", "delivers to 1 subscription.")
	s.subscription(good, "delivers", nil)
	red := []queue.MessageAttribute{{Name: "color", DataType: "String", Value: "red"}}
	s.subscription(good, "delivers", &Publication{Attributes: red, Body: "m"}, "The message passes the filter policy.")
	s.subscription(good, "filtered", &Publication{Body: "m"}, "It does not match the filter for: color.")
	bad := s.subscribe("missing")
	s.topic("t", "failing", "1 subscription of the topic cannot deliver.")
	s.subscription(bad, "failing", nil, "The queue missing does not exist", "The subscription loses each message")
	e, _ := Subscription(s.b.View(), bad, nil)
	if last := e.Commands[len(e.Commands)-1].Line; last != "seriatim topic unsubscribe t missing" {
		s.t.Errorf("the command is %q", last)
	}

	subscriptions := s.b.View().ListSubscriptions(0, 10)
	var token string
	s.b.View().ScanDeliveries(subscriptions[0].Number, func(_ uint64, _ queue.Timestamp, request func() queue.WebDelivery) bool {
		token = request().Request.Confirmation.Token
		return true
	})
	s.must(&queue.ConfirmSubscription{Topic: "t", Token: token})
	s.must(&queue.Publish{Topic: "t", SenderID: "000000000000", Entries: []queue.PublishEntry{{Message: "m"}}})
	s.subscription(web, "waiting", nil, "1 message is waiting for http://example.org to accept it.")
}

// limit produces the states of a queue with as many messages in flight as it may have, of which one
// that is not could be dead-lettered.
func (s *state) limit() {
	s.create("full.fifo", "DeduplicationEnabled", "false")
	first := s.send("full.fifo", "first", "1")
	handle := s.receive("full.fifo", 43_200)[0].Handle.String()
	for n := 1; n <= limits.InFlightMax; n += limits.StreamEntriesMax {
		c := &queue.SendMessages{Queue: "full.fifo", Batch: true, Streamed: true}
		for i := range min(limits.StreamEntriesMax, limits.InFlightMax-n+1) {
			id := fmt.Sprint("g", n+i)
			c.Entries = append(c.Entries, queue.SendEntry{
				Body: "x", GroupID: id, GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: true,
			})
		}
		s.must(c)
		s.must(&queue.ReceiveMessages{Queue: "full.fifo", Streamed: true, MaxMessages: queue.Some(limits.StreamEntriesMax),
			VisibilityTimeout: queue.Some(43_200)})
	}
	s.queue("full.fifo", "limit", "its limit of 120000 messages in flight")
	s.at++ // the message is visible later than the one that was never received
	visible := []queue.VisibilityEntry{{Handle: handle, VisibilityTimeout: queue.Some(0)}}
	s.must(&queue.ChangeMessageVisibility{Queue: "full.fifo", Entries: visible})
	s.receive("full.fifo", 43_200)
	s.set("full.fifo", "RedrivePolicy", `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":1}`)
	s.group("full.fifo", "first", "limit")
	s.message("full.fifo", first, "limit", "It is delivered when messages in flight are deleted or become visible.")
	if moved := s.receive("full.fifo", 43_200); len(moved) != 0 {
		s.t.Errorf("a receive at the limit got %d messages", len(moved))
	}
	s.message("full.fifo", first, "limit")
}
