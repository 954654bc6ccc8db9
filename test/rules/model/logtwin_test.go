package model

import (
	"bytes"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// logTwin runs the history through a log: commands are encoded, several of the same time are put
// into one entry, entries are applied in batches of random size, and answers are encoded and
// decoded (T4). At random times the state machine is replaced by one restored from its snapshot
// (T3).
type logTwin struct {
	seed    uint64
	machine *fsm.FSM
	index   uint64
	held    []heldCommand
}

type heldCommand struct {
	step   int
	at     queue.Timestamp
	frame  []byte
	answer codec.Response
}

func newLogTwin(seed uint64) *logTwin {
	t := &logTwin{seed: seed}
	t.machine = t.newMachine()
	return t
}

func (t *logTwin) newMachine() *fsm.FSM {
	return fsm.New(fsm.Options{Fatal: func(err error) { panic(err) }})
}

func (t *logTwin) name() string          { return "log twin" }
func (t *logTwin) broker() *queue.Broker { return t.machine.Broker() }

func (t *logTwin) apply(_ int, at queue.Timestamp, cmd queue.Command) (queue.Result, *queue.Error) {
	frame, err := codec.AppendCommand(nil, cmd)
	if err != nil {
		panic(err)
	}
	t.index++
	entry := codec.AppendEntry(nil, at, [][]byte{frame})
	outcome := t.machine.Apply(&raft.Log{Index: t.index, Term: 1, Type: raft.LogCommand, Data: entry})
	r := outcome.(fsm.EntryResult).Responses[0]
	return r.Result, r.Err
}

func (t *logTwin) repeat(step int, at queue.Timestamp, cmd queue.Command, result queue.Result, refusal *queue.Error) string {
	frame, err := codec.AppendCommand(nil, cmd)
	if err != nil {
		return fmt.Sprintf("encode: %v", err)
	}
	t.held = append(t.held, heldCommand{step, at, frame, codec.Response{Result: result, Err: refusal}})
	if !chance(t.seed, step, 6, 4) {
		return ""
	}
	if text := t.flush(); text != "" {
		return text
	}
	if chance(t.seed, step, 20, 5) {
		return t.rebuild()
	}
	return ""
}

// flush applies the held commands as one batch of entries.
func (t *logTwin) flush() string {
	var batch []*raft.Log
	var sizes []int
	for from := 0; from < len(t.held); {
		to := from + 1
		for to < len(t.held) && t.held[to].at == t.held[from].at && !chance(t.seed, t.held[to].step, 4, 6) {
			to++
		}
		var frames [][]byte
		for _, h := range t.held[from:to] {
			frames = append(frames, h.frame)
		}
		t.index++
		batch = append(batch, &raft.Log{
			Index: t.index, Term: 1, Type: raft.LogCommand,
			Data: codec.AppendEntry(nil, t.held[from].at, frames),
		})
		sizes = append(sizes, to-from)
		from = to
	}
	if len(batch) == 0 {
		return ""
	}
	outcomes := t.machine.ApplyBatch(batch)
	held := t.held
	t.held = nil
	for i, outcome := range outcomes {
		responses := outcome.(fsm.EntryResult).Responses
		if len(responses) != sizes[i] {
			return fmt.Sprintf("%d answers to an entry of %d commands", len(responses), sizes[i])
		}
		for _, r := range responses {
			if text := sameResponse(held[0], r); text != "" {
				return text
			}
			held = held[1:]
		}
	}
	return ""
}

// sameResponse compares the encoded answers, and checks that decoding restores them.
func sameResponse(want heldCommand, got codec.Response) string {
	wanted, err := codec.AppendResponse(nil, want.answer)
	if err != nil {
		return fmt.Sprintf("step %d: encode answer: %v", want.step, err)
	}
	given, err := codec.AppendResponse(nil, got)
	if err != nil {
		return fmt.Sprintf("step %d: encode answer: %v", want.step, err)
	}
	if !bytes.Equal(wanted, given) {
		return fmt.Sprintf("step %d: %s", want.step, answersDiffer(want.answer.Result, want.answer.Err, got.Result, got.Err))
	}
	decoded, err := codec.DecodeResponse(given)
	if err != nil {
		return fmt.Sprintf("step %d: decode answer: %v", want.step, err)
	}
	again, err := codec.AppendResponse(nil, decoded)
	if err != nil || !bytes.Equal(given, again) {
		return fmt.Sprintf("step %d: an answer changed by encoding and decoding it: %v", want.step, err)
	}
	return ""
}

// rebuild restores a new state machine from a snapshot of this one.
func (t *logTwin) rebuild() string {
	written, err := snapshotBytes(t.broker(), t.machine.Position())
	if err != nil {
		return fmt.Sprintf("snapshot: %v", err)
	}
	restored := t.newMachine()
	if err := restored.Restore(io.NopCloser(bytes.NewReader(written))); err != nil {
		return fmt.Sprintf("restore: %v", err)
	}
	if restored.Position() != t.machine.Position() {
		return fmt.Sprintf("position after restore %+v, before %+v", restored.Position(), t.machine.Position())
	}
	if text := sameState(t.broker(), restored.Broker()); text != "" {
		return "restored state: " + text
	}
	t.machine = restored
	return ""
}
