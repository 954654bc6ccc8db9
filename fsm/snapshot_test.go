package fsm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
)

func TestSnapshotRestoresEverything(t *testing.T) {
	r := eventful(t)
	r.sound()
	data := r.snapshot()
	position, err := snapshot.ReadPosition(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.fsm.Position(), position); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}

	// The restored replica continues exactly as the first.
	other := newReplica(t, Options{})
	other.restore(data)
	for _, cmd := range []queue.Command{
		&queue.ReceiveMessages{Queue: "q.fifo", AttemptID: "attempt", AttemptIDGiven: true},
		&queue.MoveMessages{TaskID: r.fsm.View().RunningMoveTasks()[0].ID, Max: 10},
		&queue.ReceiveMessages{Queue: "plain"},
		&queue.AdvanceClock{},
	} {
		at := start.Add(logtime.Minute)
		if diff := cmp.Diff(r.apply(at, cmd), other.apply(at, cmd), fsmtest.SameBody); diff != "" {
			t.Errorf("%T (-first +restored):\n%s", cmd, diff)
		}
	}
	if diff := cmp.Diff(r.fsm.Position(), other.fsm.Position()); diff != "" {
		t.Errorf("position at the end (-first +restored):\n%s", diff)
	}
}

func TestEmptyStateHasASnapshot(t *testing.T) {
	r := newReplica(t, Options{})
	r.sound()
}

// A captured state is written slowly while commands change the live one. The bytes must be those at
// the capture.
func TestSnapshotDuringCommands(t *testing.T) {
	r := eventful(t)
	for i := range 200 {
		r.apply(start.Add(logtime.Minute),
			&queue.SendMessages{Queue: "plain", Entries: []queue.SendEntry{{Body: fmt.Sprint("before ", i)}}})
	}
	want := r.snapshot()
	captured, err := r.fsm.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	sink := &steppedSink{step: make(chan struct{})}
	var persist sync.WaitGroup
	persist.Go(func() {
		if err := captured.Persist(sink); err != nil {
			t.Error(err)
		}
		captured.Release()
	})
	for i := range 200 {
		at := start.Add(logtime.Minute).Add(logtime.Duration(i) * logtime.Second)
		r.apply(at, &queue.SendMessages{Queue: "plain", Entries: []queue.SendEntry{{Body: fmt.Sprint("after ", i)}}})
		r.apply(at, &queue.ReceiveMessages{Queue: "plain", MaxMessages: queue.Some(10)})
		r.apply(at, &queue.AdvanceClock{})
		if i == 100 {
			close(sink.step) // the writer continues from here
		}
	}
	persist.Wait()
	if !bytes.Equal(want, sink.Bytes()) {
		t.Error("commands applied after the capture show in the snapshot")
	}
	r.sound()
}

// steppedSink blocks the writer until step is closed.
type steppedSink struct {
	memorySink
	step chan struct{}
}

func (s *steppedSink) Write(p []byte) (int, error) {
	<-s.step
	return s.memorySink.Write(p)
}

func TestFailedSinkIsCancelled(t *testing.T) {
	r := eventful(t)
	s, err := r.fsm.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	failure := errors.New("no space left")
	for room := range 40 {
		sink := &fullSink{room: room * 50, err: failure}
		if err := s.Persist(sink); errors.Is(err, failure) != sink.cancelled || sink.closed == sink.cancelled {
			t.Fatalf("room for %d bytes: %v, cancelled %v, closed %v", sink.room, err, sink.cancelled, sink.closed)
		}
	}
}

// fullSink fails after so many bytes.
type fullSink struct {
	memorySink
	room int
	err  error
}

func (s *fullSink) Write(p []byte) (int, error) {
	if s.Len()+len(p) > s.room {
		return 0, s.err
	}
	return s.memorySink.Write(p)
}

// adopting records the adopted state.
type adopting struct {
	message.Memory
	begun   int
	adopted []int
}

func (s *adopting) Begin() StateBodies {
	s.begun++
	return adoptedState{store: s, number: s.begun}
}

type adoptedState struct {
	inMemory
	store  *adopting
	number int
}

func (a adoptedState) Adopt() error {
	a.store.adopted = append(a.store.adopted, a.number)
	return nil
}

// A failed restore keeps the bodies of the present state.
func TestFailedRestoreAdoptsNoBodies(t *testing.T) {
	data := eventful(t).snapshot()
	const next = format.CurrentVersion + 1
	later := newReplica(t, Options{VersionMax: next})
	later.apply(start, &queue.SetFormatVersion{Version: next})
	failure := errors.New("the disk is gone")
	for name, c := range map[string]struct {
		data   []byte
		closed error
		want   error
	}{
		"closing fails":    {data: data, closed: failure, want: failure},
		"unknown format":   {data: later.snapshot(), want: format.ErrUnknownFormat},
		"nothing is wrong": {data: data},
	} {
		t.Run(name, func(t *testing.T) {
			store := &adopting{}
			r := newReplica(t, Options{Bodies: store})
			before := r.fsm.Position()
			err := r.fsm.Restore(closingSource{bytes.NewReader(c.data), c.closed})
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if failed := c.want != nil; failed == slices.Contains(store.adopted, store.begun) {
				t.Errorf("states %v of %d were adopted", store.adopted, store.begun)
			}
			if stayed := r.fsm.Position() == before; stayed != (c.want != nil) {
				t.Errorf("the state stayed: %t", stayed)
			}
		})
	}
}

// closingSource is a snapshot whose Close fails.
type closingSource struct {
	io.Reader
	err error
}

func (s closingSource) Close() error { return s.err }
