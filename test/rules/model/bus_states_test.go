package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/session"
	"github.com/seriatimq/seriatim/test/oracle"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// compareBus compares what SQS does not show of a queue: every message as an operator sees it,
// sessions, and data on deduplication ids.
func (w *world) compareBus(view queue.View, q *reference.Queue) string {
	peeked, err := view.Peek(q.Name, 0, "", 1<<20)
	if err != nil {
		return err.Error()
	}
	if text := w.oracle.ComparePeeked(q, peeked); text != "" {
		return text
	}
	if !q.FIFO {
		return ""
	}
	if text := w.compareSessions(view, q); text != "" {
		return text
	}
	stats, err := view.DeduplicationStats(q.Name)
	if live := w.model.RememberedIDs(q); err != nil || stats.Live != live {
		return fmt.Sprintf("live ids: product %d %v, model %d", stats.Live, err, live)
	}
	if w.steps%10 != 0 {
		return ""
	}
	for _, id := range append(w.model.IDs(q), reference.DedupID{ID: "x", Group: "a"}) {
		if text := w.compareKnown(view, q, id); text != "" {
			return fmt.Sprintf("the id %+v: %s", id, text)
		}
	}
	return ""
}

func (w *world) compareKnown(view queue.View, q *reference.Queue, id reference.DedupID) string {
	got, found, err := view.KnownID(q.Name, queue.DeduplicationID{ID: id.ID, GroupID: id.Group, PartitionKey: id.Partition})
	want, known := w.model.Known(q, id)
	if err != nil || found != known {
		return fmt.Sprintf("product: known %v %v, model: %v", found, err, known)
	}
	if !known {
		return ""
	}
	return w.oracle.CompareKnown(q, got, want)
}

func (w *world) compareSessions(view queue.View, q *reference.Queue) string {
	listed, err := view.Sessions(q.Name, session.Position{}, 1<<20)
	if err != nil {
		return err.Error()
	}
	got := []reference.SessionInfo{}
	for _, s := range listed {
		got = append(got, reference.SessionInfo{ID: s.SessionID, SetAt: int64(s.StateSetAt), Bytes: s.StateBytes,
			Locked: int64(s.LockedUntil)})
	}
	if want := w.model.Sessions(q); !slices.Equal(got, want) {
		return fmt.Sprintf("sessions with a state: product %+v, model %+v", got, want)
	}
	if got, want := view.SessionFree(q.Name), w.model.FreeSession(q) != nil; got != want {
		return fmt.Sprintf("a session is free: product %v, model %v", got, want)
	}
	for _, s := range w.locks {
		state, given, err := view.SessionState(q.Name, s)
		want, refused := w.model.State(q, w.oracle.SessionOf(s))
		if (err == nil) != (refused == nil) || err == nil && (given != (want != nil) || given && state != *want) {
			return fmt.Sprintf("state of %s: product %q %v %v, model %v %v", s.SessionID, state, given, err, want, refused)
		}
	}
	return ""
}

// compareTopics compares the topics, and the subscribed queues of each in their order.
func (w *world) compareTopics(view queue.View) string {
	var names []string
	for _, t := range w.model.Topics() {
		names = append(names, t.Name)
		list, err := view.ListSubscriptionsByTopic(t.Name, 0, 1000)
		if err != nil {
			return err.Error()
		}
		var got, want []string
		for _, s := range list {
			got = append(got, s.Endpoint)
		}
		for _, s := range t.Subscriptions {
			want = append(want, arn(s.Queue))
		}
		if !slices.Equal(got, want) {
			return fmt.Sprintf("%s: subscribed: product %v, model %v", t.Name, got, want)
		}
		if text := w.compareReplays(view, t); text != "" {
			return text
		}
		if text := w.compareScheduled(view, t); text != "" {
			return t.Name + ": " + text
		}
		tags, err := view.TopicTags(t.Name)
		has := map[string]string{}
		for _, tag := range tags {
			has[tag.Key] = tag.Value
		}
		if err != nil || !maps.Equal(has, t.Tags) {
			return fmt.Sprintf("%s: tags: product %v %v, model %v", t.Name, has, err, t.Tags)
		}
	}
	if got := view.ListTopics("", 1000); !slices.Equal(got, names) {
		return fmt.Sprintf("topics: product %v, model %v", got, names)
	}
	return ""
}

// compareScheduled compares the messages that a topic publishes later.
func (w *world) compareScheduled(view queue.View, t *reference.Topic) string {
	got, err := view.ScheduledPublications(t.Name, 0, 1<<20)
	if err != nil {
		return err.Error()
	}
	want := t.Scheduled()
	if len(got) != len(want) {
		return fmt.Sprintf("scheduled: product %d, model %d", len(got), len(want))
	}
	for i, s := range want {
		if text := w.oracle.CompareScheduled(t.Name, got[i], s); text != "" {
			return fmt.Sprintf("scheduled message %d: %s", i, text)
		}
	}
	return ""
}

