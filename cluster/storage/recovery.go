package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// recoveryName is the record of a recovery, kept for whoever asks later why the
// cluster has another id than before.
const recoveryName = "recovery.json"

// Recovery describes a recovery from the loss of a majority. It is written
// before the recovery changes anything and again when it is done.
type Recovery struct {
	NodeID    string   `json:"nodeId"`    // of this node before the recovery
	ClusterID string   `json:"clusterId"` // from then on
	Previous  string   `json:"previous"`
	Earlier   []string `json:"earlier,omitempty"` // what Previous was recovered from, oldest first
	Members   []string `json:"members"`           // the voters from then on
	Logs      []string `json:"logs"`              // where the logs of all nodes that are left end
	Joins     bool     `json:"joins,omitempty"`   // this node is no voter: it begins empty
	LastIndex uint64   `json:"lastIndex"`
	LastTerm  uint64   `json:"lastTerm"`
	Done      bool     `json:"done"`
}

// Interrupted reports whether the recovery was begun and not finished.
func (r Recovery) Interrupted() bool { return r.ClusterID != "" && !r.Done }

// Ended reports whether a cluster goes on as that of this recovery.
func (r Recovery) Ended(clusterID string) bool {
	return clusterID != "" && (clusterID == r.Previous || slices.Contains(r.Earlier, clusterID))
}

// ReadRecovery reads the record of the last recovery, zero if there was none.
func ReadRecovery(d *Dir) (Recovery, error) {
	record := Recovery{}
	err := ReadRecord(d.File(recoveryName), &record)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return record, err
}

// WriteRecovery notes on disk that a recovery has begun, with what it will do; it
// replaces the record of an earlier try.
func WriteRecovery(d *Dir, record Recovery) error {
	return WriteRecord(d.File(recoveryName), record)
}

// CheckRecovered returns an error that says what to do if a recovery of the directory
// was begun and not finished: the node must not start then.
func CheckRecovered(d *Dir) error {
	record, err := ReadRecovery(d)
	if err == nil && record.Interrupted() {
		err = fmt.Errorf("a recovery that keeps the log of %v was interrupted here: repeat seriatim cluster force-recover with the same options", record.Members)
	}
	return err
}

// SetAside makes this directory that of a new node, with another id, which waits to join
// the cluster of a recovery. What it has of its own cluster it moves to AsideName. It can be
// repeated until the recovery is done.
func SetAside(d *Dir, recovery Recovery) error {
	aside := d.File(AsideName(recovery))
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return err
	}
	for _, pattern := range setAside {
		found, err := fs.Glob(os.DirFS(d.Path), pattern)
		if err != nil {
			return err
		}
		for _, name := range found {
			if err := os.Rename(d.File(name), filepath.Join(aside, name)); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(syncDir(aside), syncDir(d.Path)); err != nil {
		return err
	}
	identity := identityRecord{}
	if err := ReadRecord(d.File(identityName), &identity); err != nil {
		return err
	}
	own := identityRecord{Format: identity.Format, NodeID: recovery.NodeID, NodeName: identity.NodeName}
	if err := WriteRecord(filepath.Join(aside, identityName), own); err != nil {
		return err
	}
	if err := d.SetMembership(Membership{ClusterID: recovery.ClusterID, InitialMembers: recovery.Members, Joined: true}); err != nil {
		return err
	}
	digits := sha256.Sum256([]byte(recovery.NodeID + " joins " + recovery.ClusterID)) // the same when it is repeated
	identity.NodeID = identity.NodeName + "-" + hex.EncodeToString(digits[:4])
	return WriteRecord(d.File(identityName), identity)
}

// setAside are patterns of what a node has of its cluster.
var setAside = []string{"log-written*", "stable-written*", "group-*"}

// AsideName is the directory, inside that of the node, to which a recovery moves what it
// does not keep.
func AsideName(recovery Recovery) string { return "aside-" + recovery.NodeID + "-" + recovery.Previous }
