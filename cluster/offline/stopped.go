package offline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/fsm/codec"
)

// ErrDataDirInUse reports a data directory that another process uses, usually the running node.
var ErrDataDirInUse = storage.ErrInUse

// Stopped is the data directory of a stopped node. The node cannot start while it is open. Used by
// one goroutine.
type Stopped struct {
	NodeID    string
	ClusterID string

	dir    *storage.Dir
	group  *consensus.Stored
	bodies *bodies.Store
}

// stoppedDiskDeadline bounds one write. It is long, because no client waits for a stopped node.
const stoppedDiskDeadline = 5 * time.Minute

// Open opens the data directory of a stopped node without changing it. keys decrypt it; nil: it is
// not encrypted.
func Open(ctx context.Context, path string, keys *encryption.Keyring, logger *slog.Logger) (*Stopped, error) {
	if err := storage.CheckKeys(path, keys); err != nil {
		return nil, err
	}
	dir, err := storage.OpenStoppedDir(path)
	if err != nil {
		return nil, err
	}
	dir.Keys = keys
	s := &Stopped{NodeID: dir.NodeID, dir: dir}
	if err := s.open(ctx, logger); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stopped) open(ctx context.Context, logger *slog.Logger) error {
	membership, err := s.dir.Membership()
	if err != nil {
		return err
	}
	s.ClusterID = membership.ClusterID
	begun, err := storage.ReadRecovery(s.dir)
	if err != nil {
		return err
	}
	if begun.Interrupted() && begun.Joins {
		if err := finishJoin(s.dir, begun); err != nil {
			return err
		}
		return fmt.Errorf("the interrupted recovery is finished: this node begins empty and joins cluster %s; start it", begun.ClusterID)
	}
	group, err := s.dir.Group(0)
	if err != nil {
		return err
	}
	if !group.HasLog() {
		return fmt.Errorf("node %s has never been part of a cluster: its data directory %s holds no log", s.NodeID, s.dir.Path)
	}
	// Errors end a running node, but not this process.
	guard := storage.NewDiskGuard(stoppedDiskDeadline, func(fault.ExitCode, error) {}, nil)
	s.bodies, err = bodies.Open(bodies.Options{Life: context.WithoutCancel(ctx), Dir: group.BodiesPath(), Guard: guard, Logger: logger,
		ReadOnly: true, Keys: s.dir.Keys})
	if err != nil {
		return err
	}
	s.group, err = consensus.OpenStored(ctx, group, guard, environment.SystemClock(), logger)
	return err
}

// Close releases the directory, so that the node can start.
func (s *Stopped) Close() error {
	return errors.Join(s.closeGroup(), s.dir.Close())
}

func (s *Stopped) closeGroup() (err error) {
	if s.bodies != nil {
		s.bodies.Close()
	}
	if s.group != nil {
		err = s.group.Close()
	}
	s.bodies, s.group = nil, nil
	return err
}

// LoggedEntry describes one entry of the log.
type LoggedEntry struct {
	Index     uint64          `json:"index"`
	Term      uint64          `json:"term"`
	Type      string          `json:"type"` // command, configuration, noop, barrier
	LogTimeMs int64           `json:"logTimeMs,omitempty"`
	Bytes     int             `json:"bytes"`
	Commands  []LoggedCommand `json:"commands,omitempty"`
	Members   []string        `json:"members,omitempty"` // of a configuration
	Damage    string          `json:"damage,omitempty"`  // empty: the checksums match
}

// LoggedCommand is one command of an entry.
type LoggedCommand struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// LogBounds returns the indexes of the oldest and newest entry, 0 if there is none.
func (s *Stopped) LogBounds() (first, last uint64, err error) {
	return s.group.Bounds()
}

// Entries calls yield with the entries from one index to another, inclusive, including damaged
// ones.
func (s *Stopped) Entries(from, to uint64, yield func(LoggedEntry) error) error {
	first, last, err := s.LogBounds()
	if err != nil || last == 0 {
		return err
	}
	for index := max(from, first); index <= min(to, last); index++ {
		if err := yield(s.entry(index)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stopped) entry(index uint64) LoggedEntry {
	entry, err := s.group.Entry(index)
	if err != nil {
		return LoggedEntry{Index: index, Term: entry.Term, Type: "damaged", Bytes: len(entry.Data), Damage: err.Error()}
	}
	e := LoggedEntry{Index: index, Term: entry.Term, Type: entry.Kind.String(), Bytes: len(entry.Data)}
	switch entry.Kind {
	case consensus.EntryCommand:
		e.describeCommands(entry.Data)
	case consensus.EntryConfiguration:
		e.Members = memberTexts(entry.Members)
	default: // nothing in it
	}
	return e
}

func (e *LoggedEntry) describeCommands(data []byte) {
	head, err := codec.DecodeEntry(data, func(frame []byte) error {
		name, err := codec.CommandName(frame)
		if err != nil {
			name = fmt.Sprintf("unknown (%v)", err)
		}
		e.Commands = append(e.Commands, LoggedCommand{Name: name, Bytes: len(frame)})
		return nil
	})
	e.LogTimeMs = int64(head.At)
	if err != nil {
		e.Damage = err.Error()
	}
}

func memberTexts(members []consensus.StoredMember) []string {
	texts := make([]string, 0, len(members))
	for _, member := range members {
		text := member.NodeID
		if !member.Voter {
			text += " (learner)"
		}
		texts = append(texts, text)
	}
	return texts
}
