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

// GroupDirName is the directory of a group inside the data directory.
func GroupDirName(group uint32) string { return fmt.Sprintf("group-%d", group) }

// groupTraces are patterns of what groups leave in a data directory that was in use.
var groupTraces = []string{"log-written*", "stable-written*", "group-*/" + StableName}

// GroupDir is what the data directory holds of one consensus group: its stores,
// below group-<id>, and beside that directory, so that they stay when it is lost,
// two empty files that say what the stores must contain. Safe for concurrent use.
type GroupDir struct {
	node *Dir
	path string

	// logWritten is made once the log had an entry, voteWritten once a term or vote
	// was stored.
	logWritten, voteWritten sign
	begun                   chan struct{} // closed when logWritten is made
	begin                   sync.Once
}

// sign is an empty file that is made once.
type sign struct {
	name string
	made atomic.Bool
}

// Group opens the directory of a group, which is made if there is none. Each group
// is opened once.
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

// file is the path of a file of the group.
func (g *GroupDir) file(name string) string { return filepath.Join(g.path, name) }

// BodiesPath is the directory of the segments with bodies. There need not be one.
func (g *GroupDir) BodiesPath() string { return g.file(BodiesName) }

// HasLog reports whether the log ever had an entry.
func (g *GroupDir) HasLog() bool { return g.logWritten.made.Load() }

// LogBegun is closed when the log has had its first entry.
func (g *GroupDir) LogBegun() <-chan struct{} { return g.begun }

// MarkLog and markVote note that from now on an empty log, or an empty stable
// store, means that data was lost. They are called after the first write and
// before it is confirmed to anybody.
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
	// First the names of the stores and of their directory, which nobody else need have
	// synced: with a sign and without its store the node would not start again.
	if err := errors.Join(syncDir(g.path), syncDir(g.node.Path)); err != nil {
		return err
	}
	if err := writeSynced(g.node.File(s.name), nil); err != nil {
		return err
	}
	if err := syncDir(g.node.Path); err != nil {
		return err
	}
	s.made.Store(true)
	return nil
}

// LogStoreFound names the kind of log store that the group was made with.
func (g *GroupDir) LogStoreFound() (string, error) {
	found, err := exists(g.file(BoltName))
	if found {
		return LogStoreBoltDB, err
	}
	return LogStoreWAL, err
}
