package fsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
)

func TestEntriesAnswerEachCommandInOrder(t *testing.T) {
	r := founded(t, Options{})
	result := r.fsm.Apply(r.entry(start,
		&queue.CreateQueue{Queue: "a"},
		&queue.DeleteQueue{Queue: "b"},
		&queue.SendMessages{Queue: "a", Entries: []queue.SendEntry{{Body: "x"}}},
	)).(EntryResult)
	if result.Index != r.index || result.At != start || len(result.Responses) != 3 {
		t.Fatalf("got %+v", result)
	}
	if created, ok := result.Responses[0].Result.(queue.QueueCreated); !ok || created.Queue != "a" {
		t.Errorf("first: %+v", result.Responses[0])
	}
	if err := result.Responses[1].Err; err == nil || err.Code != refusal.QueueDoesNotExist || result.Responses[1].Result != nil {
		t.Errorf("second: %+v", result.Responses[1])
	}
	if sent, ok := result.Responses[2].Result.(queue.MessagesSent); !ok || len(sent.Entries) != 1 {
		t.Errorf("third: %+v", result.Responses[2])
	}
}

func TestPositionFollowsTheLog(t *testing.T) {
	r := founded(t, Options{})
	before := r.fsm.Position()
	if before.Index != r.index || before.Term != 1 || before.At != start {
		t.Fatalf("position %+v after entry %d", before, r.index)
	}

	// A membership change moves only the index.
	r.index++
	results := r.fsm.ApplyBatch([]*raft.Log{{Index: r.index, Term: 2, Type: raft.LogConfiguration, Data: []byte("not a command")}})
	want := before
	want.Index, want.Term = r.index, 2
	if diff := cmp.Diff(want, r.fsm.Position()); diff != "" || len(results) != 1 || results[0] != nil {
		t.Fatalf("results %v, position (-want +got):\n%s", results, diff)
	}

	// Entries of other kinds leave gaps. Log time never decreases.
	r.index += 3
	r.apply(start.Add(-logtime.Hour), &queue.AdvanceClock{})
	after := r.fsm.Position()
	if after.Index != r.index || after.At != start || after.ChainHash == before.ChainHash {
		t.Errorf("position %+v", after)
	}
	if index, hash := r.fsm.StateHash(); index != r.index || hash != r.fsm.Broker().StateHash() {
		t.Errorf("state hash %x at %d", hash, index)
	}
	if index, hash := r.fsm.ChainHash(); index != r.index || hash != after.ChainHash {
		t.Errorf("chain hash %x at %d", hash, index)
	}
	if r.fsm.AppliedIndex() != r.index {
		t.Errorf("applied %d", r.fsm.AppliedIndex())
	}
}

func TestChainHashTellsTheLogsApart(t *testing.T) {
	base := nextChainHash([16]byte{}, 1, 1, []byte("entry"))
	for name, other := range map[string][16]byte{
		"term":  nextChainHash([16]byte{}, 2, 1, []byte("entry")),
		"index": nextChainHash([16]byte{}, 1, 2, []byte("entry")),
		"bytes": nextChainHash([16]byte{}, 1, 1, []byte("entrz")),
		"past":  nextChainHash([16]byte{1}, 1, 1, []byte("entry")),
	} {
		if other == base {
			t.Errorf("another %s gives the same hash", name)
		}
	}
}

// recordedLock records whether it is locked.
type recordedLock struct{ held, taken int }

func (g *recordedLock) Lock()    { g.held++; g.taken++ }
func (g *recordedLock) Unlock()  { g.held-- }
func (g *recordedLock) RLock()   { g.Lock() }
func (g *recordedLock) RUnlock() { g.Unlock() }

func TestLockAndHooks(t *testing.T) {
	lock := &recordedLock{}
	type call struct {
		index  uint64
		at     queue.Timestamp
		events int
	}
	var calls []call
	var tapped []uint64
	r := newReplica(t, Options{
		StateLock: lock,
		Applied: func(index uint64, at queue.Timestamp, events []queue.Event) {
			if lock.held != 0 {
				t.Error("Applied was called under StateLock")
			}
			calls = append(calls, call{index, at, len(events)})
		},
		Tap: func(index, term uint64, data []byte, result EntryResult) {
			if lock.held != 0 || result.Index != index || len(data) == 0 || term != 1 {
				t.Errorf("tap: held %d, index %d, term %d, %+v", lock.held, index, term, result)
			}
			tapped = append(tapped, index)
		},
	})
	r.fsm.ApplyBatch([]*raft.Log{
		r.entry(start, &queue.CreateQueue{Queue: "a"}),
		r.entry(start+1, &queue.SendMessages{Queue: "a", Entries: []queue.SendEntry{{Body: "x"}}}),
	})
	if len(calls) != 1 || calls[0].index != 2 || calls[0].at != start+1 || calls[0].events == 0 {
		t.Errorf("Applied was called with %+v", calls)
	}
	if diff := cmp.Diff([]uint64{1, 2}, tapped); diff != "" {
		t.Errorf("tapped (-want +got):\n%s", diff)
	}
	var held []int
	r.fsm.Inspect(func(*queue.Broker) { held = append(held, lock.held) })
	at := r.fsm.Read(func(queue.View) { held = append(held, lock.held) })
	if diff := cmp.Diff([]int{1, 1, 0}, append(held, lock.held)); diff != "" || at.Index != 2 {
		t.Errorf("read at index %d, StateLock held (-want +got):\n%s", at.Index, diff)
	}
	data := r.snapshot()
	taken := lock.taken
	r.restore(data)
	if len(calls) != 2 || calls[1].index != 2 || lock.taken == taken || lock.held != 0 {
		t.Errorf("after a restore: %+v, lock taken %d times, held %d", calls, lock.taken-taken, lock.held)
	}
}

