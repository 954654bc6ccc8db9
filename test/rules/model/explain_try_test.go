package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/explain"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// tryEvery is the number of commands of which one has an explanation tried out.
const tryEvery = 8

// tryExplanations lets time pass on copies of the product, and executes suggested commands on others,
// for one message, group or id of a queue.
func (w *world) tryExplanations(s step, q *reference.Queue, peeked []queue.PeekedMessage) string {
	if !chance(w.explained.seed, s.id, tryEvery, 6) || w.model.Fed(q) {
		return ""
	}
	view, name := w.plain().View(), q.Name
	e, _ := explain.Queue(view, name) // the queue exists
	if e.Until != 0 {
		if text := w.tryAvailable(q, &e); text != "" {
			return text
		}
	}
	if len(peeked) > 0 {
		m := &peeked[s.id%len(peeked)]
		about := func(v queue.View) (explain.Explanation, *queue.Error) { return explain.Message(v, name, m.Sequence) }
		if text := w.tryMessage(q, m, about); text != "" {
			return text
		}
		if text := w.tryCommands(about); text != "" {
			return text
		}
	}
	if !q.FIFO {
		return ""
	}
	if groups := w.model.Groups(q); len(groups) > 0 {
		group := groups[s.id%len(groups)]
		if text := w.tryCommands(func(v queue.View) (explain.Explanation, *queue.Error) {
			return explain.Group(v, name, group)
		}); text != "" {
			return text
		}
	}
	if ids := append(w.model.IDs(q), reference.DedupID{ID: "new", Group: "a"}); true {
		return w.tryID(q, ids[s.id%len(ids)])
	}
	return ""
}

// copied returns a copy of the product without the scheduled messages of topics: explanations of a
// queue are about the messages that it has.
func (w *world) copied() *queue.Broker {
	b, err := restore(w.plain().Freeze())
	if err != nil {
		panic(err) // caught and reported with its step
	}
	for _, t := range w.model.Topics() {
		list, _ := b.View().ScheduledPublications(t.Name, 0, 1<<20) // the topic exists
		for _, p := range list {
			cmd := &queue.CancelScheduled{Topic: t.Name, Sequences: []queue.SequenceNumber{p.Sequence}}
			if _, err := b.Apply(b.Now(), cmd); err != nil {
				panic(err)
			}
		}
	}
	return b
}

// receiveFrom receives everything from a queue of a copy. It returns what happened to a message.
func receiveFrom(b *queue.Broker, at queue.Timestamp, name string, m *queue.PeekedMessage) explain.Then {
	if now, err := b.View().Stored(name, m.Sequence); err != nil || now.MessageID != m.MessageID {
		return explain.Enqueue
	}
	for empty := 0; empty < 2; {
		cmd := &queue.ReceiveMessages{Queue: name, MaxMessages: queue.Some(10), VisibilityTimeout: queue.Some(43_200)}
		result, refused := b.Apply(at, cmd)
		if refused != nil && refused.Code != refusal.EntityDisabled && refused.Code != refusal.UnsupportedOperation {
			panic(refused)
		}
		received, _ := result.(queue.MessagesReceived) // none if it was refused
		got := received.Messages
		for i := range got {
			if got[i].MessageID == m.MessageID {
				return explain.Deliver
			}
		}
		if empty++; len(got) > 0 {
			empty = 0
		}
		switch now, err := b.View().Stored(name, m.Sequence); {
		case err == nil && now.MessageID == m.MessageID:
		case slices.ContainsFunc(stored(b, name), func(p queue.PeekedMessage) bool { return p.MessageID == m.MessageID }):
			return explain.Enqueue
		case slices.ContainsFunc(stored(b, b.View().DeadLetterQueue(name)), func(p queue.PeekedMessage) bool {
			return p.MessageID == m.MessageID && p.DeadLetterSource == name
		}):
			return explain.DeadLetter
		case forwardsDeadLetters(b, name) && slices.ContainsFunc(b.TakeEvents(nil), func(e queue.Event) bool {
			return e.Kind == queue.MessagesDeadLettered && e.Queue == name
		}):
			return explain.DeadLetter
		default:
			return explain.Expire
		}
	}
	return explain.Nothing
}

