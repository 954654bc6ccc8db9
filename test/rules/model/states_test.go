package model

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// compareStates compares whole states: the twins with one another and by their own checks, and the
// views of the first twin with the model.
func (w *world) compareStates() string {
	for _, t := range w.twins {
		if text := t.flush(); text != "" {
			return t.name() + ": " + text
		}
		b := t.broker()
		if b.StateHash() != b.ComputeStateHash() {
			return fmt.Sprintf("%s: incremental state hash %x, computed %x", t.name(), b.StateHash(), b.ComputeStateHash())
		}
		if err := b.CheckInvariants(); err != nil {
			return fmt.Sprintf("%s: %v", t.name(), err)
		}
		if text := sameState(w.plain(), b); text != "" {
			return t.name() + ": " + text
		}
	}
	return w.compareViews()
}

func (w *world) compareViews() string {
	view := w.plain().View()
	queues := w.model.Queues()
	var names []string
	for _, q := range queues {
		names = append(names, q.Name)
	}
	if listed := view.ListQueues("", "", 1000); !slices.Equal(listed, names) {
		return fmt.Sprintf("queues: product %v, model %v", listed, names)
	}
	if text := w.compareTopics(view); text != "" {
		return text
	}
	for _, q := range queues {
		if text := w.compareTasks(view, q.Name); text != "" {
			return q.Name + ": " + text
		}
	}
	return ""
}

// compareTouched compares the counters of the queue that a step changed. Other queues may be
// behind, because the product updates a queue when a command uses it or one of its timers is due,
// and handles some timers (retention, windows) in coarse steps. After many messages even the
// counters of this queue are not exact, because a command handles a limited number of timers.
func (w *world) compareTouched(do action) string {
	if c, ok := do.(commit); ok {
		for _, s := range c.sends {
			if text := w.compareTouched(s); text != "" {
				return text
			}
		}
		for _, s := range c.settlements {
			if text := w.compareTouched(s); text != "" {
				return text
			}
		}
	}
	name := do.command(w).QueueName()
	q := w.model.Queue(name)
	if q != nil && q.Size() > crowdSeen {
		w.crowded = true // a shrunken history may lack purges
	}
	if q == nil || w.crowded {
		return ""
	}
	if text := w.compareQueue(w.plain().View(), q); text != "" {
		return name + ": " + text
	}
	return ""
}

func (w *world) compareQueue(view queue.View, q *reference.Queue) string {
	stats, err := view.Stats(q.Name)
	if err != nil {
		return err.Error()
	}
	c := w.model.Counters(q)
	if got := (reference.Counters{
		Visible: stats.Visible, NotVisible: stats.NotVisible, Delayed: stats.Delayed, Deferred: stats.Deferred,
	}); got != c {
		return fmt.Sprintf("counters: product %+v, model %+v", got, c)
	}
	// The product counts an expired message until the next command removes it.
	if got, want := view.Deliverable(q.Name), w.model.Deliverable(q); got != want && (want || w.model.UpToDate(q)) {
		return fmt.Sprintf("deliverable: product %v, model %v", got, want)
	}
	// The product may still count expired records.
	if live := w.model.RememberedIDs(q); stats.DeduplicationEntries < live {
		return fmt.Sprintf("remembered ids: product %d, model %d", stats.DeduplicationEntries, live)
	}
	if text := w.compareBus(view, q); text != "" {
		return text
	}
	tags, err := view.Tags(q.Name)
	if err != nil {
		return err.Error()
	}
	got := map[string]string{}
	for _, t := range tags {
		got[t.Key] = t.Value
	}
	if !maps.Equal(got, q.Tags) {
		return fmt.Sprintf("tags: product %v, model %v", got, q.Tags)
	}
	return ""
}

