package model

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/explain"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// explained makes a world compare explanations with the model.
type explained struct {
	seed uint64
	hits map[string]int // explanations by subject, state and what is next
}

// TestExplanations compares explanations with the model after each command: the state that they name,
// its end, and what happens next. Of some of them, time passes on a copy of the product, too.
func TestExplanations(t *testing.T) {
	first, last := uint64(1), uint64(*seedsFlag)
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	all := tally{hits: map[string]int{}}
	t.Run("seeds", func(t *testing.T) {
		for seed := first; seed <= last; seed++ {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				fresh := func() *world {
					w := newWorld(seed, onlyPlain())
					w.explained = &explained{seed: seed, hits: map[string]int{}}
					return w
				}
				w := fresh()
				steps, d := generate(w, seed, *commandsFlag)
				if d != nil {
					t.Fatal(report("TestExplanations", seed, shrink(fresh, steps, d)))
				}
				all.add(len(steps), w.explained.hits)
			})
		}
	})
	if testing.Verbose() {
		for what, n := range all.hits {
			t.Logf("%8d %s", n, what)
		}
	}
	if !t.Failed() && *seedFlag == 0 && all.commands >= 50_000 {
		for _, what := range explanationsReached {
			if all.hits[what] == 0 {
				t.Errorf("no history had %q", what)
			}
		}
	}
}

// explanationsReached are the explanations without which a long run proves nothing.
var explanationsReached = []string{
	"queue paused", "queue disabled", "message disabled",
	"queue ready deliver", "queue empty", "queue blocked deliver", "queue in-flight deliver", "queue delayed deliver",
	"queue deferred", "group empty", "group ready deliver", "group session deliver", "group in-flight deliver",
	"group in-flight dead-letter", "group delayed deliver", "group dead-letter dead-letter", "group paused",
	"message scheduled enqueue", "message in-flight deliver", "message in-flight dead-letter", "message in-flight expire",
	"message in-flight", "message deferred", "message session deliver", "message session", "message waiting",
	"message delayed deliver", "message paused", "message dead-letter dead-letter", "message ready deliver",
	"id duplicate forget", "id unknown", "id full", "id off", "topic id duplicate forget", "topic id unknown",
	"subscription delivers", "subscription failing", "subscription filtered",
	"delivered as said", "dead-lettered as said", "enqueued as said", "expired as said", "forgotten as said", "available as said",
	"group release", "queue resume", "msg cancel", "msg discard", "msg move", "dedup forget", "queue update",
}

var thens = map[explain.Then]string{
	explain.Nothing: "", explain.Deliver: " deliver", explain.DeadLetter: " dead-letter", explain.Enqueue: " enqueue",
	explain.Forget: " forget", explain.Expire: " expire",
}

func (w *world) countExplained(subject string, e *explain.Explanation) {
	w.explained.hits[subject+" "+e.State+thens[e.Then]]++
}

// compareExplanations explains everything in the queue of a command, whose timers are up to date.
func (w *world) compareExplanations(s step) string {
	if w.explained == nil || w.crowded {
		return ""
	}
	view := w.plain().View()
	if text := w.compareTopicExplanations(view, s); text != "" {
		return text
	}
	name := s.do.command(w).QueueName()
	q := w.model.Queue(name)
	if q == nil || !w.model.UpToDate(q) {
		return ""
	}
	if text := w.compareQueueExplanation(view, q); text != "" {
		return fmt.Sprintf("explanation of %s: %s", name, text)
	}
	peeked, err := view.Peek(name, 0, "", 1000)
	if err != nil {
		return err.Error()
	}
	for i, m := range w.model.Peek(q) {
		if text := w.compareMessageExplanation(view, q, m.Number, peeked[i].Sequence); text != "" {
			return fmt.Sprintf("explanation of message %s of %s: %s", peeked[i].Sequence, name, text)
		}
	}
	if text := w.tryExplanations(s, q, peeked); text != "" {
		return "explanations of " + name + ": " + text
	}
	if !q.FIFO {
		return ""
	}
	for _, group := range append(w.model.Groups(q), "unused") {
		if text := w.compareGroupExplanation(view, q, group); text != "" {
			return fmt.Sprintf("explanation of group %s of %s: %s", group, name, text)
		}
	}
	for _, id := range append(w.model.IDs(q), reference.DedupID{ID: "x", Group: "a"}) {
		if text := w.compareIDExplanation(view, q, id); text != "" {
			return fmt.Sprintf("explanation of id %+v of %s: %s", id, name, text)
		}
	}
	return ""
}

