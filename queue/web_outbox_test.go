package queue

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/topic"
)

// fillOutbox publishes n messages to t in batches, without invariant checks.
func (w *world) fillOutbox(n int, message string) {
	w.t.Helper()
	batch := make([]PublishEntry, limits.BatchEntriesMax)
	for i := range batch {
		batch[i].Message = message
	}
	for n > 0 {
		entries := batch[:min(n, len(batch))]
		n -= len(entries)
		if _, err := w.b.apply(&Publish{Topic: "t", Batch: true, SenderID: "s", Entries: entries}); err != nil {
			w.t.Fatal(err)
		}
		w.b.finish()
	}
	w.b.scratch.events = nil
}

const outboxFull = " messages that its endpoint has not taken yet, and no dead-letter queue. Nothing was " +
	"published: retry later, set a RedrivePolicy, or remove the subscription."

// A full outbox refuses a publish and drops nothing. Deleting a subscription with a long outbox
// takes constant time and frees its memory.
func TestOutboxIsBounded(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t")
	number, arn := w.confirmed("t", webEndpoint)
	empty := w.b.View().StateBytes()
	w.fillOutbox(limits.OutboxMax, "m")
	w.refused(&Publish{Topic: "t", Entries: []PublishEntry{{Message: "m"}}}, refusal.Throttled,
		"The subscription "+arn+" has 100000"+outboxFull)
	w.report(number, DeliveryDone)
	w.refused(&Publish{Topic: "t", Batch: true, Entries: []PublishEntry{{Message: "m"}, {Message: "m"}}}, refusal.Throttled,
		"The subscription "+arn+" has 99999"+outboxFull)
	w.publish("t", PublishEntry{Message: "m"})
	if n := w.b.View().WaitingDeliveries(); n != limits.OutboxMax {
		t.Errorf("%d deliveries wait", n)
	}
	w.must(&DeleteTopic{Topic: "t"})
	if n := w.b.View().WaitingDeliveries(); n != 0 {
		t.Errorf("%d deliveries wait for a topic that is gone", n)
	}
	for range 60 {
		w.must(&AdvanceClock{})
	}
	if left := w.b.View().StateBytes(); left > empty {
		t.Errorf("%d bytes, before the publishes %d", left, empty)
	}
}

// Long messages are limited by their bytes, not by their number.
func TestOutboxIsBoundedInBytes(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t")
	number, arn := w.confirmed("t", webEndpoint)
	body := strings.Repeat("x", limits.PublishBytesMax/limits.BatchEntriesMax)
	const most = limits.OutboxBytesMax / (limits.PublishBytesMax / limits.BatchEntriesMax)
	published := 0
	for ; ; published += limits.BatchEntriesMax {
		if _, err := w.b.apply(&Publish{Topic: "t", Batch: true, SenderID: "s", Entries: slicesOf(body)}); err != nil {
			break
		}
		w.b.finish()
		if published > most {
			t.Fatalf("%d messages of %d bytes wait", published, len(body))
		}
	}
	w.b.scratch.events = nil
	if published < most*9/10 {
		t.Errorf("%d messages of %d bytes were too many", published, len(body))
	}
	if size := w.b.View().StateBytes(); size > limits.OutboxBytesMax*11/10 {
		t.Errorf("the state has %d bytes", size)
	}
	w.refused(&Publish{Topic: "t", Entries: []PublishEntry{{Message: "m"}}}, refusal.Throttled,
		"The subscription "+arn+" has "+strconv.Itoa(published)+outboxFull)
	done := &ReportDeliveries{}
	for _, d := range w.deliveries(number)[:limits.BatchEntriesMax] {
		done.Reports = append(done.Reports, DeliveryReport{Subscription: number, Number: d.Number, Outcome: DeliveryDone})
	}
	w.must(done)
	w.publish("t", PublishEntry{Message: "m"})
}

func slicesOf(message string) (entries []PublishEntry) {
	for range limits.BatchEntriesMax {
		entries = append(entries, PublishEntry{Message: message})
	}
	return entries
}

// With a dead-letter queue, a full outbox does not refuse a publish: the message goes to that
// queue, and to the other subscribers as usual.
func TestFullOutboxDeadLetters(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t")
	w.must(&CreateQueue{Queue: "q"})
	w.subscribe("t", "q")
	number, arn := w.confirmed("t", webEndpoint,
		Attribute{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + queueARN("dead") + `"}`},
		Attribute{Name: "RawMessageDelivery", Value: "true"})
	w.fillOutbox(limits.OutboxMax-1, "m")
	two := &Publish{Topic: "t", Batch: true, Entries: []PublishEntry{{Message: "last"}, {Message: "over"}}}
	w.refused(two, refusal.Throttled, "The subscription "+arn+" has 99999"+outboxFull) // the queue does not exist
	w.must(&CreateQueue{Queue: "dead"})
	w.must(two)
	if n := len(w.deliveries(number)); n != limits.OutboxMax {
		t.Errorf("%d deliveries wait", n)
	}
	if got := w.receive("dead", 10); len(got) != 1 || got[0].Body.String() != "over" {
		t.Errorf("the dead-letter queue has %+v", got)
	}
	if got := w.eventsOf(TopicDeliveriesDeadLettered); len(got) != 1 || got[0].Queue != "https://example.org" {
		t.Errorf("dead-lettered: %+v", got)
	}
}

