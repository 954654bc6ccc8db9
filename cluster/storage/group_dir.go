package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// Names inside the directory of a group.
const (
	WALName     = "log"
	BoltName    = "log.db"
	StableName  = "stable.db"
	logMarkName = "log.mark"
	BodiesName  = "bodies"
)

// GroupDirName returns the name of a group's directory inside the data directory.
func GroupDirName(group uint32) string { return fmt.Sprintf("group-%d", group) }

// groupTraces are patterns of files that show that a data directory was in use.
var groupTraces = []string{"log-written*", "stable-written*", "group-*/" + StableName}

// GroupDir holds the files of one consensus group: its stores in group-<id>, and beside that
// directory, so that they survive its loss, two empty marker files. Safe for concurrent use.
type GroupDir struct {
	node *Dir
	path string

	// logWritten is created after the first log entry, voteWritten after the first term or vote.
	logWritten, voteWritten sign
	begun                   chan struct{} // closed when logWritten exists
	begin                   sync.Once
}

// sign is an empty marker file that is created once.
type sign struct {
	name string
	made atomic.Bool
}

// Group opens the directory of a group, and creates it if there is none. Open each group once.
func (d *Dir) Group(group uint32) (*GroupDir, error) {
	suffix := ""
	if group > 0 {
		suffix = fmt.Sprintf("-%d", group)
	}
	g := &GroupDir{
		node: d, path: d.File(GroupDirName(group)), begun: make(chan struct{}),
		logWritten: sign{name: "log-written" + suffix}, voteWritten: sign{name: "stable-written" + suffix},
	}
	for _, m := range []*sign{&g.logWritten, &g.voteWritten} {
		found, err := exists(d.File(m.name))
		if err != nil {
			return nil, err
		}
		m.made.Store(found)
	}
	if g.HasLog() {
		close(g.begun)
	}
	return g, os.MkdirAll(g.path, 0o700)
}

func (g *GroupDir) file(name string) string { return filepath.Join(g.path, name) }

// BodiesPath returns the directory of the body segments. It need not exist.
func (g *GroupDir) BodiesPath() string { return g.file(BodiesName) }

// HasLog reports whether the log ever had an entry.
func (g *GroupDir) HasLog() bool { return g.logWritten.made.Load() }

// LogBegun returns a channel that is closed after the first log entry.
func (g *GroupDir) LogBegun() <-chan struct{} { return g.begun }

// MarkLog and markVote record that from now on an empty log, or an empty stable store, means lost
// data. They run after the first write and before it is confirmed.
func (g *GroupDir) MarkLog() error {
	if g.HasLog() {
		return nil
	}
	if err := g.make(&g.logWritten); err != nil {
		return err
	}
	g.begin.Do(func() { close(g.begun) })
	return nil
}

func (g *GroupDir) markVote() error { return g.make(&g.voteWritten) }

func (g *GroupDir) make(s *sign) error {
	if s.made.Load() {
		return nil
	}
	// First sync the names of the stores and of their directory: with a marker but without its
	// store the node would not start again.
	if err := errors.Join(SyncDir(g.path), SyncDir(g.node.Path)); err != nil {
		return err
	}
	if err := writeSynced(g.node.File(s.name), nil); err != nil {
		return err
	}
	if err := SyncDir(g.node.Path); err != nil {
		return err
	}
	s.made.Store(true)
	return nil
}

// LogStoreFound returns the kind of log store that the group was created with.
func (g *GroupDir) LogStoreFound() (string, error) {
	found, err := exists(g.file(BoltName))
	if found {
		return LogStoreBoltDB, err
	}
	return LogStoreWAL, err
}
