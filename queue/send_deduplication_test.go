package queue

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// dedup steps: "a" sends id a and expects a new message, "a!" expects a
// duplicate, "g2/a" names the group, "+300" lets seconds pass, "Name=value"
// sets an attribute.
func (w *world) dedup(steps string) {
	w.t.Helper()
	first := map[string]SentEntry{}
	for step := range strings.FieldsSeq(steps) {
		if seconds, ok := strings.CutPrefix(step, "+"); ok {
			w.pass(logtime.Seconds(atoi(seconds)))
			continue
		}
		if name, value, ok := strings.Cut(step, "="); ok {
			w.must(&SetQueueAttributes{Queue: "q.fifo", Attributes: []Attribute{{Name: name, Value: value}}})
			continue
		}
		name, duplicate := strings.CutSuffix(step, "!")
		group, id, grouped := strings.Cut(name, "/")
		if !grouped {
			group, id = "g", name
		}
		sent := w.send("q.fifo", group, id, "body")
		if sent.Duplicate != duplicate {
			w.t.Fatalf("step %s: duplicate is %v", step, sent.Duplicate)
		}
		if duplicate && (sent.MessageID != first[id].MessageID || sent.Sequence != first[id].Sequence) {
			w.t.Fatalf("step %s: answered %v, first was %v", step, sent, first[id])
		}
		if !duplicate {
			first[id] = sent
		}
	}
}

func TestDeduplication(t *testing.T) {
	for _, c := range []struct {
		name       string
		attributes []Attribute
		steps      string
	}{
		{"inside the window", nil, "a a! b a!"},
		{"the window's last moment and its end", nil, "a +299 a! +1 a +299 a! +1 a"},
		{"a duplicate does not extend the window", nil, "a +200 a! +110 a"},
		{"scope queue ignores the group", nil, "g1/a g2/a!"},
		{"scope messageGroup", []Attribute{{Name: "DeduplicationScope", Value: "messageGroup"}}, "g1/a g2/a g1/b"},
		{"window of 20 s", []Attribute{{Name: "DeduplicationWindowSeconds", Value: "20"}}, "a +19 a! +1 a"},
		{
			"growing the window revives nothing",
			[]Attribute{{Name: "DeduplicationWindowSeconds", Value: "20"}},
			"a +25 DeduplicationWindowSeconds=600 a +25 a! +574 a! +1 a",
		},
		{
			"growing the window keeps what lives",
			[]Attribute{{Name: "DeduplicationWindowSeconds", Value: "20"}},
			"a +10 DeduplicationWindowSeconds=600 a! +589 a! +1 a",
		},
		{"shrinking acts at once", nil, "a +60 DeduplicationWindowSeconds=30 a"},
		{
			"shrink and grow again does not revive", nil,
			"a +60 DeduplicationWindowSeconds=30 DeduplicationWindowSeconds=300 a",
		},
		{
			"scope change: old records stay under their old key", nil,
			"a DeduplicationScope=messageGroup g2/a! +300 g1/a g2/a",
		},
		{"disabled", []Attribute{{Name: "DeduplicationEnabled", Value: "false"}}, "a a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.create("q.fifo", c.attributes...)
			w.dedup(c.steps)
		})
	}
}

func TestDeduplicationOutlivesTheMessage(t *testing.T) {
	s := newScript(t)
	s.run("s:a-1 r1=a-1 d:a-1")
	if !s.send("q.fifo", "a", "a-1", "again").Duplicate {
		t.Fatal("forgotten with the message")
	}
	s.must(&PurgeQueue{Queue: "q.fifo"})
	if s.send("q.fifo", "a", "a-1", "again").Duplicate {
		t.Fatal("remembered through a purge")
	}
	s.must(&SetQueueAttributes{Queue: "q.fifo", Attributes: []Attribute{{Name: "PurgeClearsDeduplicationHistory", Value: "false"}}})
	s.must(&PurgeQueue{Queue: "q.fifo"})
	if !s.send("q.fifo", "a", "a-1", "again").Duplicate {
		t.Fatal("forgotten by a purge that keeps the history")
	}
}

