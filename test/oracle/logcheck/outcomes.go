package logcheck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// checkOutcomes checks the rest of W2, W4 and W5: which operations have an entry, and how many.
func (w *Checker) checkOutcomes() {
	for _, id := range slices.Sorted(maps.Keys(w.operations)) {
		op := w.operations[id]
		effects, last := op.effects()
		if op.result == history.Fail && effects > 0 {
			w.violate("W4", "I12", last.index, op.described(), "it failed, but took effect")
		}
		if op.judged {
			continue
		}
		op.judged = true
		switch op.result {
		case history.Fail:
			w.count("operations that failed", 1)
		case history.Unknown:
			w.count(fmt.Sprintf("unknown operations with %d effects", effects), 1)
		case history.OK:
			w.checkAnswered(op)
		}
		op.event = nil
	}
	for _, id := range slices.Sorted(maps.Keys(w.unmatched)) {
		w.violate("W2", "I12", w.unmatched[id][0].trace.at.index, nil, "it bears the id of operation %d, which no call has", id)
	}
	clear(w.unmatched)
}

// effects counts the effects of an operation, and returns the last one's place.
func (op *operation) effects() (count int, last position) {
	for _, t := range op.traces {
		if t.effect {
			count++
			last = t.at
		}
	}
	return count, last
}

// checkOnce checks I12: no operation takes effect twice. It must be called before the entry is
// added to the traces.
func (w *Checker) checkOnce(op *operation, t trace, command queue.Command) {
	if !t.harmful {
		return
	}
	harmful := 0
	for _, before := range op.traces {
		if before.harmful && !w.repeatable(op, before, t, command) {
			harmful++
		}
	}
	if harmful == 0 {
		return
	}
	check := "W2"
	if op.result == history.Unknown {
		check = "W5"
	}
	w.violate(check, "I12", t.at.index, op.described(), "it took effect %d times", harmful+1)
}

// repeatable reports whether two entries of one operation are permitted: two tries of a stock SDK,
// if the queue no longer knew the first one. The model checks whether the queue was right.
func (w *Checker) repeatable(op *operation, before, again trace, command queue.Command) bool {
	q := w.replay.oracle.Model.Queue(op.queue)
	if !op.stock || before.id == again.id || q == nil {
		return false
	}
	apart := again.logTime - before.logTime
	switch command.(type) {
	case *queue.SendMessages:
		return apart >= q.Settings.Window*1000 || before.at.index < w.replay.forgot[op.queue]
	case *queue.ReceiveMessages:
		return apart >= q.Settings.AttemptWindow*1000 || before.at.index < w.replay.forgot[op.queue]
	}
	return false
}

// described gives a violation the time of a call that was already dropped from memory.
func (op *operation) described() *history.Event {
	return cmp.Or(op.event, &history.Event{ID: op.id, Call: op.call, Return: op.answer})
}

// checkAnswered checks answers without an entry. They are permitted for empty receives, for reads,
// and for refusals that do not need the state.
func (w *Checker) checkAnswered(op *operation) {
	e := op.event
	switch {
	case e == nil:
		w.count("answers found in the log", 1) // counted when its entry was read
	case op.differs != "" && op.answeredElsewhere():
		op.elsewhere = true
		w.count("empty receives while another try took messages", 1)
	case op.differs != "":
		w.violate("W2", honesty(e), op.traces[0].at.index, e, "the client was told something else than the log says: %s", op.differs)
	case !written[e.Action], e.Error != "":
		w.count("answers without an entry", 1)
	case e.Action == history.Receive && len(e.Messages) == 0:
		w.count("empty receives without an entry", 1)
	case partlyRefused(e):
		w.count("answers without an entry", 1)
	case e.Action == history.Receive:
		w.violate("W2", "I11", e.Index, e, "the client was given messages, but no entry gave them")
	default:
		w.violate("W2", "I12", e.Index, e, "the client was told that its %s was done, but no entry does it", e.Action)
	}
}

// written contains the actions that pass the log.
var written = map[string]bool{
	history.Send: true, history.SendBatch: true, history.Receive: true, history.Delete: true, history.DeleteBatch: true,
	history.Visibility: true, history.VisibilityBatch: true, history.Purge: true, history.CreateQueue: true,
	history.DeleteQueue: true, history.SetAttributes: true, history.Tag: true,
	history.CreateTopic: true, history.Subscribe: true, history.Publish: true, history.Schedule: true, history.Cancel: true,
	history.Abandon:       true,
	history.AcceptSession: true, history.RenewSession: true, history.ReleaseSession: true, history.SetState: true,
}

// partlyRefused reports whether every entry of a batch was refused, which may happen before the
// log.
func partlyRefused(e *history.Event) bool {
	return len(e.Entries) > 0 && !slices.ContainsFunc(e.Entries, func(x history.Entry) bool { return x.Error == "" })
}

// checkRealTime checks W3: if an operation was answered before another one was called, it is before
// it in the log. One pass over the calls keeps the last place in the log of the answered
// operations.
func (w *Checker) checkRealTime() {
	var byCall, byAnswer []*operation
	for _, op := range w.operations {
		if len(op.traces) == 0 && !op.read {
			continue
		}
		byCall = append(byCall, op)
		if op.result == history.OK && !op.elsewhere {
			byAnswer = append(byAnswer, op)
		}
	}
	slices.SortFunc(byCall, func(a, b *operation) int { return cmp.Or(cmp.Compare(a.call, b.call), cmp.Compare(a.id, b.id)) })
	slices.SortFunc(byAnswer, func(a, b *operation) int { return cmp.Or(cmp.Compare(a.answer, b.answer), cmp.Compare(a.id, b.id)) })
	var latest *operation
	answered := 0
	for _, op := range byCall {
		for ; answered < len(byAnswer) && byAnswer[answered].answer < op.call; answered++ {
			if latest == nil || latest.effective().before(byAnswer[answered].effective()) {
				latest = byAnswer[answered]
			}
		}
		if latest == nil {
			continue
		}
		w.count("orders compared", 1)
		if begun := op.begun(); begun.before(latest.effective()) || begun == latest.effective() && !op.read {
			w.violate("W3", "I11", begun.index, op.described(),
				"it is in the log before entry %d, whose operation %d was answered before it was called",
				latest.effective().index, latest.id)
		}
	}
}

// stateOf returns the place after the last command of an entry, which a read of the state at its
// index sees.
func stateOf(index uint64) position { return position{index, 1 << 30} }

// begun returns the first place in the log where an operation may have taken effect.
func (op *operation) begun() position {
	if len(op.traces) > 0 {
		return op.traces[0].at
	}
	return stateOf(op.answered.index)
}

// effective returns the place in the log at which an answered operation has certainly taken effect.
func (op *operation) effective() position {
	if op.read {
		return stateOf(op.answered.index)
	}
	for _, t := range op.traces {
		if t.harmful {
			return t.at
		}
	}
	if op.answered != (position{}) {
		return op.answered
	}
	return op.traces[0].at
}

// checkDrained checks W7: a queue that was drained completely is empty.
func (w *Checker) checkDrained() {
	for _, name := range slices.Sorted(maps.Keys(w.drained)) {
		q := w.replay.oracle.Model.Queue(name)
		if q == nil || w.replay.wrong[name] {
			continue
		}
		w.count("queues drained", 1)
		if left := q.Size(); left > 0 {
			w.violate("W7", "I15", 0, nil, "%s was drained, but %d messages must be left", name, left)
		}
	}
	clear(w.drained)
}