// fatal runs f and returns the error reported to Options.Fatal, which panics instead of exiting.
func fatal(t *testing.T, r *replica, f func()) (reported error) {
	t.Helper()
	type exit struct{ err error }
	r.fsm.options.Fatal = func(err error) { panic(exit{err}) }
	defer func() {
		left, ok := recover().(exit)
		if !ok {
			t.Fatal("nothing fatal was reported")
		}
		reported = left.err
	}()
	f()
	return nil
}

func TestEntriesThatEndTheProcess(t *testing.T) {
	good := codec.AppendEntry(nil, start, [][]byte{mustFrame(t, &queue.AdvanceClock{})})
	flipped := bytes.Clone(good)
	flipped[5] ^= 1
	unknown := append([]byte{9}, good[1:len(good)-4]...) // entry format 9
	unknown = binary.LittleEndian.AppendUint32(unknown, format.Checksum(unknown))
	sound := mustFrame(t, &queue.CreateQueue{Queue: "first"})
	tests := []struct {
		name string
		log  raft.Log
		want error
		text string
	}{
		{"flipped bit", raft.Log{Index: 9, Term: 3, Data: flipped}, format.ErrChecksum, "log entry 9 of term 3"},
		{"empty", raft.Log{Index: 9, Term: 3}, format.ErrChecksum, "log entry 9"},
		{"unknown format", raft.Log{Index: 9, Data: unknown}, format.ErrUnknownFormat, "entry format 9"},
		{"unknown number", raft.Log{Index: 9, Data: codec.AppendEntry(nil, start, [][]byte{sound, {250, 1, 0, 0, 0, 0}})},
			format.ErrUnknownCommand, "command 2 of 2"},
		{"index goes back", raft.Log{Index: 2, Data: good}, ErrBrokenInvariant, "entry 2 was handed over after entry 4"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := founded(t, Options{})
			before := r.fsm.Position()
			err := fatal(t, r, func() { r.fsm.Apply(&test.log) })
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("reported %v", err)
			}
			// No command of the entry was applied.
			if r.fsm.Position() != before || r.fsm.View().QueueExists("first") {
				t.Error("part of the entry was applied")
			}
		})
	}
}

func TestFatalThatReturnsPanics(t *testing.T) {
	r := newReplica(t, Options{Fatal: func(error) {}})
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, format.ErrChecksum) {
			t.Errorf("got %v", err)
		}
	}()
	r.fsm.Apply(&raft.Log{Index: 1})
}

func TestBatchesOfAnySizeGiveTheSameState(t *testing.T) {
	one, many := founded(t, Options{}), founded(t, Options{})
	var logs []*raft.Log
	for i := range 50 {
		cmd := queue.Command(&queue.CreateQueue{Queue: fmt.Sprintf("q%d", i%5)})
		if i >= 5 {
			cmd = &queue.SendMessages{Queue: fmt.Sprintf("q%d", i%5), Entries: []queue.SendEntry{{Body: fmt.Sprint(i)}}}
		}
		logs = append(logs, one.entry(start+queue.Timestamp(i), cmd))
	}
	var want []any
	for _, log := range logs {
		want = append(want, one.fsm.Apply(log))
	}
	got := many.fsm.ApplyBatch(logs)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-one +batch):\n%s", diff)
	}
	if diff := cmp.Diff(one.fsm.Position(), many.fsm.Position()); diff != "" {
		t.Errorf("position (-one +batch):\n%s", diff)
	}
	if !bytes.Equal(one.snapshot(), many.snapshot()) {
		t.Error("snapshots differ")
	}
}

func TestRestoreReportsWhatItCannotRead(t *testing.T) {
	failure := errors.New("the disk is gone")
	r := eventful(t)
	before, data := r.fsm.Position(), r.snapshot()
	err := r.fsm.Restore(io.NopCloser(io.MultiReader(bytes.NewReader(data[:100]), iotest.ErrReader(failure))))
	if !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	if r.fsm.Position() != before {
		t.Error("a failed restore changed the state")
	}
}

func TestDamagedSnapshotChangesNothing(t *testing.T) {
	r := eventful(t)
	before, data := r.fsm.Position(), r.snapshot()
	data[len(data)/2] ^= 0x10
	err := r.fsm.Restore(io.NopCloser(bytes.NewReader(data)))
	if !errors.Is(err, format.ErrChecksum) || !strings.Contains(err.Error(), "snapshot section") {
		t.Errorf("got %v", err)
	}
	if r.fsm.Position() != before {
		t.Error("a damaged snapshot changed the state")
	}
}
