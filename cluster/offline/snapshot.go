package offline

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
)

// StoredSnapshot describes a snapshot of a data directory.
type StoredSnapshot struct {
	ID      string   `json:"id"`
	Index   uint64   `json:"index"`
	Term    uint64   `json:"term"`
	Bytes   int64    `json:"bytes"`
	Members []string `json:"members"`
}

// Snapshots returns the snapshots, newest first.
func (s *Stopped) Snapshots() ([]StoredSnapshot, error) {
	stored, err := s.group.Snapshots()
	if err != nil {
		return nil, err
	}
	list := make([]StoredSnapshot, 0, len(stored))
	for _, one := range stored {
		list = append(list, StoredSnapshot{ID: one.ID, Index: one.Index, Term: one.Term, Bytes: one.Bytes,
			Members: memberTexts(one.Members)})
	}
	return list, nil
}

// InspectSnapshot reads and verifies a snapshot of the data directory.
func (s *Stopped) InspectSnapshot(id string) (SnapshotContents, error) {
	content, err := s.group.OpenSnapshot(id)
	if err != nil {
		return SnapshotContents{}, err
	}
	contents, err := InspectSnapshot(content)
	return contents, errors.Join(err, content.Close())
}

// SnapshotContents describes the contents of a snapshot or backup.
type SnapshotContents struct {
	Index            uint64          `json:"index"`
	Term             uint64          `json:"term"`
	LogTimeMs        int64           `json:"logTimeMs"`
	StateHash        string          `json:"stateHash"` // hex, computed again from the content
	ChainHash        string          `json:"chainHash"`
	ClusterID        string          `json:"clusterId"`
	Epoch            uint32          `json:"epoch"`
	FormatVersion    uint32          `json:"formatVersion"`
	Messages         uint64          `json:"messages"`
	DeduplicationIDs uint64          `json:"deduplicationIds"`
	ReceiveAttempts  uint64          `json:"receiveAttempts"`
	MoveTasks        uint64          `json:"moveTasks"`
	Sections         uint64          `json:"sections"`
	Queues           []QueueContents `json:"queues"`
	Topics           []TopicContents `json:"topics"`
}

// TopicContents lists the endpoints subscribed to one topic, and counts its scheduled messages.
type TopicContents struct {
	Name          string   `json:"name"`
	Subscriptions []string `json:"subscriptions"`
	Scheduled     int      `json:"scheduled"`
}

// QueueContents counts the messages of one queue.
type QueueContents struct {
	Name     string `json:"name"`
	Visible  int64  `json:"visible"`
	InFlight int64  `json:"inFlight"`
	Delayed  int64  `json:"delayed"`
	Deferred int64  `json:"deferred"`
}

// Decrypt returns the plain text of a backup or of a snapshot's state file, which may be encrypted
// with a key of keys.
func Decrypt(r io.Reader, keys *encryption.Keyring) (io.Reader, error) {
	buffered := bufio.NewReaderSize(r, 1<<20)
	if err := storage.SkipSnapshotHead(buffered); err != nil {
		return nil, fmt.Errorf("%w: %w", fault.ErrBadBackup, err)
	}
	text, _, err := storage.Decrypted(buffered, keys)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fault.ErrBadBackup, err)
	}
	return text, nil
}

// InspectSnapshot reads a backup or a snapshot's state file, checks every checksum, rebuilds the
// state and compares its hash with the recorded one. It keeps only digests of bodies, which may
// exceed the memory.
func InspectSnapshot(r io.Reader) (SnapshotContents, error) {
	buffered := bufio.NewReaderSize(r, 1<<20)
	if err := storage.SkipSnapshotHead(buffered); err != nil {
		return SnapshotContents{}, fmt.Errorf("%w: %w", fault.ErrBadBackup, err)
	}
	at, broker, counts, err := snapshot.ReadContents(buffered, message.Digests{})
	if err != nil {
		return SnapshotContents{}, fmt.Errorf("%w: %w", fault.ErrBadBackup, err)
	}
	record, hash := broker.Record(), broker.ComputeStateHash()
	contents := SnapshotContents{
		Index:            at.Index,
		Term:             at.Term,
		LogTimeMs:        int64(at.At),
		StateHash:        hex.EncodeToString(hash[:]),
		ChainHash:        hex.EncodeToString(at.ChainHash[:]),
		ClusterID:        broker.View().Setting(queue.SettingClusterID),
		Epoch:            record.Epoch,
		FormatVersion:    record.FormatVersion,
		Messages:         counts.Messages,
		DeduplicationIDs: counts.DeduplicationIDs,
		ReceiveAttempts:  counts.Attempts,
		MoveTasks:        counts.MoveTasks,
		Sections:         counts.Sections,
		Queues:           []QueueContents{},
		Topics:           topicContents(broker.View()),
	}
	for _, name := range broker.View().ListQueues("", "", int(counts.Queues)) {
		if stats, refusal := broker.View().Stats(name); refusal == nil {
			contents.Queues = append(contents.Queues, QueueContents{name, stats.Visible, stats.NotVisible, stats.Delayed, stats.Deferred})
		}
	}
	return contents, nil
}

