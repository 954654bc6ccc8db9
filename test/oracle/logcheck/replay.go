package logcheck

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle"
	"github.com/seriatimq/seriatim/test/oracle/history"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// replay applies the log to the reference model and to a second state machine.
type replay struct {
	oracle *oracle.Oracle
	twin   *fsm.FSM // nil once it differs, or is too slow
	next   uint64   // the next index
	at     int64    // highest log time so far
	// wrong contains the queues in which model and product differ. After the first difference,
	// everything in a queue would differ.
	wrong map[string]bool
	// unmodelled contains the queues that are not applied to the model, which would need memory for
	// millions of messages. They are judged elsewhere, but taps and twin include them.
	unmodelled []string
	// forgot is by queue the last entry that purged or deleted it, so that it forgot its
	// deduplication and attempt ids.
	forgot map[string]uint64
	states sessionStates
}

func newReplay() replay {
	return replay{
		oracle: oracle.New(reference.New()), wrong: map[string]bool{}, forgot: map[string]uint64{}, states: sessionStates{},
		twin: fsm.New(fsm.Options{Fatal: func(err error) { panic(err) }, Bodies: forgetful{}}),
	}
}

// replayTo checks W6, and W2 for log and model, up to an index.
func (w *Checker) replayTo(end uint64) error {
	if len(w.log.all) == 0 {
		return nil
	}
	if w.replay.next == 0 {
		w.replay.next = w.log.begin
	}
	for ; w.replay.next <= end; w.replay.next++ {
		if p := w.log.at(w.replay.next); p != nil && !p.empty {
			e, err := w.log.load(w.replay.next)
			if err != nil {
				return err
			}
			w.apply(&e)
		}
		w.checkReads()
	}
	return nil
}

// apply applies an entry to the model and to the twin.
func (w *Checker) apply(e *entry) {
	l := e.first()
	if l.AtMs < w.replay.at {
		w.violate("W6", "I13", l.Index, nil, "log time fell from %d to %d (I13e)", w.replay.at, l.AtMs)
	}
	w.replay.at = max(w.replay.at, l.AtMs)
	w.applyTwin(e)
	for i := range e.lines {
		a, err := decode(&e.lines[i])
		if err != nil {
			w.violate("W1", "I13", l.Index, nil, "command %d: %v", i, err)
			continue
		}
		w.count("commands", 1)
		effect, harmful := w.applyModel(&e.lines[i], a)
		if id := e.lines[i].Op; id != "" {
			w.meet(id, trace{at: position{l.Index, i}, id: id, logTime: l.AtMs, effect: effect, harmful: harmful}, a)
		}
	}
}

func decode(l *line) (applied, error) {
	command, err := codec.DecodeCommand(l.Command)
	if err != nil {
		return applied{}, fmt.Errorf("the command: %w", err)
	}
	answer, err := codec.DecodeResponse(l.Answer)
	if err != nil {
		return applied{}, fmt.Errorf("the answer: %w", err)
	}
	return applied{command, answer.Result, answer.Err}, nil
}

// applyTwin applies the entry to a state machine that knows only the log. If its state differs from
// the nodes', an entry is missing in all taps, or the nodes used something that is not in the log.
func (w *Checker) applyTwin(e *entry) {
	if w.replay.twin == nil {
		return
	}
	defer func() {
		if reason := recover(); reason != nil {
			w.violate("W1", "I13", e.first().Index, nil, "a state machine that applies the log alone cannot: %v", reason)
			w.replay.twin = nil
		}
	}()
	var frames [][]byte
	for i := range e.lines {
		frames = append(frames, e.lines[i].Command)
	}
	data := codec.AppendEntry(nil, queue.Timestamp(e.first().AtMs), frames)
	w.replay.twin.Apply(&raft.Log{Index: e.first().Index, Term: e.first().Term, Type: raft.LogCommand, Data: data})
	_, hash := w.replay.twin.StateHash()
	if got := hex.EncodeToString(hash[:]); got != e.last().Hash {
		w.violate("W1", "I13", e.first().Index, nil,
			"a state machine that applies the log alone has state hash %s, the nodes %s (I13b): an entry is missing, "+
				"or they looked at something else", got, e.last().Hash)
		w.replay.twin = nil
	}
}

