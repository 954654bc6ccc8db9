package cluster

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"github.com/seriatimq/seriatim/fsm/plant"
)

// Names inside the data directory. Everything a group stores is below
// group-<id>, so that more groups need no move of the first.
const (
	lockName       = "LOCK"
	identityName   = "node.json"
	bootsName      = "boots.json"
	membershipName = "cluster.json"
	addressesName  = "addresses.json"
	logMarkedName  = "log-written"    // exists once the log had an entry
	voteMarkedName = "stable-written" // exists once a term or vote was stored
	groupDirName   = "group-0"
	walName        = "log"
	boltName       = "log.db"
	stableName     = "stable.db"
	logMarkName    = "log.mark"
)

// dataDir is the directory that makes this node the node it is: its identity,
// its cluster, and signs of what the stores must contain. One process at a time
// may have it open.
type dataDir struct {
	path   string
	nodeID string
	boot   uint64 // counts the starts of this node; orders its addresses in gossip
	lock   *os.File

	logMarked  atomic.Bool
	voteMarked atomic.Bool
}

type identityRecord struct {
	Format   int    `json:"format"`
	NodeID   string `json:"nodeId"`
	NodeName string `json:"nodeName"`
}

type bootsRecord struct {
	Boots uint64 `json:"boots"`
}

// membershipRecord says to which cluster the node belongs, or has promised to
// belong: the cluster id is a hash of the sorted ids of the founding members.
type membershipRecord struct {
	ClusterID string   `json:"clusterId"`
	Founders  []string `json:"founders"`
	// Joined: the node is none of the founders. Admitted: the leader has said
	// that it is a member; until then it may ask again.
	Joined   bool `json:"joined,omitempty"`
	Admitted bool `json:"admitted,omitempty"`
}

// errDataDirInUse: another process has the directory open.
var errDataDirInUse = errors.New("the data directory is in use by another process")

// errLostData: the directory once held state that is gone.
var errLostData = errors.New("state that this node must remember is missing")

// openDataDir locks the directory, reads the identity of the node or draws one
// for an empty directory, and counts the start.
func openDataDir(path, nodeName string, random io.Reader) (*dataDir, error) {
	if err := os.MkdirAll(filepath.Join(path, groupDirName), 0o700); err != nil {
		return nil, err
	}
	lock, err := lockDir(path)
	if err != nil {
		return nil, err
	}
	d := &dataDir{path: path, lock: lock}
	if err := d.load(nodeName, random); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return d, nil
}

// openStoppedDataDir locks the directory of a node that does not run: it must be
// one of a node, and no start is counted.
func openStoppedDataDir(path string) (*dataDir, error) {
	d := &dataDir{path: path}
	identity := identityRecord{}
	if err := readRecord(d.file(identityName), &identity); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s is not the data directory of a node: %w", path, err)
		}
		return nil, err
	}
	d.nodeID = identity.NodeID
	var err error
	if d.lock, err = lockDir(path); err != nil {
		return nil, err
	}
	if err := d.readMarks(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func lockDir(path string) (*os.File, error) {
	name := filepath.Join(path, lockName)
	lock, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	// The lock goes away with the process, however it ends.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w (%w)", name, errDataDirInUse, err), lock.Close())
	}
	return lock, nil
}

func (d *dataDir) load(nodeName string, random io.Reader) error {
	identity := identityRecord{}
	switch err := readRecord(d.file(identityName), &identity); {
	case errors.Is(err, fs.ErrNotExist):
		if identity, err = d.newIdentity(nodeName, random); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	if identity.NodeName != nodeName {
		return fmt.Errorf("%s belongs to node %q, not to %q: give the node its name back or another data directory", d.path, identity.NodeName, nodeName)
	}
	d.nodeID = identity.NodeID

	boots := bootsRecord{}
	if err := readRecord(d.file(bootsName), &boots); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	boots.Boots++
	if err := writeRecord(d.file(bootsName), boots); err != nil {
		return err
	}
	d.boot = boots.Boots

	return d.readMarks()
}

func (d *dataDir) readMarks() error {
	for name, marked := range map[string]*atomic.Bool{logMarkedName: &d.logMarked, voteMarkedName: &d.voteMarked} {
		found, err := exists(d.file(name))
		if err != nil {
			return err
		}
		marked.Store(found)
	}
	return nil
}

// newIdentity gives an empty directory a node id. The digits make a node that
// lost its disk a new node: under its old id it would have forgotten its votes
// and what it confirmed (faults.md 13.4).
func (d *dataDir) newIdentity(nodeName string, random io.Reader) (identityRecord, error) {
	for _, name := range []string{bootsName, membershipName, logMarkedName, voteMarkedName, filepath.Join(groupDirName, stableName)} {
		found, err := exists(d.file(name))
		if err != nil {
			return identityRecord{}, err
		}
		if found {
			return identityRecord{}, fmt.Errorf("%s is missing beside %s: %w", d.file(identityName), name, errLostData)
		}
	}
	var digits [4]byte
	if _, err := io.ReadFull(random, digits[:]); err != nil {
		return identityRecord{}, fmt.Errorf("draw a node id: %w", err)
	}
	if plant.Is(21) {
		clear(digits[:])
	}
	identity := identityRecord{Format: 1, NodeID: nodeName + "-" + hex.EncodeToString(digits[:]), NodeName: nodeName}
	return identity, writeRecord(d.file(identityName), identity)
}

// membership reads the cluster this node belongs to; the zero record if none.
func (d *dataDir) membership() (membershipRecord, error) {
	record := membershipRecord{}
	err := readRecord(d.file(membershipName), &record)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return record, err
}

func (d *dataDir) setMembership(record membershipRecord) error {
	return writeRecord(d.file(membershipName), record)
}

func (d *dataDir) clearMembership() error {
	if err := os.Remove(d.file(membershipName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(d.path)
}

// markLog and markVote note that from now on an empty log, or an empty stable
// store, means that data was lost. They are called after the first write and
// before it is confirmed to anybody.
func (d *dataDir) markLog() error  { return d.mark(logMarkedName, &d.logMarked) }
func (d *dataDir) markVote() error { return d.mark(voteMarkedName, &d.voteMarked) }

func (d *dataDir) mark(name string, marked *atomic.Bool) error {
	if marked.Load() {
		return nil
	}
	if err := writeSynced(d.file(name), nil); err != nil {
		return err
	}
	if err := syncDir(d.path); err != nil {
		return err
	}
	marked.Store(true)
	return nil
}

func (d *dataDir) file(name string) string { return filepath.Join(d.path, name) }

func (d *dataDir) groupFile(name string) string {
	return filepath.Join(d.path, groupDirName, name)
}

// logStoreFound names the kind of log store that the directory was made with.
func (d *dataDir) logStoreFound() (string, error) {
	found, err := exists(d.groupFile(boltName))
	if found {
		return LogStoreBoltDB, err
	}
	return LogStoreWAL, err
}

// hasLog reports whether the log ever had an entry.
func (d *dataDir) hasLog() bool { return d.logMarked.Load() }

// close lets another process have the directory.
func (d *dataDir) close() error { return d.lock.Close() }