func topicContents(v queue.View) []TopicContents {
	topics := make([]TopicContents, 0, v.Topics())
	for _, name := range v.ListTopics("", v.Topics()) {
		listed, refusal := v.ListSubscriptionsByTopic(name, 0, limits.SubscriptionsMax)
		if refusal != nil {
			continue
		}
		topic := TopicContents{Name: name, Subscriptions: make([]string, len(listed)), Scheduled: v.TopicScheduled(name)}
		for i := range listed {
			topic.Subscriptions[i] = listed[i].Endpoint
		}
		topics = append(topics, topic)
	}
	return topics
}

// ReplayedState describes the state computed from the snapshot and log of a stopped node.
type ReplayedState struct {
	Index         uint64 `json:"index"` // of the last entry applied
	Term          uint64 `json:"term"`
	LogTimeMs     int64  `json:"logTimeMs"`
	StateHash     string `json:"stateHash"`
	ChainHash     string `json:"chainHash"`
	SnapshotIndex uint64 `json:"snapshotIndex"` // 0: none was used
	Replayed      uint64 `json:"replayedEntries"`
}

// State computes the state at an index; 0 is the end of the log, whose last entries may not be
// committed.
func (s *Stopped) State(index uint64) (ReplayedState, error) {
	machine, replayed, err := s.replay(index)
	if err != nil {
		return ReplayedState{}, err
	}
	at := machine.Position()
	replayed.Term, replayed.LogTimeMs = at.Term, int64(at.At)
	replayed.StateHash, replayed.ChainHash = hex.EncodeToString(at.StateHash[:]), hex.EncodeToString(at.ChainHash[:])
	return replayed, nil
}

// VerifyBodies reads all bodies that the newest state refers to. State does not read them.
func (s *Stopped) VerifyBodies() (err error) {
	defer catchFailure(&err)
	machine, _, err := s.replay(0)
	if err != nil {
		return err
	}
	state := machine.Capture()
	defer state.Release()
	return state.Write(io.Discard)
}

// replay computes the state from the newest snapshot at or before index.
func (s *Stopped) replay(index uint64) (_ *fsm.FSM, replayed ReplayedState, err error) {
	defer catchFailure(&err)
	first, last, err := s.LogBounds()
	if err != nil {
		return nil, replayed, err
	}
	snapshots, err := s.group.Snapshots()
	if err != nil {
		return nil, replayed, err
	}
	machine := s.newMachine()
	for _, kept := range snapshots {
		last = max(last, kept.Index)
		if index != 0 && kept.Index > index {
			continue
		}
		content, err := s.group.OpenSnapshot(kept.ID)
		if err != nil {
			return nil, replayed, err
		}
		if err := machine.Restore(content); err != nil {
			return nil, replayed, err
		}
		replayed.SnapshotIndex, replayed.Index = kept.Index, kept.Index
		break
	}
	if index > last {
		return nil, replayed, fmt.Errorf("there is no entry %d: the log ends at entry %d", index, last)
	}
	if index == 0 {
		index = last
	}
	if replayed.Index < index && first > replayed.Index+1 {
		return nil, replayed, fmt.Errorf("the state at entry %d cannot be computed: the log begins at entry %d and "+
			"no older snapshot is kept", index, first)
	}
	if err := s.group.Replay(machine, replayed.Index+1, index); err != nil {
		return nil, replayed, err
	}
	replayed.Index, replayed.Replayed = index, index-replayed.Index
	return machine, replayed, nil
}

// newMachine returns an empty state machine. Its fatal errors become errors of a function that
// defers catchFailure.
func (s *Stopped) newMachine() *fsm.FSM {
	return fsm.New(fsm.Options{Bodies: s.bodies, Fatal: func(err error) { panic(stoppedFailure{err}) }})
}

// stoppedFailure carries a fatal error out of a state machine.
type stoppedFailure struct{ error }

// catchFailure recovers a stoppedFailure into err.
func catchFailure(err *error) {
	switch broken := recover().(type) {
	case nil:
	case stoppedFailure:
		*err = broken.error
	default:
		panic(broken)
	}
}