func forwardsDeadLetters(b *queue.Broker, name string) bool {
	a, _ := b.View().Typed(name) // the queue exists
	return a.ForwardDeadLetters != ""
}

func stored(b *queue.Broker, name string) []queue.PeekedMessage {
	list, _ := b.View().Peek(name, 0, "", 1000) // a missing queue has none
	return list
}

// timePasses advances the clock of a copy. Explanations assume that clients use its queues.
func timePasses(at queue.Timestamp) queue.Command { return &queue.AdvanceClock{LeadingSince: at} }

var asSaid = map[explain.Then]string{
	explain.Deliver: "delivered as said", explain.DeadLetter: "dead-lettered as said", explain.Enqueue: "enqueued as said",
	explain.Expire: "expired as said",
}

// tryMessage receives from copies of the product: until the end of the state nothing happens to the
// message, and at the end what its explanation says.
func (w *world) tryMessage(q *reference.Queue, m *queue.PeekedMessage, about func(queue.View) (explain.Explanation, *queue.Error)) string {
	e, err := about(w.plain().View())
	if err != nil {
		return err.Error()
	}
	at := e.Until
	if at == 0 {
		at = w.plain().Now()
	} else {
		before := w.copied()
		if got := receiveFrom(before, e.Until-1, q.Name, m); got != explain.Nothing && e.State != "session" {
			return fmt.Sprintf("message %s: %+v, but a millisecond earlier:%s", m.Sequence, e, thens[got])
		}
		if still, err := about(before.View()); err != nil || still.State != e.State || still.Until != e.Until {
			return fmt.Sprintf("message %s: %+v, but a millisecond earlier %+v %v", m.Sequence, e, still, err)
		}
	}
	b := w.copied()
	switch {
	case e.Then == explain.Nothing && e.Until == 0:
		return ""
	case e.Then == explain.Enqueue:
		if _, refused := b.Apply(at, timePasses(at)); refused != nil {
			return refused.Error()
		}
	}
	if got := receiveFrom(b, at, q.Name, m); got != e.Then && e.Then != explain.Nothing {
		return fmt.Sprintf("message %s: %+v, but at %d:%s", m.Sequence, e, at, thens[got])
	}
	if said := asSaid[e.Then]; said != "" {
		w.explained.hits[said]++
	}
	return ""
}

// tryAvailable receives from copies of the product: before the time that the explanation of a queue
// names there is nothing, and at that time a message is delivered or dead-lettered.
func (w *world) tryAvailable(q *reference.Queue, e *explain.Explanation) string {
	if w.model.Receives(q, int64(e.Until)) {
		return "" // the explanation is about the messages that the queue has
	}
	for _, at := range []queue.Timestamp{e.Until - 1, e.Until} {
		b := w.copied()
		before := len(stored(b, q.Name))
		if _, refused := b.Apply(at, timePasses(at)); refused != nil {
			return refused.Error()
		}
		if at < e.Until {
			b.TakeEvents(nil) // of messages that have expired
		}
		result, refused := b.Apply(at, &queue.ReceiveMessages{Queue: q.Name})
		if refused != nil {
			return refused.Error()
		}
		got := len(result.(queue.MessagesReceived).Messages) > 0
		if moved := slices.ContainsFunc(b.TakeEvents(nil), func(e queue.Event) bool {
			return e.Kind == queue.MessagesDeadLettered && e.Queue == q.Name
		}); got || moved != (at == e.Until) {
			if got && at == e.Until {
				continue
			}
			return fmt.Sprintf("queue: %+v, but at %d: received %v, dead-lettered %v of %d", e, at, got, moved, before)
		}
	}
	w.explained.hits["available as said"]++
	return ""
}

