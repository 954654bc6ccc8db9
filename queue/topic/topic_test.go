package topic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/statehash"
)

var key = statehash.NewKey([16]byte{1, 2, 3})

const prefix = "arn:aws:sns:us-east-1:000000000000:"

// filled returns a registry of n FIFO topics, each with two subscriptions and an id.
func filled(t *testing.T, n int) *Registry {
	t.Helper()
	r := NewRegistry()
	number := uint64(n)
	for i := range n {
		name := fmt.Sprintf("t%d.fifo", i)
		topic := New(name, prefix+name, uint64(i+1), attributes.DefaultTopic(true), new(access.Kept))
		r.Add(topic)
		for _, queue := range []string{"a", "b"} {
			number++
			id := identifier.NewSubscriptionID(key, number, 0)
			r.Put(key, topic, &Subscription{Number: number, ID: id, ARN: topic.NewARN(id), Queue: queue,
				Endpoint: "arn:aws:sqs:us-east-1:0:" + queue})
		}
		topic.LastSequence++
		topic.Deduplication.Remember(key, deduplication.IDs{Own: "id"}, topic.LastSequence, logtime.Timestamp(1000*(i+1)))
	}
	r.Finish(key)
	check(t, &r)
	return &r
}

// check compares the sum with one computed from scratch.
func check(t *testing.T, r *Registry) {
	t.Helper()
	if r.Sum() != r.ComputeSum(key) {
		t.Error("the sum is not that of the records")
	}
	if err := r.Compare(r); err != nil {
		t.Error(err)
	}
}

func TestRegistry(t *testing.T) {
	r := filled(t, 3)
	empty := NewRegistry()
	if r.Len() != 3 || r.CountOf(true) != 3 || r.CountOf(false) != 0 || r.Bytes() <= 0 {
		t.Errorf("%d topics, %d of them FIFO topics, of %d bytes", r.Len(), r.CountOf(true), r.Bytes())
	}
	if names := fmt.Sprint(r.Names("t0.fifo", 1), r.Names("t2.fifo", 5)); names != "[t1.fifo] []" {
		t.Errorf("names %s", names)
	}
	var listed []string
	r.ScanSubscriptionsFrom(5, func(t *Topic, s *Subscription) bool {
		listed = append(listed, fmt.Sprint(t.Name, " ", s.Number, s.Queue))
		return len(listed) < 3
	})
	if got := strings.Join(listed, ", "); got != "t0.fifo 5b, t1.fifo 6a, t1.fifo 7b" {
		t.Errorf("listed %s", got)
	}
	one := r.Begin("t1.fifo")
	first, _ := one.SubscriptionOf("a")
	found, ok := one.Subscription(first.ID.String())
	if !ok || found != first {
		t.Errorf("found %v, %v", found, ok)
	}
	r.Drop(key, one, first)
	r.Finish(key)
	check(t, r)
	if _, ok := one.SubscriptionOf("a"); ok || r.SubscriptionKnown(first.Number) || one.Subscriptions() != 1 || one.Unsubscribed != 1 {
		t.Errorf("after it was dropped: %d subscriptions, %d removed", one.Subscriptions(), one.Unsubscribed)
	}
	for _, name := range []string{"t0.fifo", "t1.fifo", "t2.fifo"} {
		topic, _ := r.Get(name)
		r.Remove(topic)
		check(t, r)
	}
	if r.Sum() != empty.Sum() || r.Bytes() != 0 || r.Deadline() != 0 || r.Begin("t0.fifo") != nil || r.CountOf(true) != 0 {
		t.Errorf("without topics: sum %v, %d bytes, deadline %d", r.Sum(), r.Bytes(), r.Deadline())
	}
}

func TestExpire(t *testing.T) {
	r := filled(t, 3)
	if due := r.Deadline(); due != 310_000 {
		t.Errorf("the first id is forgotten at %d", due)
	}
	if left := r.Expire(key, 309_999, 10); left != 10 {
		t.Errorf("before it is due, %d of the budget are left", left)
	}
	// One unit for each topic and one for its id.
	if left := r.Expire(key, 310_000, 3); left != 0 {
		t.Errorf("%d of the budget are left", left)
	}
	r.Finish(key)
	check(t, r)
	if left := r.Expire(key, 310_000, 10); left != 6 || r.Deadline() != 0 {
		t.Errorf("%d of the budget are left, the next id is forgotten at %d", left, r.Deadline())
	}
	r.Finish(key)
	check(t, r)
}

