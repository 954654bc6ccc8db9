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

// recoveryName is the record of a recovery. It is kept to explain the changed cluster id.
const recoveryName = "recovery.json"

// Recovery describes a recovery from the loss of a majority. It is written before the recovery
// changes anything and again when it is done.
type Recovery struct {
	NodeID    string   `json:"nodeId"`    // of this node before the recovery
	ClusterID string   `json:"clusterId"` // after the recovery
	Previous  string   `json:"previous"`
	Earlier   []string `json:"earlier,omitempty"` // clusters that Previous was recovered from, oldest first
	Members   []string `json:"members"`           // the voters after the recovery
	Logs      []string `json:"logs"`              // ends of the logs of all remaining nodes
	Joins     bool     `json:"joins,omitempty"`   // this node is no voter: it begins empty
	LastIndex uint64   `json:"lastIndex"`
	LastTerm  uint64   `json:"lastTerm"`
	Done      bool     `json:"done"`
}

// Interrupted reports whether the recovery began and did not finish.
func (r Recovery) Interrupted() bool { return r.ClusterID != "" && !r.Done }

// Ended reports whether this recovery replaced the given cluster.
func (r Recovery) Ended(clusterID string) bool {
	return clusterID != "" && (clusterID == r.Previous || slices.Contains(r.Earlier, clusterID))
}

// ReadRecovery reads the record of the last recovery; zero if there was none.
func ReadRecovery(d *Dir) (Recovery, error) {
	record := Recovery{}
	err := readOptional(d.File(recoveryName), &record)
	return record, err
}

// WriteRecovery records a recovery. It replaces the record of an earlier attempt.
func WriteRecovery(d *Dir, record Recovery) error {
	return WriteRecord(d.File(recoveryName), record)
}

// CheckRecovered returns an error that says what to do if a recovery was interrupted: the node must
// not start.
func CheckRecovered(d *Dir) error {
	record, err := ReadRecovery(d)
	if err == nil && record.Interrupted() {
		err = fmt.Errorf("a recovery that keeps the log of %v was interrupted: repeat seriatim cluster force-recover with the same options",
			record.Members)
	}
	return err
}

// ResetToJoin gives this directory a new node id, with which it waits to join the recovered
// cluster. It moves the data of the old cluster to ArchiveName. It can be repeated until the
// recovery is done.
func ResetToJoin(d *Dir, recovery Recovery) error {
	archive := d.File(ArchiveName(recovery))
	if err := os.MkdirAll(archive, 0o700); err != nil {
		return err
	}
	for _, pattern := range archived {
		found, err := fs.Glob(os.DirFS(d.Path), pattern)
		if err != nil {
			return err
		}
		for _, name := range found {
			if err := os.Rename(d.File(name), filepath.Join(archive, name)); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(SyncDir(archive), SyncDir(d.Path)); err != nil {
		return err
	}
	identity := identityRecord{}
	if err := ReadRecord(d.File(identityName), &identity); err != nil {
		return err
	}
	own := identityRecord{Format: identity.Format, NodeID: recovery.NodeID, NodeName: identity.NodeName}
	if err := WriteRecord(filepath.Join(archive, identityName), own); err != nil {
		return err
	}
	if err := d.SetMembership(Membership{ClusterID: recovery.ClusterID, InitialMembers: recovery.Members, Joined: true}); err != nil {
		return err
	}
	digits := sha256.Sum256([]byte(recovery.NodeID + " joins " + recovery.ClusterID)) // the same when repeated
	identity.NodeID = identity.NodeName + "-" + hex.EncodeToString(digits[:4])
	return WriteRecord(d.File(identityName), identity)
}

// archived are patterns of the files that belong to a cluster.
var archived = []string{"log-written*", "stable-written*", "group-*"}

// ArchiveName returns the name of the directory, inside the data directory, for the data of the old
// cluster.
func ArchiveName(recovery Recovery) string {
	return "aside-" + recovery.NodeID + "-" + recovery.Previous
}