// tryID sends with a deduplication id to copies of the product.
func (w *world) tryID(q *reference.Queue, id reference.DedupID) string {
	about := queue.DeduplicationID{ID: id.ID, GroupID: id.Group, PartitionKey: id.Partition}
	explained := func(v queue.View) (explain.Explanation, *queue.Error) { return explain.Deduplication(v, q.Name, about) }
	e, err := explained(w.plain().View())
	if err != nil {
		return err.Error()
	}
	if text := w.tryCommands(explained); text != "" {
		return text
	}
	group := cmp.Or(id.Group, "a")
	sent := func(at queue.Timestamp) string {
		entry := queue.SendEntry{
			Body: "never sent before", GroupID: group, GroupIDGiven: true, DeduplicationID: id.ID, DeduplicationIDGiven: true,
			Native: true,
		}
		result, refused := w.copied().Apply(at, &queue.SendMessages{Queue: q.Name, Entries: []queue.SendEntry{entry}})
		switch {
		case refused != nil && refused.Code == refusal.OverLimit:
			return "full"
		case refused != nil && refused.Code == refusal.QuotaExceeded,
			refused != nil && refused.Code == refusal.EntityDisabled && strings.Contains(e.Next, "disabled"):
			return e.State
		case refused != nil:
			return refused.Error()
		case result.(queue.MessagesSent).Entries[0].Duplicate:
			return "duplicate"
		case q.Settings.DeduplicationOff:
			return "off"
		}
		return "unknown"
	}
	if grouped := (reference.DedupID{ID: id.ID, Group: group}); w.model.FreeAt(q, id) != w.model.FreeAt(q, grouped) {
		return "" // the id is known without a group, which the send needs
	}
	if got := sent(w.plain().Now()); got != e.State {
		return fmt.Sprintf("id %+v: %+v, but a send is %s", id, e, got)
	}
	if e.Until == 0 || strings.Contains(e.Next, "disabled") {
		return ""
	}
	if got := sent(e.Until - 1); got != "duplicate" {
		return fmt.Sprintf("id %+v: %+v, but a millisecond earlier a send is %s", id, e, got)
	}
	if got := sent(e.Until); got == "duplicate" {
		return fmt.Sprintf("id %+v: %+v, but then a send is still a duplicate", id, e)
	}
	w.explained.hits["forgotten as said"]++
	return ""
}

// tryCommands executes each suggested command that changes something on a copy of the product. Nothing
// may be refused, and the state must no longer be the one that was explained.
func (w *world) tryCommands(about func(queue.View) (explain.Explanation, *queue.Error)) string {
	e, err := about(w.plain().View())
	if err != nil {
		return err.Error()
	}
	for _, suggested := range e.Commands {
		cmd := suggestedCommand(suggested.Line)
		if cmd == nil {
			continue // it only shows something
		}
		b := w.copied()
		result, refused := b.Apply(b.Now(), cmd)
		switch r := result.(type) {
		case queue.EntriesDone:
			refused = r.Errs[0]
		case queue.StoredMoved:
			refused = r.Entries[0].Err
		}
		if refused != nil {
			return fmt.Sprintf("%+v: %s: %v", e, suggested.Line, refused)
		}
		words := strings.Fields(suggested.Line)
		w.explained.hits[words[1]+" "+words[2]]++
		after, err := about(b.View())
		still := err == nil && after.State == e.State
		if words[1] == "queue" { // something else may hold the message, too
			still = slices.ContainsFunc(after.Commands, func(c explain.Command) bool { return c.Line == suggested.Line })
		}
		if still {
			return fmt.Sprintf("%+v: after %s it is %+v", e, suggested.Line, after)
		}
	}
	return ""
}