// compareDeliveries compares the events of a publish, which report deliveries that no answer shows.
func (w *world) compareDeliveries() string {
	got := map[queue.EventKind]map[string]int{
		queue.TopicDeliveriesDeduplicated: {}, queue.TopicDeliveriesDeadLettered: {}, queue.TopicDeliveriesLost: {},
	}
	for _, e := range w.waiting.events {
		if got[e.Kind] != nil {
			got[e.Kind][e.Queue] += e.Count
		}
	}
	d := w.deliveries
	w.deliveries = reference.Deliveries{}
	if maps.Equal(got[queue.TopicDeliveriesDeduplicated], d.Deduplicated) &&
		maps.Equal(got[queue.TopicDeliveriesDeadLettered], d.DeadLettered) && maps.Equal(got[queue.TopicDeliveriesLost], d.Lost) {
		return ""
	}
	return fmt.Sprintf("deliveries: product: deduplicated, dead-lettered, lost %v %v %v, model %+v", got[queue.TopicDeliveriesDeduplicated],
		got[queue.TopicDeliveriesDeadLettered], got[queue.TopicDeliveriesLost], d)
}

// checkBusWaiters checks the events for receives that wait for a message in a session or for a
// session.
func (w *world) checkBusWaiters(view queue.View, do action) string {
	for _, e := range w.waiting.events {
		if e.Kind == queue.SessionAvailable && e.Session == w.waiting.inSession[e.Queue].SessionID || e.Kind == queue.QueueDeleted {
			delete(w.waiting.inSession, e.Queue)
		}
		if e.Kind == queue.MessagesAvailable || e.Kind == queue.QueueDeleted {
			delete(w.waiting.accepting, e.Queue)
		}
	}
	for name, s := range w.waiting.inSession {
		if _, _, lost := view.SessionState(name, s); lost != nil {
			delete(w.waiting.inSession, name)
		} else if w.timersDone() && view.SessionDeliverable(name, s) {
			return fmt.Sprintf("lost wake-up: session %s of %s became deliverable without the event SessionAvailable", s.SessionID, name)
		}
	}
	for name := range w.waiting.accepting {
		if w.timersDone() && view.SessionFree(name) {
			return fmt.Sprintf("lost wake-up: a session of %s became free without the event MessagesAvailable", name)
		}
	}
	switch c := do.(type) {
	case busReceive:
		s := w.lock(c.lock)
		if _, _, lost := view.SessionState(c.name, s); c.lock != 0 && lost == nil && !view.SessionDeliverable(c.name, s) {
			w.waiting.inSession[c.name] = s
		}
	case accept:
		if view.QueueExists(c.name) && !view.SessionFree(c.name) {
			w.waiting.accepting[c.name] = true
		}
	}
	return ""
}

// countBus is count for commands that SQS does not have.
func (w *world) countBus(s step, want oracle.Answer) {
	for _, p := range want.Published {
		w.hits["published"]++
		if p.Duplicate {
			w.hits["published again"]++
		}
		if p.FirstScheduled {
			w.hits["published again, still scheduled"]++
		}
	}
	w.hits["arrived from a topic"] += want.Deliveries.Arrived
	w.hits["filtered"] += want.Deliveries.Filtered
	w.hits["changed by a rule"] += want.Deliveries.Changed
	w.hits["failed rule"] += want.Deliveries.Failed
	w.hits["published on schedule"] += want.Deliveries.Scheduled
	for what, by := range map[string]map[string]int{
		"deduplicated by a queue": want.Deliveries.Deduplicated, "dead letter of a subscription": want.Deliveries.DeadLettered,
		"lost by a subscription": want.Deliveries.Lost,
	} {
		for _, n := range by {
			w.hits[what] += n
		}
	}
	if want.Err != nil {
		w.hits[fmt.Sprintf("%T refused %s", s.do, want.Err.Code)]++
		return
	}
	w.countReplay(s, want)
	w.countStored(s, want)
	done := 0
	for _, e := range want.Entries {
		if e == nil {
			done++
		}
	}
	switch c := s.do.(type) {
	case settlement:
		w.hits[c.how] += done
		if c.lock != 0 {
			w.hits[c.how+" in a session"] += done
		}
	case cancel:
		if strings.HasPrefix(c.name, "topic ") {
			w.hits["cancelled in a topic"] += done
			break
		}
		w.hits["cancelled"] += done
		if c.forget {
			w.hits["cancelled and forgotten"] += done
		}
	case accept:
		w.hits[map[bool]string{true: "no free session", false: "session accepted"}[want.Locked.Lock == 0]]++
	case commit:
		for _, part := range c.settlements {
			w.hits["committed "+part.how]++
		}
		w.hits["committed send"] += len(c.sends)
		w.hits["committed publish"] += len(c.publishes)
		if len(c.settlements) > 0 && len(c.sends)+len(c.publishes) > 0 {
			w.hits["committed settlement and send"]++
		}
	case releaseGroup:
		w.hits["released from flight"] += int(want.Released.Messages)
		if want.Released.Session {
			w.hits["session taken away"]++
		}
	case fetch:
		w.hits["fetched"] += len(want.Received.Messages)
		for _, m := range want.Received.Messages {
			if m.Sent.Published != nil {
				w.hits["fetched publish"]++
			}
		}
	case busReceive:
		if c.lock != 0 {
			w.hits["received in a session"] += len(want.Received.Messages)
		}
		if c.remove {
			w.hits["received and deleted"] += len(want.Received.Messages)
		}
	}
	for _, m := range want.Received.Messages {
		if m.Sent.Published == nil {
			continue
		}
		w.hits["delivery of a publish"]++
		if m.Sent.Published.Replayed {
			w.hits["delivery of a replay"]++
		}
		if m.Source != "" {
			w.hits["delivery of a dead-lettered publish"]++
		}
	}
}