// deliveryPolicyOnce ends delivery after the first failure.
const deliveryPolicyOnce = `{"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":1,"numRetries":0}}`

// Pending HTTP deliveries count against the quota of the topic's account, once for each subscriber.
func TestOutboxCountsForTheQuota(t *testing.T) {
	w := newWorld(t)
	w.must(&access.SetAccountQuota{Quota: access.Quota{Messages: 4, Bytes: 100}})
	w.createTopic("t")
	number, arn := w.confirmed("t", webEndpoint,
		Attribute{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + queueARN("dead") + `"}`},
		Attribute{Name: "DeliveryPolicy", Value: deliveryPolicyOnce})
	_, reds := w.confirmed("t", "http://example.org/", Attribute{Name: "FilterPolicy", Value: `{"color":["red"]}`})
	w.subscribeWeb("t", "http://example.com/") // with a pending request to confirm
	w.create("dead")
	usage := func(messages, bytes int64) {
		t.Helper()
		if got := w.b.View().Usage(""); got.Messages != messages || got.Bytes != bytes {
			t.Fatalf("the account has %+v, want %d messages of %d bytes", got, messages, bytes)
		}
	}
	over := func(entries ...PublishEntry) {
		t.Helper()
		before := w.b.View().WaitingDeliveries()
		_, err := w.apply(&Publish{Topic: "t", Batch: len(entries) > 1, Entries: entries})
		if err == nil || err.Code != refusal.Throttled || w.b.View().WaitingDeliveries() != before {
			t.Fatalf("published with %v", err)
		}
	}
	red := PublishEntry{Message: "red", Attributes: []MessageAttribute{{Name: "color", DataType: "String", Value: "red"}}} // 17 bytes
	usage(0, 0)
	w.publish("t", PublishEntry{Message: "plain"}, red)
	usage(3, 5+2*17)
	over(red)
	over(PublishEntry{Message: "a"}, PublishEntry{Message: "b"})
	over(PublishEntry{Message: strings.Repeat("x", 62)})
	w.publish("t", PublishEntry{Message: strings.Repeat("x", 61)})
	usage(4, 100)
	if err := w.refusal(&SendMessages{Queue: "dead", Entries: []SendEntry{{Body: "x"}}}); err.Code != refusal.OverLimit {
		t.Fatal(err)
	}
	w.report(number, DeliveryDone)
	usage(3, 95)
	w.report(number, DeliveryFailed) // the last attempt: it moves to the queue
	usage(3, 95)
	if n := w.stored("dead"); n != 1 {
		t.Fatalf("the dead-letter queue has %d messages", n)
	}
	w.must(&Unsubscribe{SubscriptionARN: reds})
	usage(2, 78)
	w.must(&PurgeQueue{Queue: "dead"})
	usage(1, 61)
	w.must(&SetSubscriptionAttributes{SubscriptionARN: arn, Attributes: []Attribute{{Name: "DeliveryPolicy", Value: ""}}})
	w.report(number, DeliveryFailed) // another attempt follows
	usage(1, 61)
	w.must(&DeleteTopic{Topic: "t"})
	usage(0, 0)
}

// randomTopics drives topics of two accounts with HTTP subscribers and archives, and counts their
// usage by a scan.
type randomTopics struct {
	*world
	rng      *rand.Rand
	quotas   map[string]access.Quota
	accepted int
	refused  int
}

// usage counts an account's messages and bytes by a scan.
func (r *randomTopics) usage(owner string) (messages, bytes int64) {
	add := func(n *notification.Notification) {
		messages++
		bytes += int64(n.Message.Len())
		for _, a := range n.Attributes {
			bytes += int64(len(a.Name) + len(a.DataType) + len(a.Value))
		}
	}
	r.b.topics.Scan(func(t *topic.Topic) bool {
		if access.OwnerOf(t.Name) != owner {
			return true
		}
		t.ScanArchive(0, func(p *topic.Publication) bool {
			add(p.Content())
			return true
		})
		t.ScanSubscriptions(func(s *topic.Subscription) bool {
			for _, d := range r.deliveries(s.Number) {
				if d.Request.Notification != nil {
					add(d.Request.Notification)
				}
			}
			return true
		})
		return true
	})
	return messages, bytes
}