// suggestedCommand returns the command of a line of the tool, nil for one that changes nothing.
func suggestedCommand(line string) queue.Command {
	var words []string
	for i, part := range strings.Split(line, "'") { // ids of histories have no quotes
		switch {
		case i%2 == 0:
			words = append(words, strings.Fields(part)...)
		case part == "":
			words = append(words, "\x00") // the empty group
		default:
			words = append(words, part)
		}
	}
	words = words[1:]
	flag := func(name string) string {
		if at := slices.Index(words, name); at >= 0 {
			return words[at+1]
		}
		return ""
	}
	number := func(text string) []queue.SequenceNumber {
		n, ok := identifier.ParseSequenceNumber(text)
		if !ok {
			panic("no sequence number: " + text)
		}
		return []queue.SequenceNumber{n}
	}
	force := slices.Contains(words, "--force")
	switch name := words[2]; words[0] + " " + words[1] {
	case "group release":
		return &queue.ReleaseGroup{Queue: name, Group: words[3]}
	case "queue resume":
		return &queue.SetQueueAttributes{Queue: name, Attributes: []queue.Attribute{{Name: "DeliveryPaused", Value: "false"}}}
	case "queue update":
		attribute, value, _ := strings.Cut(flag("--attribute"), "=")
		return &queue.SetQueueAttributes{Queue: name, Attributes: []queue.Attribute{{Name: attribute, Value: value}}}
	case "msg cancel":
		return &queue.CancelScheduled{Queue: name, Sequences: number(words[3])}
	case "msg discard":
		return &queue.DeleteStored{Queue: name, Sequences: number(flag("--sequence")), Force: force}
	case "msg move":
		return &queue.MoveStored{Queue: name, Sequences: number(flag("--sequence")), Force: force}
	case "dedup forget":
		return &queue.ForgetDeduplication{Queue: name, DeduplicationID: queue.DeduplicationID{
			ID: words[3], GroupID: flag("--group"), PartitionKey: flag("--partition-key"),
		}}
	case "group explain", "group list", "queue show":
		return nil
	}
	panic("no such command: " + strconv.Quote(line))
}

// compareTopicExplanations compares the explanations of deduplication ids and subscriptions of the topic
// of a publish, and of the messages of this publish.
func (w *world) compareTopicExplanations(view queue.View, s step) string {
	c, published := s.do.(publish)
	t := w.model.Topic(c.topic)
	if !published || t == nil {
		return ""
	}
	if t.FIFO {
		for _, id := range append(w.model.TopicIDs(t), reference.DedupID{ID: "unseen", Group: "a"}) {
			e, err := explain.TopicDeduplication(view, t.Name, queue.DeduplicationID{ID: id.ID, GroupID: id.Group})
			if err != nil {
				return err.Error()
			}
			w.countExplained("topic id", &e)
			if until := w.model.TopicFreeAt(t, id); (e.State == "duplicate") != (until != 0) || int64(e.Until) != until {
				return fmt.Sprintf("explanation of id %+v of %s: %+v, the model knows it until %d", id, t.Name, e, until)
			}
		}
	}
	list, err := view.ListSubscriptionsByTopic(t.Name, 0, 1000)
	if err != nil {
		return err.Error()
	}
	asked := c.command(w).(*queue.Publish)
	for i, sub := range t.Subscriptions {
		for n, entry := range c.entries {
			p := &explain.Publication{Attributes: asked.Entries[n].Attributes, Body: entry.Message}
			e, err := explain.Subscription(view, list[i].SubscriptionARN, p)
			if err != nil {
				return err.Error()
			}
			w.countExplained("subscription", &e)
			want := "delivers"
			if !w.model.Fits(t, sub) {
				want = "failing"
			} else if !sub.Passes(entry) {
				want = "filtered"
			}
			if e.State != want {
				return fmt.Sprintf("explanation of the subscription of %s to %s: %+v, the model: %s", t.Name, sub.Queue, e, want)
			}
		}
	}
	return ""
}
