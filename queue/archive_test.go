package queue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
)

func archivedDays(days string) Attribute {
	return Attribute{Name: "ArchivePolicy", Value: `{"MessageRetentionPeriod":"` + days + `"}`}
}

// replayFrom returns a ReplayPolicy that starts at a log time.
func replayFrom(at Timestamp) Attribute {
	return Attribute{Name: "ReplayPolicy", Value: `{"PointType":"Timestamp","StartingPoint":"` + string(at.AppendRFC3339(nil)) + `"}`}
}

// replay runs all replays, as a leader does.
func (w *world) replay() {
	w.t.Helper()
	for range 1000 {
		running := w.b.View().RunningReplays()
		if len(running) == 0 {
			return
		}
		for _, number := range running {
			w.must(&ReplayMessages{Subscription: number, Max: 3})
		}
	}
	w.t.Fatal("the replays do not end")
}

// publishMany publishes to t.fifo, ten messages at a time.
func (w *world) publishMany(messages int) {
	w.t.Helper()
	for i := 0; i < messages; {
		cmd := &Publish{Topic: "t.fifo", Endpoint: publishedAt, Batch: true}
		for ; i < messages && len(cmd.Entries) < limits.BatchEntriesMax; i++ {
			cmd.Entries = append(cmd.Entries, entry("g", fmt.Sprint(i), "message"))
		}
		w.must(cmd)
	}
}

func TestReplayLimit(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t.fifo", archivedDays("1"))
	var subscriptions []string
	for i := range limits.ReplaysMax + 1 {
		name := fmt.Sprintf("q%d.fifo", i)
		w.create(name)
		subscriptions = append(subscriptions, w.subscribe("t.fifo", name))
	}
	for _, arn := range subscriptions[1:] {
		w.must(&SetSubscriptionAttributes{SubscriptionARN: arn, Attributes: []Attribute{replayFrom(w.at)}})
	}
	const text = "A topic can have 10 replays at a time. Wait until one is completed, or remove a ReplayPolicy."
	w.refused(&SetSubscriptionAttributes{SubscriptionARN: subscriptions[0], Attributes: []Attribute{replayFrom(w.at)}},
		refusal.ReplayLimitExceeded, text)
	w.refused(&Subscribe{Topic: "t.fifo", Endpoint: queueARN("more.fifo"), Attributes: []Attribute{replayFrom(w.at)}},
		refusal.ReplayLimitExceeded, text)
	// The policy of a running replay can change.
	w.must(&SetSubscriptionAttributes{SubscriptionARN: subscriptions[1], Attributes: []Attribute{replayFrom(w.at - 1)}})
	w.must(&Unsubscribe{SubscriptionARN: subscriptions[1]})
	w.must(&SetSubscriptionAttributes{SubscriptionARN: subscriptions[0], Attributes: []Attribute{replayFrom(w.at)}})
	if got := len(w.b.View().RunningReplays()); got != limits.ReplaysMax {
		t.Errorf("%d replays run", got)
	}
	w.replay()
}

// The size of the steps and concurrent publishes do not change the delivered messages.
func TestReplayInSteps(t *testing.T) {
	for step := 1; step <= 8; step++ {
		w := newWorld(t)
		w.create("q.fifo")
		w.createTopic("t.fifo", archivedDays("1"))
		for i := range 7 {
			w.publish("t.fifo", entry("g", fmt.Sprint(i), fmt.Sprint(i)))
			w.pass(logtime.Second)
		}
		w.subscribe("t.fifo", "q.fifo", Attribute{Name: rawDelivery, Value: "true"}, replayFrom(w.at-7000))
		next := 7
		for len(w.b.View().RunningReplays()) > 0 {
			if next < 12 {
				w.publish("t.fifo", entry("g", fmt.Sprint(next), fmt.Sprint(next)))
				next++
			}
			w.must(&ReplayMessages{Subscription: w.b.View().RunningReplays()[0], Max: step})
		}
		for ; next < 14; next++ {
			w.publish("t.fifo", entry("g", fmt.Sprint(next), fmt.Sprint(next)))
		}
		var got []string
		for len(got) < 14 {
			messages := w.receive("q.fifo", 10)
			for _, m := range messages {
				got = append(got, m.Body.String())
				w.must(&DeleteMessages{Queue: "q.fifo", Handles: []string{m.Handle.String()}})
			}
			if len(messages) == 0 {
				break
			}
		}
		if text := strings.Join(got, " "); text != "0 1 2 3 4 5 6 7 8 9 10 11 12 13" {
			t.Errorf("in steps of %d: %s", step, text)
		}
	}
}

