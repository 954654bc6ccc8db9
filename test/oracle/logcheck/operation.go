package logcheck

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// operation is a call of a client, with what the log contains about it.
type operation struct {
	id           int64
	call, answer int64 // microseconds since the start of the run
	result       history.Result
	event        *history.Event // nil after it was compared with its entry
	traces       []trace        // the entries that bear its id, in log order
	answered     position       // the entry or state that the answer refers to, zero if unknown
	read         bool           // answered is a state, not an entry
	queue        string
	stock        bool   // a stock SDK made the call, and repeats tries without an answer by itself
	judged       bool   // its outcome was checked
	differs      string // how the answer differs from the last entry that was compared
	elsewhere    bool   // the answer belongs to a try without an entry
}

// trace is an entry of an operation.
type trace struct {
	at      position
	id      string // in the entry: the operation's, or that of one try
	logTime int64  // of the entry, milliseconds since 1970
	effect  bool   // changed more than log time
	harmful bool   // executing it twice has a further effect
}

// unmatchedEntry is an entry whose operation is not in the history yet.
type unmatchedEntry struct {
	trace   trace
	outcome applied
}

// position is a place in the log: an entry, and a command in it.
type position struct {
	index uint64
	n     int
}

func (p position) before(q position) bool {
	return p.index < q.index || p.index == q.index && p.n < q.n
}

// applied is a command with its result, as a node recorded them.
type applied struct {
	command queue.Command
	result  queue.Result
	refusal *queue.Error
}

func (w *Checker) addOperation(e *history.Event) {
	op := &operation{id: e.ID, call: e.Call, answer: e.Return, result: e.Result, event: e, queue: e.Queue, stock: e.Stock}
	w.operations[e.ID] = op
	w.count("operations", 1)
	for _, s := range w.unmatched[e.ID] {
		w.match(op, s.trace, s.outcome)
	}
	delete(w.unmatched, e.ID)
	looks := e.Action == history.Counts || e.Action == history.GetState && e.Error == "" || e.Action == history.Receive &&
		len(e.Messages) == 0
	if e.Result == history.OK && looks && e.Index > 0 {
		if e.Index < w.replay.next {
			w.count("reads too late to be checked", 1)
			return
		}
		w.reads[e.Index] = append(w.reads[e.Index], op)
	}
}

// numberOf returns the operation that an entry names: a number, followed by a dot and the number of
// the try if the client is a stock SDK.
func numberOf(id string) (int64, bool) {
	number, _, _ := strings.Cut(id, ".")
	n, err := strconv.ParseInt(number, 10, 64)
	return n, err == nil
}

// meet records an entry for its operation.
func (w *Checker) meet(id string, t trace, a applied) {
	number, ok := numberOf(id)
	if !ok {
		w.violate("W2", "I12", t.at.index, nil, "no client uses the operation id %q", id)
		return
	}
	w.count("entries of operations", 1)
	if op := w.operations[number]; op != nil {
		w.match(op, t, a)
		return
	}
	w.unmatched[number] = append(w.unmatched[number], unmatchedEntry{t, a})
}

// match checks W2: the request and answer of the client must equal those in an entry of the
// operation.
func (w *Checker) match(op *operation, t trace, a applied) {
	w.checkOnce(op, t, a.command)
	op.traces = append(op.traces, t)
	if op.event == nil {
		return // compared with another entry
	}
	if text := askedOtherwise(op.event, a.command); text != "" {
		w.violate("W2", "I2", t.at.index, op.event, "the entry is not what the client asked for: %s", text)
		return
	}
	if op.result != history.OK {
		return
	}
	if op.event.Index != 0 && op.event.Index != t.at.index {
		return // another entry, or no entry, gave the answer
	}
	text := answerDiffers(op.event, a)
	if text == "" && op.isEmptyOfAnother(t) {
		text = "it is of another try than the one that was answered"
	}
	if text == "" {
		op.answered, op.event = t.at, nil
		return
	}
	if op.event.Index == 0 {
		op.differs = text // unless another one of its entries gave the answer
		return
	}
	w.violate("W2", honesty(op.event), t.at.index, op.event, "the client was told something else than the log says: %s", text)
	op.answered, op.event = t.at, nil
}

// answeredElsewhere reports whether the last try of a stock SDK needs no entry and the entries
// belong to earlier tries. The SDK no longer waited for these, and a paused node may execute a
// request after the answer.
func (op *operation) answeredElsewhere() bool {
	return op.isEmptyReceive() && !slices.ContainsFunc(op.traces, op.isLastTry)
}

// isEmptyOfAnother reports whether an empty receive is the entry of another try. Only its id shows
// this, since any late try finds nothing.
func (op *operation) isEmptyOfAnother(t trace) bool { return op.isEmptyReceive() && !op.isLastTry(t) }

func (op *operation) isEmptyReceive() bool {
	return op.stock && op.event.Action == history.Receive && len(op.event.Messages) == 0
}

// isLastTry reports whether an entry belongs to the try that got the answer.
func (op *operation) isLastTry(t trace) bool {
	return t.id == fmt.Sprintf("%d.%d", op.id, op.event.Tries)
}

// honesty returns the invariant that an answer breaks which differs from the log: I12 for a change,
// and I11 for what was returned.
func honesty(e *history.Event) string {
	if e.Action == history.Receive {
		return "I11"
	}
	return "I12"
}