func TestContentDeduplication(t *testing.T) {
	const hash = "426fc04f04bf8fdb5831dc37bbb6dcf70f63a37e05a68c6ea5f63e85ae579376"
	body := `{"foo": "bar"}`
	for _, c := range []struct {
		name, mode string
		ids        []string // of sends with equal bodies; "" for none
		fresh      []bool
	}{
		{"same body twice", "IdOverrides", []string{"", ""}, []bool{true, false}},
		{"explicit ids override", "IdOverrides", []string{"a", "b", ""}, []bool{true, true, true}},
		{"an explicit id equal to the hash", "IdOverrides", []string{"", hash}, []bool{true, false}},
		{"id and content: either hits", "IdAndContent", []string{"a", "b", ""}, []bool{true, false, false}},
		{"id and content: hash first", "IdAndContent", []string{"", "a"}, []bool{true, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.create("q.fifo", Attribute{Name: "ContentBasedDeduplication", Value: "true"},
				Attribute{Name: "ContentDeduplicationMode", Value: c.mode})
			for i, id := range c.ids {
				if got := !w.send("q.fifo", "g", id, body).Duplicate; got != c.fresh[i] {
					t.Fatalf("send %d is new: %v", i, got)
				}
			}
			if got := w.receive("q.fifo", 1)[0].DeduplicationID; c.ids[0] == "" && got != hash {
				t.Fatalf("id is %s", got)
			}
		})
	}
}

func TestPartitionKeyScope(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo", Attribute{Name: "DeduplicationScope", Value: "partitionKey"},
		Attribute{Name: "MessageGroupIdMode", Value: "Optional"},
		Attribute{Name: "ReservedAttributesEnabled", Value: "true"})
	send := func(partition string) bool {
		e := SendEntry{Body: "x", DeduplicationID: "a", DeduplicationIDGiven: true}
		if partition != "" {
			e.Attributes = []MessageAttribute{{Name: "seriatim.PartitionKey", DataType: "String", Value: partition}}
		}
		return w.must(&SendMessages{Queue: "q.fifo", Entries: []SendEntry{e}}).(MessagesSent).Entries[0].Duplicate
	}
	if send("p1") || send("p2") || send("") || !send("p1") || !send("") {
		t.Fatal("the same id under two keys is two messages, under one key one")
	}
}

func TestBatchDeduplicatesInside(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	e := SendEntry{Body: "x", GroupID: "g", GroupIDGiven: true, DeduplicationID: "a", DeduplicationIDGiven: true}
	sent := w.must(&SendMessages{Queue: "q.fifo", Batch: true, Entries: []SendEntry{e, e}}).(MessagesSent).Entries
	if sent[0].Duplicate || !sent[1].Duplicate || sent[0].MessageID != sent[1].MessageID {
		t.Fatalf("answers %+v", sent)
	}
}

func TestMaxDeduplicationEntries(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo", Attribute{Name: "MaxDeduplicationEntries", Value: "2"}, Attribute{Name: "DeduplicationWindowSeconds", Value: "20"})
	w.dedup("a +1 b a!")
	c := &SendMessages{Queue: "q.fifo",
		Entries: []SendEntry{{Body: "x", GroupID: "g", GroupIDGiven: true, DeduplicationID: "c", DeduplicationIDGiven: true}}}
	if _, err := w.apply(c); err == nil || err.Code != refusal.OverLimit {
		t.Fatalf("a third id: %v", err)
	}
	w.pass(19 * logtime.Second)
	w.must(c)
}

func TestForgettingIsBounded(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo", Attribute{Name: "DeduplicationWindowSeconds", Value: "20"})
	for i := range 3 * expiryBudget {
		w.b.Apply(w.at, &SendMessages{Queue: "q.fifo", Entries: []SendEntry{{
			Body: "x", GroupID: "g", GroupIDGiven: true, DeduplicationID: SequenceNumber(i).String(), DeduplicationIDGiven: true,
		}}})
	}
	w.pass(logtime.Minute)
	for _, left := range []int{2*expiryBudget + 1, expiryBudget + 2, 3, 0} {
		w.must(&AdvanceClock{})
		q, _ := w.b.queues.Get("q.fifo")
		if got := q.deduplication.Len(); got != left {
			t.Fatalf("%d records left, want %d", got, left)
		}
	}
	if next := w.b.NextDeadline(); next <= w.at {
		t.Fatalf("the next deadline %d has passed already: the leader would never rest", next)
	}
}
