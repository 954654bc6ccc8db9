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

// Names of the node's own files. group_dir.go has those of a group.
const (
	lockName       = "LOCK"
	identityName   = "node.json"
	bootsName      = "boots.json"
	MembershipName = "cluster.json"
	AddressesName  = "addresses.json"
	HistoryName    = "history.dat"
)

// Dir is the data directory of a node, locked by this process. It holds the identity of the node,
// its cluster membership, and the directories of its groups (Group).
type Dir struct {
	Path   string
	NodeID string // name and eight hex digits
	Boot   uint64 // counts the starts of this node; orders its addresses in gossip
	// Keys encrypt new files; nil: files are not encrypted. Set before the groups are opened.
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

// Membership records the cluster that the node belongs to, or has pledged to join. The cluster id
// is a hash of the sorted ids of its initial members. The names in the file belong to format 1.
type Membership struct {
	ClusterID      string   `json:"clusterId"`
	InitialMembers []string `json:"founders"`
	// Joined: the node is not an initial member. Added: the leader confirmed the membership; until
	// then the node may ask again.
	Joined bool `json:"joined,omitempty"`
	Added  bool `json:"admitted,omitempty"`
}

// ErrInUse: another process has locked the directory.
var ErrInUse = errors.New("the data directory is in use by another process")

// ErrLostData: the directory once held state that is now missing. The node must not start with it.
var ErrLostData = errors.New("state that this node must remember is missing")

// OpenDir locks the directory and counts the start. An empty directory gets a new identity.
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

// OpenStoppedDir locks the data directory of a stopped node. It counts no start.
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
	// The lock ends with the process.
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
		return fmt.Errorf("%s belongs to node %q, not to %q: start the node with that name or with another data directory",
			d.Path, identity.NodeName, nodeName)
	}
	d.NodeID = identity.NodeID

	boots := bootsRecord{}
	if err := readOptional(d.File(bootsName), &boots); err != nil {
		return err
	}
	boots.Boots++
	if err := WriteRecord(d.File(bootsName), boots); err != nil {
		return err
	}
	d.Boot = boots.Boots
	return nil
}

// newIdentity draws a node id for an empty directory. The random digits make a node that lost its
// disk a new node: under its old id it would have forgotten its votes and confirmed entries
// (faults.md 13.4).
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

// NodeNameOf returns the name part of a node id.
func NodeNameOf(nodeID string) string {
	if i := strings.LastIndexByte(nodeID, '-'); i > 0 {
		return nodeID[:i]
	}
	return nodeID
}

// Membership reads the record of the cluster; the zero record if there is none.
func (d *Dir) Membership() (Membership, error) {
	record := Membership{}
	err := readOptional(d.File(MembershipName), &record)
	return record, err
}

// SetMembership replaces the record of the cluster.
func (d *Dir) SetMembership(record Membership) error {
	return WriteRecord(d.File(MembershipName), record)
}

// ClearMembership removes the record, as if the node had never belonged to a cluster.
func (d *Dir) ClearMembership() error {
	if err := os.Remove(d.File(MembershipName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return SyncDir(d.Path)
}

// File returns the path of a file of the node.
func (d *Dir) File(name string) string { return filepath.Join(d.Path, name) }

// Close releases the lock.
func (d *Dir) Close() error { return d.lock.Close() }
