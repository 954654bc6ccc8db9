package crash

import (
	"fmt"
	"slices"
	"sync"
)

// kind is the type of a change to a file or directory.
type kind int

const (
	kindWrite    kind = iota // data at offset
	kindTruncate             // to a size, which may be larger
	kindName                 // a name was added to a directory
	kindUnname               // a name was removed from a directory
	kindRename               // a name moved, in the same directory or another
	kindSync                 // the file or directory was made durable
)

// event is one line of the journal of a file system.
type event struct {
	kind   kind
	inode  uint64 // the file, or the directory of a name
	data   []byte
	offset int64
	size   int64
	name   string
	target uint64 // the inode that the name refers to
	dir    bool   // whether a new name is a directory's
	// of a rename: where to
	newDir  uint64
	newName string
}

// content reports whether the event changes a file, not a directory.
func (e event) content() bool { return e.kind == kindWrite || e.kind == kindTruncate }

// journal has the changes to a file system, in order. Safe for concurrent use.
type journal struct {
	mu     sync.Mutex
	events []event
}

// add records an event and applies it under one lock, so that the state of the file system never
// lacks an event of the journal or has one more.
func (j *journal) add(e event, do func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	do()
	j.events = append(j.events, e)
}

// position returns the number of events.
func (j *journal) position() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.events)
}

func (j *journal) all() []event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events)
}

// String describes an event for a report of lost data.
func (e event) String() string {
	switch e.kind {
	case kindWrite:
		return fmt.Sprintf("write %d bytes at %d of file %d", len(e.data), e.offset, e.inode)
	case kindTruncate:
		return fmt.Sprintf("make file %d %d bytes long", e.inode, e.size)
	case kindName:
		return fmt.Sprintf("name %d %q in directory %d", e.target, e.name, e.inode)
	case kindUnname:
		return fmt.Sprintf("remove %q from directory %d", e.name, e.inode)
	case kindRename:
		return fmt.Sprintf("rename %q in directory %d to %q in %d", e.name, e.inode, e.newName, e.newDir)
	default:
		return fmt.Sprintf("sync %d", e.inode)
	}
}
