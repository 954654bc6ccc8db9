package storage

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/seriatimq/seriatim/cluster/storage/encryption"
)

// Names of the node's own files. What belongs to a group has its names in
// group_dir.go.
const (
	lockName       = "LOCK"
	identityName   = "node.json"
	bootsName      = "boots.json"
	MembershipName = "cluster.json"
	AddressesName  = "addresses.json"
)

// Dir is the data directory. It makes this node the node it is: it holds its
// identity and its cluster, and the directories of its groups (Group). One process
// at a time may have it open.
type Dir struct {
	Path   string
	NodeID string // name and eight hex digits
	Boot   uint64 // counts the starts of this node; orders its addresses in gossip
	// Keys encrypt what is written from UseKeys on; nil: nothing is encrypted.
	Keys *encryption.Keyring
	lock *os.File

	recording sync.Mutex // held while the record of the keys is changed
}

type identityRecord struct {
	Format   int    `json:"format"`
	NodeID   string `json:"nodeId"`
	NodeName string `json:"nodeName"`
}

type bootsRecord struct {
	Boots uint64 `json:"boots"`
}

// Membership says to which cluster the node belongs, or has pledged to belong: the
// cluster id is a hash of the sorted ids of its initial members. The names in the
// file are as old as its format.
type Membership struct {
	ClusterID      string   `json:"clusterId"`
	InitialMembers []string `json:"founders"`
	// Joined: the node is none of the initial members. Added: the leader has said
	// that it is a member; until then it may ask again.
	Joined bool `json:"joined,omitempty"`
	Added  bool `json:"admitted,omitempty"`
}

// ErrInUse is the error of OpenDir for a directory that another process has locked.
var ErrInUse = errors.New("the data directory is in use by another process")

// ErrLostData is the error for a directory whose identity file says that it held
// state which is not there; the node must not start with it.
var ErrLostData = errors.New("state that this node must remember is missing")

// OpenDir locks the directory, reads the identity of the node or draws one
// for an empty directory, and counts the start.
func OpenDir(path, nodeName string, random io.Reader) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockDir(path)
	if err != nil {
		return nil, err
	}
	d := &Dir{Path: path, lock: lock}
	if err := d.load(nodeName, random); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return d, nil
}

// OpenStoppedDir locks the directory of a node that does not run: it must be
// one of a node, and no start is counted.
func OpenStoppedDir(path string) (*Dir, error) {
	d := &Dir{Path: path}
	identity := identityRecord{}
	if err := ReadRecord(d.File(identityName), &identity); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s is not the data directory of a node: %w", path, err)
		}
		return nil, err
	}
	d.NodeID = identity.NodeID
	var err error
	if d.lock, err = lockDir(path); err != nil {
		return nil, err
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
		return nil, errors.Join(fmt.Errorf("%s: %w (%w)", name, ErrInUse, err), lock.Close())
	}
	return lock, nil
}

func (d *Dir) load(nodeName string, random io.Reader) error {
	identity := identityRecord{}
	switch err := ReadRecord(d.File(identityName), &identity); {
	case errors.Is(err, fs.ErrNotExist):
		if identity, err = d.newIdentity(nodeName, random); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	if identity.NodeName != nodeName {
		return fmt.Errorf("%s belongs to node %q, not to %q: give the node its name back or another data directory", d.Path, identity.NodeName, nodeName)
	}
	d.NodeID = identity.NodeID

	boots := bootsRecord{}
	if err := ReadRecord(d.File(bootsName), &boots); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	boots.Boots++
	if err := WriteRecord(d.File(bootsName), boots); err != nil {
		return err
	}
	d.Boot = boots.Boots
	return nil
}

// newIdentity gives an empty directory a node id. The digits make a node that
// lost its disk a new node: under its old id it would have forgotten its votes
// and what it confirmed (faults.md 13.4).
func (d *Dir) newIdentity(nodeName string, random io.Reader) (identityRecord, error) {
	for _, pattern := range append([]string{bootsName, MembershipName}, groupTraces...) {
		found, err := fs.Glob(os.DirFS(d.Path), pattern)
		if err != nil {
			return identityRecord{}, err
		}
		if len(found) > 0 {
			return identityRecord{}, fmt.Errorf("%s is missing beside %s: %w", d.File(identityName), found[0], ErrLostData)
		}
	}
	var digits [4]byte
	if _, err := io.ReadFull(random, digits[:]); err != nil {
		return identityRecord{}, fmt.Errorf("draw a node id: %w", err)
	}
	identity := identityRecord{Format: 1, NodeID: nodeName + "-" + hex.EncodeToString(digits[:]), NodeName: nodeName}
	return identity, WriteRecord(d.File(identityName), identity)
}

// NodeNameOf is the name part of a node id, which is name and random digits.
func NodeNameOf(nodeID string) string {
	if i := strings.LastIndexByte(nodeID, '-'); i > 0 {
		return nodeID[:i]
	}
	return nodeID
}

// Membership reads the cluster this node belongs to; the zero record if none.
func (d *Dir) Membership() (Membership, error) {
	record := Membership{}
	err := ReadRecord(d.File(MembershipName), &record)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return record, err
}

// SetMembership replaces the record of the cluster this node belongs to.
func (d *Dir) SetMembership(record Membership) error {
	return WriteRecord(d.File(MembershipName), record)
}

// ClearMembership removes the record, as if the node had never belonged to a cluster.
func (d *Dir) ClearMembership() error {
	if err := os.Remove(d.File(MembershipName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(d.Path)
}

// File is the path of a file of the node, outside of its groups.
func (d *Dir) File(name string) string { return filepath.Join(d.Path, name) }

// Close releases the lock, so that another process may open the directory.
func (d *Dir) Close() error { return d.lock.Close() }