func (w *world) compareQueueExplanation(view queue.View, q *reference.Queue) string {
	e, err := explain.Queue(view, q.Name)
	if err != nil {
		return err.Error()
	}
	w.countExplained("queue", &e)
	if want := w.model.QueueState(q); e.State != want {
		return fmt.Sprintf("%+v, the model has %s", e, want)
	}
	want, then := int64(0), explain.Nothing
	switch e.State {
	case "ready":
		then = explain.Deliver
	case "paused", "disabled", "forwarding", "empty":
	default:
		if want = w.model.NextDeliverable(q.Name); want != 0 {
			then = explain.Deliver
		}
	}
	if int64(e.Until) != want || e.Then != then {
		return fmt.Sprintf("%+v, the model has a message at %d", e, want)
	}
	return ""
}

// compareMessageExplanation compares the explanation of a message, and lets time pass in a copy of the
// model.
func (w *world) compareMessageExplanation(view queue.View, q *reference.Queue, number int, sequence queue.SequenceNumber) string {
	e, err := explain.Message(view, q.Name, sequence)
	if err != nil {
		return err.Error()
	}
	w.countExplained("message", &e)
	want := w.model.Outlook(q, number)
	if until := endOf(want.Until, want.ExpiresAt); e.State != want.State || int64(e.Until) != until {
		return fmt.Sprintf("%+v, the model has %+v", e, want)
	}
	if e.State == "waiting" && !strings.Contains(e.Summary, "waits for "+strconv.Itoa(want.Before)+" earlier message") {
		return fmt.Sprintf("%q, the model has %d earlier ones", e.Summary, want.Before)
	}
	if text := w.compareFacts(q, &e, want); text != "" {
		return text
	}
	return w.compareFuture(q, &e, number, func(later *reference.Broker, q *reference.Queue) string {
		return later.Outlook(q, number).State
	})
}

// endOf returns when a state ends: at its own end, or earlier because the message expires.
func endOf(until, expires int64) int64 {
	if until != 0 && expires != 0 {
		return min(until, expires)
	}
	return until
}

// compareFuture checks that a state lasts until its end and not longer, and that what is next is next.
// state reads the state in a copy of the model.
func (w *world) compareFuture(q *reference.Queue, e *explain.Explanation, number int,
	state func(*reference.Broker, *reference.Queue) string) string {
	then := w.model
	if e.Until != 0 {
		last := w.model.Later(q.Name, int64(e.Until)-1)
		if got := state(last, last.Queue(q.Name)); got != e.State {
			return fmt.Sprintf("%+v, but the model is %s a millisecond before the end", e, got)
		}
		then = w.model.Later(q.Name, int64(e.Until))
		if got := state(then, then.Queue(q.Name)); got == e.State && e.Then != explain.Expire {
			return fmt.Sprintf("%+v, but the model is still %s at the end", e, got)
		}
	}
	after := then.Queue(q.Name)
	delivers, moves := then.Receivable(after, number)
	id := q.IDOf(number)
	movesOn := w.model.ExpiresTo(q, number) != ""
	gone := number != 0 && after.NumberOf(id) == 0
	ok := false
	switch e.Then {
	case explain.Deliver:
		ok = delivers
	case explain.DeadLetter:
		ok = moves || gone && movesOn
	case explain.Enqueue:
		ok = after.IDOf(number) == 0 && !gone
	case explain.Expire:
		ok = gone && !movesOn
	case explain.Nothing:
		ok = !delivers && !moves || w.model.Outlook(q, number).Before > 0 // perhaps together with earlier ones
	}
	if !ok {
		return fmt.Sprintf("%+v, but then the model delivers %v, moves %v, is gone %v", e, delivers, moves, gone)
	}
	return ""
}

var duplicateOf = regexp.MustCompile(`a send with its deduplication id (\S+) is a duplicate`)

