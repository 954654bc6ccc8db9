package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
)

// sample is a golden snapshot that contains every kind of record.
func sample(tb testing.TB) []byte {
	tb.Helper()
	data, err := os.ReadFile(goldenPath(format.CurrentVersion))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func goldenPath(version uint32) string {
	return filepath.Join("testdata", fmt.Sprintf("v%d.snapshot", version))
}

func TestSampleHasEveryKindOfRecord(t *testing.T) {
	_, _, contents, err := ReadContents(bytes.NewReader(sample(t)), message.Memory{})
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]uint64{
		"tombstones": contents.Tombstones, "move tasks": contents.MoveTasks, "queues": contents.Queues,
		"messages": contents.Messages, "deduplication ids": contents.DeduplicationIDs, "attempts": contents.Attempts,
		"topics": contents.Topics, "subscriptions": contents.Subscriptions, "publications": contents.Publications,
		"archived publications":        contents.Archived,
		"deliveries over HTTP":         contents.Deliveries,
		"scheduled messages of topics": contents.Scheduled,
	} {
		if n == 0 {
			t.Errorf("the sample state has no %s", name)
		}
	}
}

// TestGoldenSnapshots restores one stored snapshot of each format version and writes the same bytes
// again. A test of package fsm creates the snapshots.
func TestGoldenSnapshots(t *testing.T) {
	for version := format.OldestVersion; version <= format.CurrentVersion; version++ {
		t.Run(fmt.Sprint("v", version), func(t *testing.T) {
			golden, err := os.ReadFile(goldenPath(version))
			if err != nil {
				t.Fatal(err)
			}
			sound(t, golden)
		})
	}
}

func TestDamagedSnapshotsAreRefused(t *testing.T) {
	data := sample(t)
	for i := range data {
		damaged := slices.Clone(data)
		damaged[i] ^= 1 << (i % 8)
		if _, _, err := Read(bytes.NewReader(damaged)); !IsDamage(err) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	for n := range data {
		if _, _, err := Read(bytes.NewReader(data[:n])); !errors.Is(err, format.ErrChecksum) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

// rewritten changes the sections of a snapshot and corrects their checksums, numbers, and count.
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
		if err := proto.Unmarshal(payload, m); err != nil {
			t.Fatal(err)
		}
		change(m)
		payload, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return payload
	})
}

func TestSnapshotsThatLieAreRefused(t *testing.T) {
	data := sample(t)
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
		{"another state hash", edited(t, data, sectionHeader, header, func(m *fsmpb.SnapshotHeader) { m.StateHash[0] ^= 1 }),
			format.ErrStateMismatch, "snapshot of entry"},
		{"another log time", edited(t, data, sectionHeader, header, func(m *fsmpb.SnapshotHeader) { m.At++ }), format.ErrStateMismatch,
			"log time"},
		{"a short hash", edited(t, data, sectionHeader, header, func(m *fsmpb.SnapshotHeader) { m.ChainHash = m.ChainHash[:8] }),
			format.ErrMalformed, "chain hash"},
		{"another setting", edited(t, data, sectionBroker, &fsmpb.BrokerRecord{}, func(m *fsmpb.BrokerRecord) { m.FormatVersion++ }),
			format.ErrStateMismatch, "restored state"},
		{"a setting twice", edited(t, data, sectionBroker, &fsmpb.BrokerRecord{},
			func(m *fsmpb.BrokerRecord) { m.Settings = append(m.Settings, m.Settings[0]) }), format.ErrMalformed, "section 1 (broker)"},
		{"wrong counts", edited(t, data, sectionEnd, &fsmpb.SnapshotEnd{}, func(m *fsmpb.SnapshotEnd) { m.Messages++ }), format.ErrChecksum,
			"(end)"},
		{"no records", records(func([]byte) []byte { return nil }), format.ErrChecksum, "(end)"},
		{"records twice", records(func(p []byte) []byte { return append(p, p...) }), format.ErrMalformed, "section 2 (records)"},
		{"half a record", records(func(p []byte) []byte { return p[:len(p)-1] }), format.ErrMalformed, "its length is wrong"},
		{"an unknown record", records(func(p []byte) []byte { return append(p, 99, 0) }), format.ErrUnknownFormat, "kind 99"},
		{"a message before a queue", records(func(p []byte) []byte { return append([]byte{recordMessage, 0}, p...) }), format.ErrMalformed,
			"record 0"},
		{"a subscription before a topic", records(func(p []byte) []byte { return append([]byte{recordSubscription, 0}, p...) }),
			format.ErrMalformed, "record 0"},
		{"a queue after a topic", records(func(p []byte) []byte { return append(p, recordQueue, 0) }), format.ErrMalformed,
			"a record of kind 3 after one of kind"},
		{"a message of a topic", records(func(p []byte) []byte { return append(p, recordMessage, 0) }), format.ErrMalformed,
			"a record of kind 4 after one of kind"},
		{"a record that is no protobuf", records(func(p []byte) []byte { return append(p, recordSubscription, 1, 0x0a) }),
			format.ErrMalformed, "record"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, broker, err := Read(bytes.NewReader(test.data))
			if !errors.Is(err, test.want) || !strings.Contains(fmt.Sprint(err), test.text) || broker != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestUnknownSectionIsRefused(t *testing.T) {
	data := sample(t)
	preamble := len(magic) + 1
	header := int(binary.LittleEndian.Uint32(data[preamble+5:]))
	data[preamble] = 77
	end := preamble + sectionHeaderBytes + header
	binary.LittleEndian.PutUint32(data[end:], format.Checksum(data[preamble:end]))
	if _, _, err := Read(bytes.NewReader(data)); !errors.Is(err, format.ErrMalformed) {
		t.Errorf("got %v", err)
	}
}

// apply applies a command to a state.
func apply(tb testing.TB, broker *queue.Broker, cmd queue.Command) {
	tb.Helper()
	if _, err := broker.Apply(1_700_000_000_000, cmd); err != nil {
		tb.Fatalf("%T: %v", cmd, err)
	}
	broker.TakeEvents(nil)
}

// positionOf returns the position of a state after one entry.
func positionOf(broker *queue.Broker) Position {
	return Position{Index: 1, Term: 1, At: broker.Now(), StateHash: broker.StateHash()}
}

// stored returns the snapshot of a state.
func stored(tb testing.TB, position Position, broker *queue.Broker) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := Write(&out, position, broker.Freeze()); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// sound checks that the state of a snapshot meets its invariants and gives the same snapshot bytes.
func sound(t *testing.T, data []byte) {
	t.Helper()
	position, broker, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := broker.CheckInvariants(); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(data, stored(t, position, broker)) {
		t.Error("a restored state gives other snapshot bytes")
	}
}

// TestLargeSnapshotIsWrittenInSections checks that neither the writer nor the reader holds a whole
// snapshot in memory.
func TestLargeSnapshotIsWrittenInSections(t *testing.T) {
	broker := queue.New()
	apply(t, broker, &queue.CreateQueue{Queue: "big"})
	body := strings.Repeat("x", 10_000)
	for i := range 100 {
		apply(t, broker, &queue.SendMessages{Queue: "big", Entries: []queue.SendEntry{{Body: fmt.Sprint(i, body)}}})
	}
	apply(t, broker, &queue.SendMessages{Queue: "big", Entries: []queue.SendEntry{{Body: strings.Repeat("y", limits.MessageBytesMax)}}})
	data := stored(t, positionOf(broker), broker)
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
	sound(t, data)
}