// compareTasks compares the move tasks of one source, newest first.
func (w *world) compareTasks(view queue.View, source string) string {
	listed, err := view.MoveTasks(source, 10)
	if err != nil {
		return err.Error()
	}
	var want []*reference.MoveTask
	for _, t := range w.model.Tasks() {
		if t.Source == source {
			want = append(want, t)
		}
	}
	slices.Reverse(want)
	want = want[:min(len(want), 10)]
	if len(listed) != len(want) {
		return fmt.Sprintf("move tasks: product %d, model %d", len(listed), len(want))
	}
	for i, t := range want {
		got := listed[i]
		if moveStatus[got.Status] != t.Status || got.Moved != t.Moved || got.ToMove != t.ToMove || got.Destination != t.Destination {
			return fmt.Sprintf("move task %d (newest is 0): product %+v, model %+v", i, got, *t)
		}
	}
	return ""
}

var moveStatus = map[queue.MoveTaskStatus]string{
	queue.MoveTaskRunning:   "RUNNING",
	queue.MoveTaskCompleted: "COMPLETED",
	queue.MoveTaskStopped:   "CANCELLED",
	queue.MoveTaskFailed:    "FAILED",
}

// waiters checks the events: after a receive found a queue empty, MessagesAvailable must come
// before a receive would return a message.
type waiters struct {
	asleep map[string]bool
	// inSession are the receives that found nothing in a session, and accepting those that found no
	// session, both by queue.
	inSession map[string]queue.SessionRef
	accepting map[string]bool
	replays   int // running replays
	events    []queue.Event
}

func (w *world) checkWaiters(do action) string {
	w.waiting.events = w.plain().TakeEvents(w.waiting.events[:0])
	if text := w.compareDeliveries(); text != "" {
		return text
	}
	if text := w.checkReplayBegins(); text != "" {
		return text
	}
	for _, e := range w.waiting.events {
		if e.Kind == queue.MessagesAvailable || e.Kind == queue.QueueDeleted {
			delete(w.waiting.asleep, e.Queue)
		}
	}
	for _, t := range w.twins[1:] {
		if _, isLog := t.(*logTwin); !isLog {
			t.broker().TakeEvents(nil)
		}
	}
	view := w.plain().View()
	if text := w.checkBusWaiters(view, do); text != "" {
		return text
	}
	for name := range w.waiting.asleep {
		if w.timersDone() && view.Deliverable(name) {
			return fmt.Sprintf("lost wake-up: %s became deliverable without the event MessagesAvailable", name)
		}
	}
	if c, ok := do.(receive); ok && view.QueueExists(c.name) && !view.Deliverable(c.name) {
		w.waiting.asleep[c.name] = true
	}
	return ""
}

// timersDone reports whether no timer of the product is due, so that its views are up to date.
// Otherwise the leader would propose AdvanceClock.
func (w *world) timersDone() bool {
	next := w.plain().NextDeadline()
	return next == 0 || next > w.plain().Now()
}

// count counts the events of a run, so that a generator that no longer reaches one is noticed.
func (w *world) count(s step, want oracle.Answer) {
	w.deliveries = want.Deliveries
	kind := fmt.Sprintf("%T", s.do)
	w.hits[kind]++
	w.countBus(s, want)
	if want.Err != nil {
		w.hits[kind+" refused"]++
		return
	}
	for _, e := range want.Sent {
		switch {
		case e.Err != nil:
			w.hits["send entry refused "+e.Err.Code]++
		case e.Duplicate:
			w.hits["duplicate"]++
		default:
			w.hits["message"]++
		}
	}
	if c, ok := s.do.(receive); ok {
		switch {
		case want.Received.Replayed && len(want.Received.Messages) > 0:
			w.hits["replay"]++
		case len(want.Received.Messages) == 0:
			w.hits["empty receive"]++
		default:
			w.hits["delivery"] += len(want.Received.Messages)
			for _, m := range want.Received.Messages {
				if m.Receives > 1 {
					w.hits["redelivery"]++
				}
				if m.Source != "" {
					w.hits["dead letter of "+c.name]++
					if c.name == "deadend.fifo" {
						w.hits["forwarded dead letter"]++
					}
				}
			}
		}
	}
	for _, e := range want.Entries {
		if e != nil {
			w.hits["entry refused "+e.Code]++
		}
	}
	if want.Moved > 0 {
		w.hits["moved"] += int(want.Moved)
	}
}
