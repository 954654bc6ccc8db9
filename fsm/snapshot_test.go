package fsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
)

func TestSnapshotRestoresEverything(t *testing.T) {
	r := eventful(t)
	r.sound()
	data := r.snapshot()
	position, err := ReadSnapshotPosition(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.fsm.Position(), position); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}

	// The restored replica goes on exactly as the first.
	other := newReplica(t, Options{})
	other.restore(data)
	for _, cmd := range []queue.Command{
		&queue.ReceiveMessages{Queue: "q.fifo", AttemptID: "attempt", AttemptIDGiven: true},
		&queue.MoveMessages{TaskID: r.fsm.View().RunningMoveTasks()[0].ID, Max: 10},
		&queue.ReceiveMessages{Queue: "plain"},
		&queue.AdvanceClock{},
	} {
		at := start.Add(logtime.Minute)
		if diff := cmp.Diff(r.apply(at, cmd), other.apply(at, cmd), sameBody); diff != "" {
			t.Errorf("%T (-first +restored):\n%s", cmd, diff)
		}
	}
	if diff := cmp.Diff(r.fsm.Position(), other.fsm.Position()); diff != "" {
		t.Errorf("position at the end (-first +restored):\n%s", diff)
	}
}

func TestSnapshotHasEveryKindOfRecord(t *testing.T) {
	counts := eventfulCounts(t)
	for name, n := range map[string]uint64{
		"tombstones": counts.Tombstones, "move tasks": counts.MoveTasks, "queues": counts.Queues,
		"messages": counts.Messages, "deduplication ids": counts.DeduplicationIds, "attempts": counts.Attempts,
	} {
		if n == 0 {
			t.Errorf("the sample state has no %s", name)
		}
	}
}

// eventfulCounts reads the end of the sample snapshot.
func eventfulCounts(t *testing.T) *fsmpb.SnapshotEnd {
	t.Helper()
	s, err := newSectionReader(bytes.NewReader(eventful(t).snapshot()))
	if err != nil {
		t.Fatal(err)
	}
	for {
		kind, payload, err := s.next()
		if err != nil {
			t.Fatal(err)
		}
		if kind == sectionEnd {
			counts := &fsmpb.SnapshotEnd{}
			if err := unmarshal(payload, counts); err != nil {
				t.Fatal(err)
			}
			return counts
		}
	}
}

func TestEmptyStateHasASnapshot(t *testing.T) {
	r := newReplica(t, Options{})
	r.sound()
}

// TestSnapshotWhileCommandsGoOn persists a captured state slowly, beside the
// goroutine that changes the live one: the bytes must be those of the moment
// of capture.
func TestSnapshotWhileCommandsGoOn(t *testing.T) {
	r := eventful(t)
	for i := range 200 {
		r.apply(start.Add(logtime.Minute), &queue.SendMessages{Queue: "plain", Entries: []queue.SendEntry{{Body: fmt.Sprint("before ", i)}}})
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
			close(sink.step) // the writer gets on only from here
		}
	}
	persist.Wait()
	if !bytes.Equal(want, sink.Bytes()) {
		t.Error("commands applied after the capture show in the snapshot")
	}
	r.sound()
}

// steppedSink holds the writer back until step is closed.
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

// fullSink takes so many bytes and then fails.
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