// A publication is stored once: archive, first deliveries and replays refer to it.
func TestArchiveHoldsABodyOnce(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	w.createTopic("t.fifo", archivedDays("1"))
	arn := w.subscribe("t.fifo", "q.fifo")
	const body = 100_000
	before := w.b.View().StateBytes()
	w.publish("t.fifo", entry("g", "1", strings.Repeat("x", body)))
	grown := w.b.View().StateBytes() - before
	if grown < body || grown > body+4096 {
		t.Errorf("a body of %d bytes takes %d", body, grown)
	}
	w.must(&PurgeQueue{Queue: "q.fifo"})
	if held := w.b.publications.Bytes(); held < body {
		t.Errorf("the archive holds %d bytes", held)
	}
	w.must(&SetSubscriptionAttributes{SubscriptionARN: arn, Attributes: []Attribute{replayFrom(w.at)}})
	w.replay()
	if again := w.b.View().StateBytes() - before; again > grown+1024 {
		t.Errorf("delivered again it takes %d bytes, at first it took %d", again, grown)
	}
	w.pass(24*logtime.Hour + 11*logtime.Second)
	w.must(&AdvanceClock{})
	w.must(&PurgeQueue{Queue: "q.fifo"})
	w.must(&AdvanceClock{})
	if held := w.b.publications.Bytes(); held != 0 {
		t.Errorf("%d bytes are held after the retention", held)
	}
}

// Dropping an archive takes constant time; later commands release it.
func TestDroppedArchiveIsReleasedLater(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t.fifo", archivedDays("1"))
	const messages = 2*releaseBudget + 1
	w.publishMany(messages)
	each := w.b.publications.Bytes() / messages
	w.must(&SetTopicAttributes{Topic: "t.fifo", Attributes: []Attribute{{Name: "ArchivePolicy", Value: "{}"}}})
	if left := w.b.publications.Bytes() / each; left >= messages || left < messages-2*releaseBudget || w.b.NextDeadline() != w.b.Now() {
		t.Errorf("%d of %d publications are held right after, the next deadline is %d at %d", left, messages, w.b.NextDeadline(), w.b.Now())
	}
	w.must(&AdvanceClock{})
	if held := w.b.publications.Bytes(); held != 0 || w.b.releases.some() {
		t.Errorf("%d bytes are held after the clock was advanced", held)
	}
	w.must(&DeleteTopic{Topic: "t.fifo"})
}

// Expiry is bounded per command; the clock is advanced until all of it is done.
func TestArchiveExpires(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t.fifo", archivedDays("1"), Attribute{Name: "DeduplicationWindowSeconds", Value: "20"})
	const messages = expiryBudget + 1
	w.publishMany(messages)
	at := w.at
	archived := func() int {
		topic, _ := w.b.topics.Get("t.fifo")
		return topic.Archived()
	}
	for w.b.NextDeadline() != 0 && w.b.NextDeadline() < at.Add(logtime.Hour) {
		w.at = w.b.NextDeadline()
		w.must(&AdvanceClock{})
	}
	due := w.b.NextDeadline()
	if due <= at.Add(24*logtime.Hour) || due > at.Add(24*logtime.Hour+11*logtime.Second) || archived() != messages {
		t.Fatalf("%d are archived, the first expires after %d", archived(), due-at)
	}
	w.at = due
	w.must(&AdvanceClock{})
	if left := archived(); left == 0 || left > 10 || w.b.NextDeadline() != due {
		t.Errorf("after one command %d are left, the next deadline is %d", left, w.b.NextDeadline())
	}
	w.must(&AdvanceClock{})
	if left := archived(); left != 0 || w.b.NextDeadline() != 0 || w.b.publications.Bytes() != 0 {
		t.Errorf("after two commands %d are left, the next deadline is %d", left, w.b.NextDeadline())
	}
}

// A failed replayed delivery follows the rules of the first: raw messages with too many attributes
// go to the dead-letter queue.
func TestReplayDeadLetters(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	w.create("dead.fifo")
	w.createTopic("t.fifo", archivedDays("1"))
	e := entry("g", "1", "message")
	for i := range limits.MessageAttributesMax + 1 {
		e.Attributes = append(e.Attributes, MessageAttribute{Name: fmt.Sprint("a", i), DataType: "String", Value: "v"})
	}
	w.publish("t.fifo", e)
	w.subscribe("t.fifo", "q.fifo", Attribute{Name: rawDelivery, Value: "true"},
		Attribute{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + queueARN("dead.fifo") + `"}`}, replayFrom(w.at))
	w.replay()
	if q, dead := w.stored("q.fifo"), w.stored("dead.fifo"); q != 0 || dead != 1 {
		t.Errorf("%d messages were delivered, %d went to the dead-letter queue", q, dead)
	}
	got := w.receive("dead.fifo", 1)[0]
	if n := len(got.Attributes); n != limits.MessageAttributesMax+2 ||
		got.Attributes[n-1] != (MessageAttribute{Name: "Replayed", DataType: "String", Value: "true"}) {
		t.Errorf("attributes %v", got.Attributes)
	}
}