// applyModel compares the model's answer with the nodes', and returns the effects of the command.
func (w *Checker) applyModel(l *line, a applied) (effect, harmful bool) {
	name := a.command.QueueName()
	if slices.Contains(w.replay.unmodelled, name) {
		w.replay.oracle.Model.Advance(l.AtMs)
		return true, false
	}
	before := w.size(name)
	_, difference := w.replay.oracle.Check(l.AtMs, a.command, a.result, a.refusal)
	if difference != nil && !w.replay.wrong[name] {
		w.replay.wrong[name] = true
		w.violate("W2", difference.Invariant, l.Index, w.eventOf(l.Op), "%s\nwas answered against the rules: %s", describeCommand(l),
			difference.Text)
	}
	changed := w.replay.states.apply(a)
	switch a.command.(type) {
	case *queue.PurgeQueue, *queue.DeleteQueue:
		if q := w.replay.oracle.Model.Queue(name); q == nil || q.Settings.PurgeClearsHistory {
			w.replay.forgot[name] = l.Index
		}
	}
	effect, harmful = effects(a, w.size(name) < before)
	return effect, harmful || changed
}

func (w *Checker) size(name string) int {
	if q := w.replay.oracle.Model.Queue(name); q != nil {
		return q.Size()
	}
	return 0
}

func (w *Checker) eventOf(id string) *history.Event {
	if n, ok := numberOf(id); ok && w.operations[n] != nil {
		return w.operations[n].event
	}
	return nil
}

// effects reports whether a command changed more than time, and whether executing it twice has a
// further effect.
func effects(a applied, removed bool) (effect, harmful bool) {
	if a.refusal != nil {
		return false, false
	}
	switch r := a.result.(type) {
	case queue.MessagesSent:
		for i := range r.Entries {
			if r.Entries[i].Err == nil && !r.Entries[i].Duplicate {
				return true, true
			}
		}
		return false, false
	case queue.MessagesReceived:
		// Repeated with its attempt id, a receive hides messages for longer.
		return len(r.Messages) > 0, len(r.Messages) > 0 && !r.Replayed
	case queue.EntriesDone:
		if _, isDelete := a.command.(*queue.DeleteMessages); isDelete {
			return removed, removed
		}
		for _, err := range r.Errs {
			effect = effect || err == nil
		}
		_, cancels := a.command.(*queue.CancelScheduled)
		return effect, effect && cancels
	case queue.Published:
		for i := range r.Entries {
			effect = effect || !r.Entries[i].Duplicate
		}
		return effect, effect
	case queue.SessionLocked:
		_, accepts := a.command.(*queue.AcceptSession)
		return r.SessionID != "", r.SessionID != "" && accepts
	}
	switch a.command.(type) {
	case *queue.PurgeQueue, *queue.DeleteQueue, *queue.StartMoveTask:
		return true, true
	}
	return true, false
}

// checkReads checks W2 for empty receives and for counters of queues. They write no entry; their
// answers follow from the state at the index in the answer.
func (w *Checker) checkReads() {
	for _, op := range w.reads[w.replay.next] {
		if op.event != nil { // otherwise an entry gave the answer
			w.checkRead(op)
		}
	}
	delete(w.reads, w.replay.next)
}

func (w *Checker) checkRead(op *operation) {
	e := op.event
	for _, t := range op.traces {
		if t.at.index == e.Index {
			return // that entry changed the result
		}
	}
	op.answered, op.read, op.event = position{index: w.log.changedBy(e.Index)}, true, nil
	w.count("reads", 1)
	model := w.replay.oracle.Model
	if e.LogTime != 0 && e.LogTime != model.Now() {
		w.violate("W2", "I11", e.Index, e, "it read at log time %d, which is %d there", e.LogTime, model.Now())
	}
	if e.Action == history.GetState {
		w.checkState(e)
		return
	}
	q := model.Queue(e.Queue)
	if w.replay.wrong[e.Queue] || e.Session != "" {
		return // the calls of its holder are checked instead
	}
	switch {
	case (q == nil) != (e.Error != ""):
		w.violate("W2", "I11", e.Index, e, "the client was told %q, the queue exists: %v", e.Error, q != nil)
	case q == nil:
	case e.Action == history.Counts:
		w.checkCounters(e, model.Counters(q))
	case model.Deliverable(q):
		w.violate("W2", "I11", e.Index, e, "the client was told that %s has nothing, but it has", e.Queue)
	case e.Attempt != "" && q.Remembers(e.Attempt):
		w.violate("W2", "I6", e.Index, e, "the client was told that %s has nothing, but its attempt id %q was given messages before",
			e.Queue, e.Attempt)
	}
}