var receivesLeft = regexp.MustCompile(`^It moves to the dead-letter queue (.*) after (\d+) receives? more\.$`)

// compareFacts compares the sentences about the future of a message.
func (w *world) compareFacts(q *reference.Queue, e *explain.Explanation, want reference.Outlook) string {
	var facts []string
	if want.Target != "" && !want.Due {
		facts = append(facts, fmt.Sprintf("It moves to the dead-letter queue %s after %d receives more.", want.Target, want.Left))
	}
	if want.Source != "" {
		facts = append(facts, "It was dead-lettered from "+want.Source+".")
	}
	if want.ExpiresAt != 0 {
		facts = append(facts, "It expires at "+clockOf(want.ExpiresAt)+".")
	}
	if free := w.model.FreeAt(q, want.Dedup); free != 0 {
		id := want.Dedup.ID
		if want.DedupOf != 0 {
			seen := duplicateOf.FindStringSubmatch(strings.Join(e.Details, " "))
			id = w.oracle.MessageID(want.DedupOf, append(seen, "", "")[1])
		}
		facts = append(facts, "Until "+clockOf(free)+" a send with its deduplication id "+id+" is a duplicate.")
	}
	var got []string
	for _, d := range e.Details {
		if left := receivesLeft.FindStringSubmatch(d); left != nil {
			d = "It moves to the dead-letter queue " + left[1] + " after " + left[2] + " receives more."
		}
		if !strings.HasSuffix(d, ": receives get no messages.") {
			got = append(got, d)
		}
	}
	if !slices.Equal(got, facts) {
		return fmt.Sprintf("details %q, the model has %q", got, facts)
	}
	return ""
}

func clockOf(at int64) string {
	return string(queue.Timestamp(at).AppendRFC3339(nil)[:len("2006-01-02T15:04:05")]) + "Z"
}

func (w *world) compareGroupExplanation(view queue.View, q *reference.Queue, group string) string {
	e, err := explain.Group(view, q.Name, group)
	if err != nil {
		return err.Error()
	}
	w.countExplained("group", &e)
	want := w.model.GroupOutlook(q, group)
	until := want.Until
	if e.State != "session" { // a lock outlives messages
		until = endOf(until, w.model.Outlook(q, want.Number).ExpiresAt)
	}
	if e.State != want.State || int64(e.Until) != until {
		return fmt.Sprintf("%+v, the model has %+v", e, want)
	}
	if has := fmt.Sprintf("It has %d of %d messages in flight", want.InFlight, want.Messages); e.State == "session" &&
		!strings.Contains(e.Text(), has) {
		return fmt.Sprintf("%q, the model has %q", e.Text(), has)
	}
	return w.compareFuture(q, &e, want.Number, func(later *reference.Broker, q *reference.Queue) string {
		if g := later.GroupOutlook(q, group); g.Number == want.Number || g.State == "session" {
			return g.State
		}
		return "of another message"
	})
}

func (w *world) compareIDExplanation(view queue.View, q *reference.Queue, id reference.DedupID) string {
	e, err := explain.Deduplication(view, q.Name, queue.DeduplicationID{ID: id.ID, GroupID: id.Group, PartitionKey: id.Partition})
	if err != nil {
		return err.Error()
	}
	w.countExplained("id", &e)
	free, want := w.model.FreeAt(q, id), "unknown"
	switch {
	case q.Settings.DeduplicationOff:
		want, free = "off", 0
	case free != 0:
		want = "duplicate"
	case w.model.HistoryFull(q, id.ID):
		want = "full"
	}
	if e.State != want || int64(e.Until) != free || (e.Then == explain.Forget) != (want == "duplicate") {
		return fmt.Sprintf("%+v, the model is %s until %d", e, want, free)
	}
	if want != "duplicate" {
		return ""
	}
	last, then := w.model.Later(q.Name, free-1), w.model.Later(q.Name, free)
	_, still := last.Known(last.Queue(q.Name), id)
	_, more := then.Known(then.Queue(q.Name), id)
	if !still || more {
		return fmt.Sprintf("%+v, but the model knows it before %v and then %v", e, still, more)
	}
	return ""
}