func TestReplayCommandIsBounded(t *testing.T) {
	for _, n := range []int{-1, 0, limits.ReplayStepMax + 1} {
		if (&ReplayMessages{Max: n}).Validate() == nil {
			t.Errorf("a step of %d messages is valid", n)
		}
	}
	w := newWorld(t)
	if got := w.must(&ReplayMessages{Subscription: 7, Max: 1}); got != (MessagesReplayed{}) {
		t.Errorf("a replay for no subscription: %v", got)
	}
}

// An archive counts against the account's quota until it expires or is removed. A publish over the
// quota changes nothing.
func TestArchiveCountsForTheQuota(t *testing.T) {
	w := newWorld(t)
	w.must(&access.CreateAccount{Account: tenant, Quota: access.Quota{Messages: 3, Bytes: 100}})
	w.create(of("q"))
	fifo := Attribute{Name: "FifoTopic", Value: "true"}
	w.must(&CreateTopic{Topic: of("t.fifo"), TopicARN: tenantARN("sns", "t.fifo"), Attributes: []Attribute{archivedDays("1"), fifo}})
	usage := func(messages, bytes int64) {
		t.Helper()
		if got := w.b.View().Usage(tenant); got.Messages != messages || got.Bytes != bytes {
			t.Fatalf("the account has %+v, want %d messages of %d bytes", got, messages, bytes)
		}
	}
	over := func(code refusal.Code, cmd Command) {
		t.Helper()
		w.refused(cmd, code, fmt.Sprintf("The quota of the account is exhausted: it has %d messages of %d bytes. "+
			"Nothing was stored: retry when some were deleted.",
			w.b.View().Usage(tenant).Messages, w.b.View().Usage(tenant).Bytes))
	}
	w.publish(of("t.fifo"), entry("g", "1", strings.Repeat("a", 60)))
	w.publish(of("t.fifo"), entry("g", "2", strings.Repeat("b", 40)))
	w.publish(of("t.fifo"), entry("g", "1", "again")) // a duplicate is not archived
	usage(2, 100)
	over(refusal.OverLimit, &SendMessages{Queue: of("q"), Entries: []SendEntry{{Body: "x"}}})
	over(refusal.Throttled, &Publish{Topic: of("t.fifo"), Entries: []PublishEntry{entry("g", "3", "x")}})
	w.pass(24*logtime.Hour + 11*logtime.Second)
	w.must(&AdvanceClock{})
	usage(0, 0)
	w.publish(of("t.fifo"), entry("g", "4", "x"), entry("g", "5", "y"))
	over(refusal.Throttled, &Publish{Topic: of("t.fifo"), Batch: true, Entries: []PublishEntry{entry("g", "6", "x"), entry("g", "7", "y")}})
	usage(2, 2)
	w.must(&SetTopicAttributes{Topic: of("t.fifo"), Attributes: []Attribute{{Name: "ArchivePolicy", Value: "{}"}}})
	usage(0, 0)
}

// BenchmarkReplay replays 100,000 messages of 256 bytes into a queue, and measures an archived
// message without its text.
func BenchmarkReplay(b *testing.B) {
	const messages = 100_000
	text := strings.Repeat("x", 256)
	for b.Loop() {
		b.StopTimer()
		before, broker, at := heap(), New(), Timestamp(1_700_000_000_000)
		must := func(cmd Command) Result {
			result, err := broker.Apply(at, cmd)
			if err != nil {
				b.Fatal(err)
			}
			broker.TakeEvents(nil)
			return result
		}
		fifo := Attribute{Name: "FifoTopic", Value: "true"}
		must(&CreateQueue{Queue: "q.fifo", Attributes: []Attribute{{Name: "FifoQueue", Value: "true"}}})
		must(&CreateTopic{Topic: "t.fifo", TopicARN: topicARN("t.fifo"), Attributes: []Attribute{
			archivedDays("1"), {Name: "DeduplicationWindowSeconds", Value: "20"}, fifo,
		}})
		for i := range messages {
			at += 10
			must(&Publish{Topic: "t.fifo", Endpoint: publishedAt, Entries: []PublishEntry{entry("g", fmt.Sprint(i), strings.Clone(text))}})
		}
		b.ReportMetric(float64(heap()-before)/messages-float64(len(text)), "B/archived")
		must(&Subscribe{Topic: "t.fifo", Endpoint: queueARN("q.fifo"), Attributes: []Attribute{replayFrom(0)}})
		number := broker.View().RunningReplays()[0]
		b.StartTimer()
		for running := true; running; {
			running = must(&ReplayMessages{Subscription: number, Max: limits.ReplayStepMax}).(MessagesReplayed).Running
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/messages, "ns/replayed")
}
