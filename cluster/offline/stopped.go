package offline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm"
)

// ErrDataDirInUse means that a process, usually the running node, has the directory.
var ErrDataDirInUse = storage.ErrInUse

// Stopped is the data directory of a node that does not run: for looking into
// it, and for recovering from the loss of a majority. As long as it is open, the
// node cannot start. Used by one goroutine.
type Stopped struct {
	NodeID    string
	ClusterID string

	dir       *storage.Dir
	group     *storage.GroupDir
	guard     *storage.DiskGuard
	log       *storage.LogStore
	snapshots *storage.SnapshotStore
	logger    hclog.Logger
}

// stoppedDiskDeadline is how long one write may take; nobody waits for a node
// that is stopped.
const stoppedDiskDeadline = 5 * time.Minute

// Open opens the data directory of a stopped node and leaves it as it is.
func Open(ctx context.Context, path string, logger *slog.Logger) (*Stopped, error) {
	dir, err := storage.OpenStoppedDir(path)
	if err != nil {
		return nil, err
	}
	s := &Stopped{NodeID: dir.NodeID, dir: dir, logger: storage.NewLibraryLogger(ctx, logger)}
	// What ends a running node is an error here.
	s.guard = storage.NewDiskGuard(stoppedDiskDeadline, func(fault.ExitCode, error) {}, nil)
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stopped) open() error {
	membership, err := s.dir.Membership()
	if err != nil {
		return err
	}
	s.ClusterID = membership.ClusterID
	if s.group, err = s.dir.Group(0); err != nil {
		return err
	}
	if !s.group.HasLog() {
		return fmt.Errorf("node %s has never been part of a cluster: its data directory %s holds no log", s.NodeID, s.dir.Path)
	}
	options := storage.DefaultLogOptions()
	options.Opened, options.Logger = environment.SystemClock().Wall(), s.logger
	if options.Store, err = s.group.LogStoreFound(); err != nil {
		return err
	}
	if s.log, err = storage.OpenLogStore(s.group, s.guard, options); err != nil {
		return err
	}
	s.snapshots, err = storage.OpenSnapshotStore(s.group, s.guard, storage.DefaultSyncBytes, s.logger)
	return err
}

// Close lets the node start again.
func (s *Stopped) Close() error {
	var problems []error
	if s.log != nil {
		problems = append(problems, s.log.Close())
	}
	return errors.Join(append(problems, s.dir.Close())...)
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
	Damage    string          `json:"damage,omitempty"`  // empty: the checksums are right
}

// LoggedCommand is one command of an entry.
type LoggedCommand struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// LogBounds are the indexes of the oldest and the newest entry, 0 if there is none.
func (s *Stopped) LogBounds() (first, last uint64, err error) {
	if first, err = s.log.FirstIndex(); err != nil {
		return 0, 0, err
	}
	last, err = s.log.LastIndex()
	return first, last, err
}

// Entries describes the entries of the log from one index to another, both
// included, as far as they exist. A damaged entry is described as that.
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
	var entry raft.Log
	if err := s.log.GetStored(index, &entry); err != nil {
		return LoggedEntry{Index: index, Term: entry.Term, Type: "damaged", Bytes: len(entry.Data), Damage: err.Error()}
	}
	e := LoggedEntry{Index: index, Term: entry.Term, Bytes: len(entry.Data)}
	switch entry.Type {
	case raft.LogCommand:
		e.Type = "command"
		e.describeCommands(entry.Data)
	case raft.LogConfiguration:
		e.Type = "configuration"
		e.Members = memberTexts(raft.DecodeConfiguration(entry.Data))
	case raft.LogNoop:
		e.Type = "noop"
	case raft.LogBarrier:
		e.Type = "barrier"
	default:
		e.Type = fmt.Sprintf("type %d", entry.Type)
	}
	return e
}

func (e *LoggedEntry) describeCommands(data []byte) {
	at, err := fsm.DecodeEntry(data, func(frame []byte) error {
		name, err := fsm.CommandName(frame)
		if err != nil {
			name = fmt.Sprintf("unknown (%v)", err)
		}
		e.Commands = append(e.Commands, LoggedCommand{Name: name, Bytes: len(frame)})
		return nil
	})
	e.LogTimeMs = int64(at)
	if err != nil {
		e.Damage = err.Error()
	}
}

func memberTexts(members raft.Configuration) []string {
	texts := make([]string, 0, len(members.Servers))
	for _, server := range members.Servers {
		text := string(server.ID)
		if server.Suffrage != raft.Voter {
			text += " (learner)"
		}
		texts = append(texts, text)
	}
	return texts
}