func TestDamagedSnapshotsAreRefused(t *testing.T) {
	data := eventful(t).snapshot()
	for i := range data {
		damaged := slices.Clone(data)
		damaged[i] ^= 1 << (i % 8)
		if _, _, err := ReadSnapshot(bytes.NewReader(damaged)); !isDamage(err) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	for n := range data {
		if _, _, err := ReadSnapshot(bytes.NewReader(data[:n])); !errors.Is(err, ErrChecksum) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

// rewritten changes the sections of a snapshot and makes checksums, numbers
// and the count of sections right again.
func rewritten(t *testing.T, data []byte, change func(kind sectionKind, payload []byte) []byte) []byte {
	t.Helper()
	in, err := newSectionReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := newSectionWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	for {
		kind, payload, err := in.next()
		if err != nil {
			t.Fatal(err)
		}
		w.buffer = append(w.buffer, change(kind, slices.Clone(payload))...)
		if err := w.end(kind); err != nil {
			t.Fatal(err)
		}
		if kind == sectionEnd {
			return out.Bytes()
		}
	}
}

// edited changes one protobuf section.
func edited[M proto.Message](t *testing.T, data []byte, want sectionKind, m M, change func(M)) []byte {
	return rewritten(t, data, func(kind sectionKind, payload []byte) []byte {
		if kind != want {
			return payload
		}
		if err := unmarshal(payload, m); err != nil {
			t.Fatal(err)
		}
		change(m)
		payload, err := appendMessage(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		return payload
	})
}

func TestSnapshotsThatLieAreRefused(t *testing.T) {
	data := eventful(t).snapshot()
	records := func(change func(payload []byte) []byte) []byte {
		return rewritten(t, data, func(kind sectionKind, payload []byte) []byte {
			if kind == sectionRecords {
				return change(payload)
			}
			return payload
		})
	}
	header := &fsmpb.SnapshotHeader{}
	tests := []struct {
		name string
		data []byte
		want error
		text string
	}{
		{"another state hash", edited(t, data, sectionHeader, header, func(m *fsmpb.SnapshotHeader) { m.StateHash[0] ^= 1 }), ErrStateMismatch, "snapshot of entry"},
		{"another log time", edited(t, data, sectionHeader, header, func(m *fsmpb.SnapshotHeader) { m.At++ }), ErrStateMismatch, "log time"},
		{"a short hash", edited(t, data, sectionHeader, header, func(m *fsmpb.SnapshotHeader) { m.ChainHash = m.ChainHash[:8] }), ErrMalformed, "chain hash"},
		{"another setting", edited(t, data, sectionBroker, &fsmpb.BrokerRecord{}, func(m *fsmpb.BrokerRecord) { m.FormatVersion++ }), ErrStateMismatch, "restored state"},
		{"a setting twice", edited(t, data, sectionBroker, &fsmpb.BrokerRecord{}, func(m *fsmpb.BrokerRecord) { m.Settings = append(m.Settings, m.Settings[0]) }), ErrMalformed, "section 1 (broker)"},
		{"wrong counts", edited(t, data, sectionEnd, &fsmpb.SnapshotEnd{}, func(m *fsmpb.SnapshotEnd) { m.Messages++ }), ErrChecksum, "(end)"},
		{"no records", records(func([]byte) []byte { return nil }), ErrChecksum, "(end)"},
		{"records twice", records(func(p []byte) []byte { return append(p, p...) }), ErrMalformed, "section 2 (records)"},
		{"half a record", records(func(p []byte) []byte { return p[:len(p)-1] }), ErrMalformed, "its length is wrong"},
		{"an unknown record", records(func(p []byte) []byte { return append(p, 99, 0) }), ErrUnknownFormat, "kind 99"},
		{"a message before a queue", records(func(p []byte) []byte { return append([]byte{recordMessage, 0}, p...) }), ErrMalformed, "record 0"},
		{"a record that is no protobuf", records(func(p []byte) []byte { return append(p, recordAttempt, 1, 0x0a) }), ErrMalformed, "record"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, broker, err := ReadSnapshot(bytes.NewReader(test.data))
			if !errors.Is(err, test.want) || !strings.Contains(fmt.Sprint(err), test.text) || broker != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestUnknownSectionIsRefused(t *testing.T) {
	data := eventful(t).snapshot()
	preamble := len(snapshotMagic) + 1
	header := int(binary.LittleEndian.Uint32(data[preamble+5:]))
	data[preamble] = 77
	end := preamble + sectionHeaderBytes + header
	binary.LittleEndian.PutUint32(data[end:], checksum(data[preamble:end]))
	if _, _, err := ReadSnapshot(bytes.NewReader(data)); !errors.Is(err, ErrMalformed) {
		t.Errorf("got %v", err)
	}
}

// TestLargeSnapshotIsWrittenInSections: neither side may hold it as a whole.
func TestLargeSnapshotIsWrittenInSections(t *testing.T) {
	r := founded(t, Options{})
	r.apply(start, &queue.CreateQueue{Queue: "big"})
	body := strings.Repeat("x", 10_000)
	for i := range 100 {
		r.apply(start, &queue.SendMessages{Queue: "big", Entries: []queue.SendEntry{{Body: fmt.Sprint(i, body)}}})
	}
	r.apply(start, &queue.SendMessages{Queue: "big", Entries: []queue.SendEntry{{Body: strings.Repeat("y", limits.MessageBytesMax)}}})
	data := r.snapshot()
	sections, largest := 0, 0
	in, err := newSectionReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for kind := sectionHeader; kind != sectionEnd; sections++ {
		var payload []byte
		if kind, payload, err = in.next(); err != nil {
			t.Fatal(err)
		}
		largest = max(largest, len(payload))
	}
	if sections < 15 || largest > limits.MessageBytesMax+2*sectionBytesAim {
		t.Errorf("%d sections, the largest of %d bytes", sections, largest)
	}
	if _, _, err := ReadSnapshot(io.MultiReader(bytes.NewReader(data))); err != nil {
		t.Error(err)
	}
	r.sound()
}
