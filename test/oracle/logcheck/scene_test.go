package logcheck

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// scene is a hand-made run: one state machine represents the nodes, and calls follow one another
// unless a test changes their times.
type scene struct {
	t       *testing.T
	machine *fsm.FSM
	lines   []*line // as every node writes them
	events  []*history.Event
	index   uint64
	at      int64 // log time in milliseconds
}

const sceneQueue = "q.fifo"

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, at: 1_767_225_600_000, machine: fsm.New(fsm.Options{Fatal: func(err error) { t.Fatal(err) }})}
	s.apply("", &queue.SetClusterSetting{Name: queue.SettingReceiptKey, Value: "000102030405060708090a0b0c0d0e0f"})
	s.apply("", &queue.CreateQueue{Queue: sceneQueue, Attributes: []queue.Attribute{
		{Name: "DeduplicationWindowSeconds", Value: "20"}, {Name: "FifoQueue", Value: "true"}, {Name: "VisibilityTimeout", Value: "5"},
	}})
	return s
}

// apply applies a command in its own entry.
func (s *scene) apply(op string, cmd queue.Command) codec.Response {
	s.t.Helper()
	frame, err := codec.AppendCommand(nil, cmd)
	if err != nil {
		s.t.Fatal(err)
	}
	s.index++
	s.at++
	data := codec.AppendEntry(nil, queue.Timestamp(s.at), [][]byte{frame})
	result := s.machine.Apply(&raft.Log{Index: s.index, Term: 1, Type: raft.LogCommand, Data: data}).(fsm.EntryResult)
	answer, err := codec.AppendResponse(nil, result.Responses[0])
	if err != nil {
		s.t.Fatal(err)
	}
	_, hash := s.machine.StateHash()
	l := &line{Index: s.index, Term: 1, AtMs: s.at, Op: op, Command: frame, Answer: answer, Hash: hex.EncodeToString(hash[:])}
	l.seal()
	s.lines = append(s.lines, l)
	return result.Responses[0]
}

func (l *line) seal() {
	table := crc32.MakeTable(crc32.Castagnoli)
	l.CRC = crc32.Update(crc32.Checksum(l.Command, table), table, l.Answer)
}

// call adds an operation: every call takes 100 µs, with 900 µs between two.
func (s *scene) call(e history.Event, cmd queue.Command) (*history.Event, codec.Response) {
	s.t.Helper()
	e.Kind, e.ID, e.Queue, e.Result = history.KindOp, int64(len(s.events)+1), sceneQueue, history.OK
	e.Call = 1000 * e.ID
	e.Return = e.Call + 100
	s.events = append(s.events, &e)
	var answer codec.Response
	if cmd != nil {
		answer = s.apply(e.OpID(), cmd)
	}
	e.Index, e.LogTime = s.index, s.at
	return &e, answer
}

func (s *scene) send(group, dedup, body string) *history.Event {
	s.t.Helper()
	e, answer := s.call(history.Event{Action: history.Send, Group: group, Dedup: dedup, Body: body}, &queue.SendMessages{
		Queue: sceneQueue, SenderID: "000000000000", Entries: []queue.SendEntry{{
			Body: body, GroupID: group, GroupIDGiven: true, DeduplicationID: dedup, DeduplicationIDGiven: true,
		}},
	})
	sent := answer.Result.(queue.MessagesSent).Entries[0]
	e.Message, e.Sequence = sent.MessageID.String(), sent.Sequence.String()
	return e
}

func (s *scene) receive(attempt string, most int64) *history.Event {
	s.t.Helper()
	e, answer := s.call(history.Event{Action: history.Receive, Attempt: attempt}, &queue.ReceiveMessages{
		Queue: sceneQueue, MaxMessages: queue.Some(most), AttemptID: attempt, AttemptIDGiven: attempt != "",
	})
	r := answer.Result.(queue.MessagesReceived)
	for i := range r.Messages {
		m := &r.Messages[i]
		e.Messages = append(e.Messages, history.Message{
			ID: m.MessageID.String(), Body: m.Body.String(), Group: m.GroupID, Dedup: m.DeduplicationID,
			Sequence: m.Sequence.String(), Handle: m.Handle.String(), Count: int(m.ReceiveCount), Sent: int64(m.SentAt),
		})
	}
	return e
}

// look adds a receive that finds nothing and has no entry.
func (s *scene) look() *history.Event {
	s.t.Helper()
	e, _ := s.call(history.Event{Action: history.Receive}, nil)
	return e
}

func (s *scene) remove(handle string) *history.Event {
	s.t.Helper()
	e, answer := s.call(history.Event{Action: history.Delete, Handle: handle},
		&queue.DeleteMessages{Queue: sceneQueue, Handles: []string{handle}})
	if answer.Err != nil {
		e.Error = "InvalidParameterValueException"
	}
	return e
}

// answer replaces the answer of the last entry, as if all nodes were wrong.
func (s *scene) answer(r codec.Response) {
	s.t.Helper()
	l := s.lines[len(s.lines)-1]
	text, err := codec.AppendResponse(nil, r)
	if err != nil {
		s.t.Fatal(err)
	}
	l.Answer = text
	l.seal()
}

// tell changes the first message of the last receive, in the log and in the answer.
func (s *scene) tell(e *history.Event, change func(*queue.ReceivedMessage)) {
	s.t.Helper()
	r, err := codec.DecodeResponse(s.lines[len(s.lines)-1].Answer)
	if err != nil {
		s.t.Fatal(err)
	}
	m := &r.Result.(queue.MessagesReceived).Messages[0]
	change(m)
	s.answer(r)
	e.Messages[0].ID, e.Messages[0].Handle, e.Messages[0].Count = m.MessageID.String(), m.Handle.String(), int(m.ReceiveCount)
}

// drained adds the end of the drain.
func (s *scene) drained() {
	s.events = append(s.events, &history.Event{Kind: history.KindDrained, Queue: sceneQueue, Call: 1e9, Return: 1e9})
}

// copied returns a copy of the lines for another node.
func (s *scene) copied() []*line {
	var lines []*line
	for _, l := range s.lines {
		c := *l
		lines = append(lines, &c)
	}
	return lines
}

// judge writes the history and the taps, with the scene's lines for each node that is not in
// others, and checks them.
func (s *scene) judge(others map[string][]*line) Report {
	s.t.Helper()
	dir := s.t.TempDir()
	var text strings.Builder
	for _, e := range s.events {
		addJSON(s.t, &text, e)
	}
	write(s.t, filepath.Join(dir, "history.jsonl"), text.String())
	if err := os.Mkdir(filepath.Join(dir, "taps"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	for _, node := range []string{"n1", "n2", "n3"} {
		lines, other := others[node]
		if !other {
			lines = s.lines
		}
		text.Reset()
		for _, l := range lines {
			addJSON(s.t, &text, l)
		}
		write(s.t, filepath.Join(dir, "taps", node+".jsonl"), text.String())
	}
	report, err := Check(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return report
}

func addJSON(t *testing.T, text *strings.Builder, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(text, "%s\n", data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