// publishSome publishes, and checks the quota by the scan.
func (r *randomTopics) publishSome(name string) {
	owner := access.OwnerOf(name)
	messages, bytes := r.usage(owner)
	reds, all := int64(0), int64(0)
	for _, s := range r.b.View().ListSubscriptions(0, 1000) {
		switch t, found, _ := r.b.topics.SubscriptionOfNumber(s.Number); {
		case t.Name != name || s.Pending:
		case found.Attributes.Filter != nil:
			reds++
		default:
			all++
		}
	}
	c := &Publish{Topic: name, Batch: true}
	for i := range 1 + r.rng.IntN(4) {
		e := PublishEntry{Message: strings.Repeat("m", 1+r.rng.IntN(20))}
		size, copies := int64(len(e.Message)), all
		if isFIFOName(name) {
			e = entry("g", fmt.Sprintf("%d.%d", r.at, i), e.Message)
			if t, ok := r.b.topics.Get(name); ok && t.Attributes.Archive.Days > 0 {
				copies = 1
			}
		} else if r.rng.IntN(2) == 0 {
			e.Attributes = []MessageAttribute{{Name: "color", DataType: "String", Value: "red"}}
			size += 14
			copies += reds
		}
		copies = max(copies, 1)
		messages += copies
		bytes += copies * size
		c.Entries = append(c.Entries, e)
	}
	most := r.quotas[owner]
	fits := (most.Messages == 0 || messages <= most.Messages) && (most.Bytes == 0 || bytes <= most.Bytes)
	_, err := r.apply(c)
	if err != nil && err.Code == refusal.NotFound {
		return
	}
	if (err == nil) != fits {
		r.t.Fatalf("a publish after which the account would have %d messages of %d bytes, with the quota %+v: %v", messages, bytes, most,
			err)
	}
	if err == nil {
		r.accepted++
	} else {
		r.refused++
	}
}

func (r *randomTopics) step() {
	owner := []string{"", tenant}[r.rng.IntN(2)]
	plain := []string{"t", "t.fifo"}[r.rng.IntN(2)]
	name := access.Qualify(owner, plain)
	r.pass(logtime.Duration(r.rng.IntN(2000)))
	switch n := r.rng.IntN(100); {
	case n < 40:
		r.publishSome(name)
	case n < 50:
		arn, given := topicARN(plain), []Attribute(nil)
		if owner != "" {
			arn = tenantARN("sns", plain)
		}
		if isFIFOName(name) {
			given = []Attribute{archivedDays("1"), {Name: "FifoTopic", Value: "true"}}
		}
		r.b.Apply(r.at, &CreateTopic{Topic: name, TopicARN: arn, Attributes: given})
	case n < 52:
		r.b.Apply(r.at, &DeleteTopic{Topic: name})
	case n < 58:
		policy := archivedDays("1")
		if r.rng.IntN(3) == 0 {
			policy.Value = "{}"
		}
		r.b.Apply(r.at, &SetTopicAttributes{Topic: access.Qualify(owner, "t.fifo"), Attributes: []Attribute{policy}})
	case n < 66:
		if _, exists := r.b.topics.Get(access.Qualify(owner, "t")); exists {
			var given []Attribute
			if r.rng.IntN(2) == 0 {
				given = []Attribute{{Name: "FilterPolicy", Value: `{"color":["red"]}`}}
			}
			r.confirmed(access.Qualify(owner, "t"), fmt.Sprint("http://example.org/", r.at), given...)
		}
	case n < 70:
		if all := r.b.View().ListSubscriptions(0, 1000); len(all) > 0 {
			r.must(&Unsubscribe{SubscriptionARN: all[r.rng.IntN(len(all))].SubscriptionARN})
		}
	case n < 90:
		if waiting := r.b.View().OutboxSubscriptions(); len(waiting) > 0 {
			r.report(waiting[r.rng.IntN(len(waiting))], DeliveryDone+DeliveryOutcome(r.rng.IntN(3)))
		}
	case n < 92:
		r.pass(24 * logtime.Hour)
		r.must(&AdvanceClock{})
	default:
		q := access.Quota{Messages: int64(r.rng.IntN(30)), Bytes: int64(r.rng.IntN(400))}
		r.quotas[owner] = q
		r.must(&access.SetAccountQuota{Account: owner, Quota: q})
	}
}

func TestRandomTopicsAgainstASlowCount(t *testing.T) {
	t.Parallel()
	accepted, refused := 0, 0
	for seed := range uint64(20) {
		r := &randomTopics{world: newWorld(t), rng: rand.New(rand.NewPCG(seed, 5)), quotas: map[string]access.Quota{}}
		r.must(&access.CreateAccount{Account: tenant})
		for range 400 {
			r.step()
			for _, owner := range []string{"", tenant} {
				messages, bytes := r.usage(owner)
				if got := r.b.View().Usage(owner); got.Messages != messages || got.Bytes != bytes {
					t.Fatalf("seed %d: account %q has %+v, counted %d messages of %d bytes", seed, owner, got, messages, bytes)
				}
			}
		}
		accepted, refused = accepted+r.accepted, refused+r.refused
	}
	if accepted < 200 || refused < 200 {
		t.Errorf("%d publishes were accepted, %d refused", accepted, refused)
	}
}