func TestFrozen(t *testing.T) {
	r := filled(t, 2)
	before := r.Sum()
	frozen := r.Freeze()
	topic := r.Begin("t0.fifo")
	s, _ := topic.SubscriptionOf("a")
	r.Drop(key, topic, s)
	topic.SetTags([]attributes.Tag{{Key: "k", Value: "v"}})
	topic.LastSequence++
	r.Finish(key)
	check(t, r)
	other := NewRegistry()
	frozen.Scan(func(t *Topic) bool {
		other.sum.Add(t.computeTotal(key))
		return true
	})
	if other.sum != before || r.Sum() == before {
		t.Error("the frozen topics changed with the others")
	}
}

func TestCompareFinds(t *testing.T) {
	for name, damage := range map[string]func(*Registry){ // order does not matter: each is a test of its own
		"a lost subscription": func(r *Registry) { r.subscriptions.Delete(5) },
		"a lost queue":        func(r *Registry) { r.Begin("t0.fifo").byEndpoint.Delete("a"); r.Finish(key) },
		"a wrong count":       func(r *Registry) { r.fifo-- },
		"a replay too many":   func(r *Registry) { r.replays.Insert(5) },
		"wrong bytes":         func(r *Registry) { r.bytes++ },
		"a lost deadline":     func(r *Registry) { r.deadlines.PopMin() },
		"a wrong sum":         func(r *Registry) { r.sum.Low++ },
		"other rules":         func(r *Registry) { r.Begin("t0.fifo").Attributes.Deduplication.ContentBased = true; r.Finish(key) },
		"an open change":      func(r *Registry) { r.Begin("t0.fifo") },
	} {
		damaged := filled(t, 2)
		damage(damaged)
		if damaged.Compare(filled(t, 2)) == nil {
			t.Errorf("%s is not found", name)
		}
	}
}

func TestPublication(t *testing.T) {
	n := &notification.Notification{TopicARN: prefix + "t", Message: message.NewBody("message"),
		Attributes: []message.MessageAttribute{{Name: "n", DataType: "String", Value: "v"}}}
	var ledger Ledger
	p := NewPublication(key, n, &ledger)
	if ledger.Bytes() != 0 || p.Size() < int64(len("message")) {
		t.Errorf("%d bytes before it is held, of %d", ledger.Bytes(), p.Size())
	}
	for range 3 {
		p.Hold()
	}
	if ledger.Bytes() != p.Size() || p.Held() != 3 {
		t.Errorf("held %d times it counts %d bytes", p.Held(), ledger.Bytes())
	}
	for range 3 {
		p.Release()
	}
	if ledger.Bytes() != 0 {
		t.Errorf("held no more it counts %d bytes", ledger.Bytes())
	}
}

// Every difference in the content changes the hash.
func TestPublicationHash(t *testing.T) {
	change := map[string]func(*notification.Notification){
		"nothing":        func(*notification.Notification) {},
		"topic":          func(n *notification.Notification) { n.TopicARN += "x" },
		"id":             func(n *notification.Notification) { n.MessageID[0]++ },
		"number":         func(n *notification.Notification) { n.SequenceNumber++ },
		"subject":        func(n *notification.Notification) { n.Subject += "x" },
		"message":        func(n *notification.Notification) { n.Message = message.NewBody("x") },
		"time":           func(n *notification.Notification) { n.Timestamp++ },
		"endpoint":       func(n *notification.Notification) { n.Endpoint += "x" },
		"group":          func(n *notification.Notification) { n.GroupID += "x" },
		"deduplication":  func(n *notification.Notification) { n.DeduplicationID += "x" },
		"name":           func(n *notification.Notification) { n.Attributes[0].Name += "x" },
		"type":           func(n *notification.Notification) { n.Attributes[0].DataType += ".x" },
		"value":          func(n *notification.Notification) { n.Attributes[0].Value += "x" },
		"more than one":  func(n *notification.Notification) { n.Attributes = append(n.Attributes, n.Attributes[0]) },
		"without any":    func(n *notification.Notification) { n.Attributes = nil },
		"moved a letter": func(n *notification.Notification) { n.GroupID, n.DeduplicationID = "", "g" },
	}
	seen := map[uint64]string{}
	for name, change := range change { // order does not matter: all hashes are compared
		n := &notification.Notification{
			TopicARN: "t", Message: message.NewBody("m"), GroupID: "g",
			Attributes: []message.MessageAttribute{{Name: "n", DataType: "String", Value: "v"}},
		}
		change(n)
		p := NewPublication(key, n, &Ledger{})
		if other, twice := seen[p.Hash()]; twice || p.Hash() != p.ComputeHash(key) {
			t.Errorf("%s has the hash of %q", name, other)
		}
		seen[p.Hash()] = name
	}
}
