package queue

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/rules"
)

// withTopics returns a Broker with every kind of topic record and reference.
func withTopics(t *testing.T) *world {
	w := newWorld(t)
	w.create("a.fifo")
	w.create("b.fifo")
	w.createTopic("t.fifo")
	w.subscribe("t.fifo", "a.fifo")
	w.subscribe("t.fifo", "b.fifo", Attribute{Name: rawDelivery, Value: "true"})
	w.publish("t.fifo", entry("g", "1", "one"), entry("g", "2", "two"))
	return w
}

func TestTopicRecordsThatCannotBe(t *testing.T) {
	good := TopicRecord{Name: "n.fifo", ARN: topicARN("n.fifo"), Incarnation: 1, Attributes: attributes.DefaultTopic(true)}
	subscription := SubscriptionRecord{Number: 9, ID: MessageID{1}, Endpoint: queueARN("q.fifo")}
	content := &notification.Notification{MessageID: MessageID{7}, Message: message.NewBody("m")}
	message := MessageRecord{Sequence: 1, GroupID: "g", Published: PublishedRecord{PublicationID: MessageID{7}, Content: content}}
	topic := func(change func(*TopicRecord)) func(*Restorer) error {
		return func(r *Restorer) error {
			rec := good
			change(&rec)
			return r.AddTopic(rec)
		}
	}
	subscribed := func(change func(*SubscriptionRecord)) func(*Restorer) error {
		return func(r *Restorer) error {
			if err := r.AddTopic(good); err != nil {
				return err
			}
			rec := subscription
			change(&rec)
			return r.AddSubscription(rec)
		}
	}
	rule := RuleRecord{Subscription: 9, Definition: rules.Definition{Name: "rule", Kind: rules.KindTrue}}
	ruled := func(change func(*RuleRecord)) func(*Restorer) error {
		return func(r *Restorer) error {
			if err := subscribed(func(r *SubscriptionRecord) { r.OwnRules = true })(r); err != nil {
				return err
			}
			other := rule
			other.Definition.Name = "other"
			if err := r.AddRule(other); err != nil {
				return err
			}
			rec := rule
			change(&rec)
			return r.AddRule(rec)
		}
	}
	stored := func(change func(*MessageRecord)) func(*Restorer) error {
		return func(r *Restorer) error {
			if err := r.AddQueue(QueueRecord{Name: "q.fifo", Incarnation: 2, Attributes: QueueAttributes{FIFO: true},
				LastSequence: 5}); err != nil {
				return err
			}
			rec := message
			change(&rec)
			return r.AddMessage(&rec)
		}
	}
	archived := func(numbers ...identifier.SequenceNumber) func(*Restorer) error {
		return func(r *Restorer) error {
			rec := good
			rec.LastSequence, rec.Attributes.Archive = 9, policy.Archive{Text: "{}", Days: 1}
			if err := r.AddTopic(rec); err != nil {
				return err
			}
			for i, number := range numbers {
				n := &notification.Notification{MessageID: MessageID{byte(i)}, SequenceNumber: number, TopicARN: rec.ARN}
				if err := r.AddArchived(ArchivedRecord{PublicationID: n.MessageID, Content: n}); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for _, c := range []struct {
		name string
		add  func(*Restorer) error
		want string // empty: accepted
	}{
		{"topic", topic(func(*TopicRecord) {}), ""},
		{"without a name", topic(func(r *TopicRecord) { r.Name = "" }), "is nameless"},
		{"of the wrong type", topic(func(r *TopicRecord) { r.Attributes.FIFO = false }), "wrong type"},
		{"with another ARN", topic(func(r *TopicRecord) { r.ARN = topicARN("x.fifo") }), "wrong ARN"},
		{"with a later incarnation", topic(func(r *TopicRecord) { r.Incarnation = 100 }), "incarnation 100"},
		{"subscription", subscribed(func(*SubscriptionRecord) {}), ""},
		{"of no queue", subscribed(func(r *SubscriptionRecord) { r.Endpoint = "q.fifo" }), "invalid endpoint"},
		{"with a later number", subscribed(func(r *SubscriptionRecord) { r.Number = 100 }), "out of order"},
		{"with a filter that is none", subscribed(func(r *SubscriptionRecord) { r.FilterPolicy = "{" }), "filter of subscription"},
		{"with an unknown scope", subscribed(func(r *SubscriptionRecord) { r.FilterScope = 2 }), "unknown filter scope"},
		{"with a replay and no archive", subscribed(func(r *SubscriptionRecord) {
			r.Replay.Text, r.ReplayStatus = "{}", attributes.ReplayPending
		}), "contradicts itself"},
		{"with a replay that is over and goes on", subscribed(func(r *SubscriptionRecord) {
			r.Replay.Text, r.ReplayStatus, r.ReplayNext = "{}", attributes.ReplayCompleted, 1
		}), "contradicts itself"},
		{"with a status and no replay", subscribed(func(r *SubscriptionRecord) { r.ReplayStatus = attributes.ReplayCompleted }),
			"contradicts itself"},
		{"archive without a policy", topic(func(r *TopicRecord) { r.ArchivedSince = 1 }), "without a policy"},
		{"archived publication alone", func(r *Restorer) error { return r.AddArchived(ArchivedRecord{}) }, "without an archive"},
		{"archived", archived(1, 2), ""},
		{"archived in the wrong order", archived(2, 1), "out of order"},
		{"archived twice", archived(1, 1), "out of order"},
		{"archived beyond the last number", archived(9, 10), "out of order"},
		{"archived without a number", archived(0), "out of order"},
		{"with an unknown status", subscribed(func(r *SubscriptionRecord) { r.ReplayStatus = 5 }), "replay status"},
		{"subscription alone", func(r *Restorer) error { return r.AddSubscription(subscription) }, "without a topic"},
		{"rule", ruled(func(*RuleRecord) {}), ""},
		{"rule of no subscription", ruled(func(r *RuleRecord) { r.Subscription = 8 }), "no matching subscription"},
		{"rule that is not in canonical form", ruled(func(r *RuleRecord) {
			r.Definition.Kind, r.Definition.SQL = rules.KindSQL, &rules.Expression{Text: "a = 1"}
		}), "There was an error parsing"},
		{"rule twice", ruled(func(r *RuleRecord) { r.Definition.Name = "OTHER" }), "appears twice"},
		{"rule beside the default alone", func(r *Restorer) error {
			if err := subscribed(func(*SubscriptionRecord) {})(r); err != nil {
				return err
			}
			return r.AddRule(rule)
		}, "no matching subscription"},
		{"with rules for a URL", subscribed(func(r *SubscriptionRecord) {
			r.Protocol, r.Endpoint, r.OwnRules = attributes.ProtocolHTTP, "http://example.org", true
		}), "invalid endpoint"},
		{"id alone", func(r *Restorer) error { return r.AddTopicDeduplication(nil) }, "without a topic"},
		{"message", stored(func(*MessageRecord) {}), ""},
		{"with a body", stored(func(r *MessageRecord) { r.Body = content.Message }), "a body beside"},
		{"of a missing publication", stored(func(r *MessageRecord) { r.Published.Content = nil }), "is missing"},
		{"of another publication", stored(func(r *MessageRecord) { r.Published.PublicationID[0]++ }), "is missing or has another content"},
		{"of a nameless publication", stored(func(r *MessageRecord) { r.Published.PublicationID = MessageID{} }), "without an id"},
		{"publication twice", func(r *Restorer) error {
			if err := stored(func(*MessageRecord) {})(r); err != nil {
				return err
			}
			again := message
			again.Sequence, again.Published.Content = 2, new(notification.Notification)
			return r.AddMessage(&again)
		}, "appears twice"},
		{"reference to an earlier one", func(r *Restorer) error {
			if err := stored(func(*MessageRecord) {})(r); err != nil {
				return err
			}
			again := message
			again.Sequence, again.Published.Content = 2, nil
			return r.AddMessage(&again)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewRestorer(BrokerRecord{NextIncarnation: 10})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.add(r); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestInvariantsOfTopics(t *testing.T) {
	w := withTopics(t)
	if err := w.b.CheckInvariants(); err != nil {
		t.Fatal(err)
	}
	q, _ := w.b.queues.Get("a.fifo")
	m, _ := q.messages.Min()
	p := m.published().publication
	for _, c := range []struct {
		name         string
		damage, mend func()
	}{
		{"a reference too many", p.Hold, p.Release},
		{"a reference too few", p.Release, p.Hold},
		{"another message", func() { p.Content().Subject = "x" }, func() { p.Content().Subject = "" }},
		{"a wrong count", func() { q.sums.published++ }, func() { q.sums.published-- }},
	} {
		c.damage()
		if w.b.CheckInvariants() == nil {
			t.Errorf("%s is not found", c.name)
		}
		c.mend()
		if err := w.b.CheckInvariants(); err != nil {
			t.Fatal(err)
		}
	}
}

// Another goroutine reads a Frozen state with publications during deliveries, deletes and purges,
// without data races.
func TestFrozenPublicationsStandStill(t *testing.T) {
	w := withTopics(t)
	var readers sync.WaitGroup
	for i := range 20 {
		frozen := w.b.Freeze()
		readers.Go(func() {
			restored, err := restore(frozen)
			if err != nil {
				t.Error(err)
				return
			}
			if restored.StateHash() != frozen.StateHash() {
				t.Error("the frozen state changed")
			}
		})
		w.publish("t.fifo", entry("g", fmt.Sprint("later-", i), "more"))
		for _, m := range w.receive("a.fifo", 10) {
			w.must(&DeleteMessages{Queue: "a.fifo", Handles: []string{m.Handle.String()}})
		}
		if i%5 == 0 {
			w.must(&PurgeQueue{Queue: "b.fifo"})
		}
	}
	readers.Wait()
}
