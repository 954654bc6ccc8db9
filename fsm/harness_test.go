package fsm

import (
	"bytes"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
)

// start is the log time at which tests begin.
const start queue.Timestamp = 1_700_000_000_000

// replica is an FSM with its log.
type replica struct {
	t     testing.TB
	fsm   *FSM
	index uint64
	term  uint64
}

// newReplica returns a replica with an empty state that fails the test on a fatal error.
func newReplica(t testing.TB, options Options) *replica {
	if options.Fatal == nil {
		options.Fatal = func(err error) { t.Fatalf("fatal: %v", err) }
	}
	return &replica{t: t, fsm: New(options), term: 1}
}

// founded returns a replica with the settings of a new cluster.
func founded(t testing.TB, options Options) *replica {
	r := newReplica(t, options)
	for _, cmd := range founding() {
		if got := r.apply(start, cmd); got.Err != nil {
			t.Fatalf("%+v: %v", cmd, got.Err)
		}
	}
	return r
}

func founding() []queue.Command {
	return []queue.Command{
		&queue.SetClusterSetting{Name: queue.SettingClusterID, Value: "c-test"},
		&queue.SetClusterSetting{Name: queue.SettingReceiptKey, Value: "000102030405060708090a0b0c0d0e0f"},
		&queue.SetClusterSetting{Name: queue.SettingMinimumWindow, Value: "1"},
		&queue.SetFormatVersion{Version: format.CurrentVersion},
	}
}

// mustFrame encodes cmd.
func mustFrame(t testing.TB, cmd queue.Command) []byte {
	t.Helper()
	frame, err := codec.AppendCommand(nil, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// entry makes the next log entry.
func (r *replica) entry(at queue.Timestamp, commands ...queue.Command) *raft.Log {
	r.t.Helper()
	frames := make([][]byte, len(commands))
	for i, cmd := range commands {
		frames[i] = mustFrame(r.t, cmd)
	}
	r.index++
	return &raft.Log{Index: r.index, Term: r.term, Type: raft.LogCommand, Data: codec.AppendEntry(nil, at, frames)}
}

// apply commits one command in its own entry and encodes the answer as for another node.
func (r *replica) apply(at queue.Timestamp, cmd queue.Command) codec.Response {
	r.t.Helper()
	result := r.fsm.Apply(r.entry(at, cmd)).(EntryResult)
	if result.Index != r.index || result.At < at || len(result.Responses) != 1 {
		r.t.Fatalf("entry %d at %d was answered with %+v", r.index, at, result)
	}
	data, err := codec.AppendResponse(nil, result.Responses[0])
	if err != nil {
		r.t.Fatal(err)
	}
	got, err := codec.DecodeResponse(data)
	if err != nil {
		r.t.Fatal(err)
	}
	if diff := cmp.Diff(result.Responses[0], got, fsmtest.SameBody); diff != "" {
		r.t.Fatalf("the answer changed on the way to another node (-want +got):\n%s", diff)
	}
	return got
}

// snapshot writes the state through the interface of the library.
func (r *replica) snapshot() []byte {
	r.t.Helper()
	s, err := r.fsm.Snapshot()
	if err != nil {
		r.t.Fatal(err)
	}
	defer s.Release()
	sink := &memorySink{}
	if err := s.Persist(sink); err != nil {
		r.t.Fatal(err)
	}
	if !sink.closed || sink.cancelled {
		r.t.Fatalf("sink closed %v, cancelled %v", sink.closed, sink.cancelled)
	}
	return sink.Bytes()
}

// restore replaces the state, as at a start or an installed snapshot.
func (r *replica) restore(data []byte) {
	r.t.Helper()
	if err := r.fsm.Restore(io.NopCloser(bytes.NewReader(data))); err != nil {
		r.t.Fatal(err)
	}
	r.index = r.fsm.AppliedIndex()
}

// sound checks invariants, and that a snapshot restores the same state and bytes.
func (r *replica) sound() {
	r.t.Helper()
	if err := r.fsm.Broker().CheckInvariants(); err != nil {
		r.t.Fatal(err)
	}
	data := r.snapshot()
	other := newReplica(r.t, Options{})
	other.restore(data)
	if diff := cmp.Diff(r.fsm.Position(), other.fsm.Position()); diff != "" {
		r.t.Fatalf("restored position (-want +got):\n%s", diff)
	}
	if !bytes.Equal(data, other.snapshot()) {
		r.t.Fatal("a restored state gives other snapshot bytes")
	}
}

// memorySink is a snapshot store of one snapshot.
type memorySink struct {
	bytes.Buffer
	closed, cancelled bool
}

func (s *memorySink) ID() string    { return "memory" }
func (s *memorySink) Cancel() error { s.cancelled = true; return nil }
func (s *memorySink) Close() error  { s.closed = true; return nil }
