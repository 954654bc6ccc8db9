package cluster

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/seriatimq/seriatim/cluster/storage"
)

// recoveryName is the record of a recovery, kept for whoever asks later why the
// cluster has another id than before.
const recoveryName = "recovery.json"

// recoveryRecord describes a recovery from the loss of a majority. It is written
// before the recovery changes anything and again when it is done.
type recoveryRecord struct {
	ClusterID string   `json:"clusterId"` // from then on
	Previous  string   `json:"previous"`
	Members   []string `json:"members"`
	LastIndex uint64   `json:"lastIndex"`
	LastTerm  uint64   `json:"lastTerm"`
	Done      bool     `json:"done"`
}

// readRecovery reads the record of the last recovery, zero if there was none.
func readRecovery(d *storage.Dir) (recoveryRecord, error) {
	record := recoveryRecord{}
	err := storage.ReadRecord(d.File(recoveryName), &record)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return record, err
}

// writeRecovery replaces the record.
func writeRecovery(d *storage.Dir, record recoveryRecord) error {
	return storage.WriteRecord(d.File(recoveryName), record)
}

// checkRecovered refuses to start in the middle of a recovery.
func checkRecovered(d *storage.Dir) error {
	record, err := readRecovery(d)
	if err == nil && record.ClusterID != "" && !record.Done {
		err = fmt.Errorf("a recovery that keeps %v was interrupted here: repeat seriatim cluster force-recover", record.Members)
	}
	return err
}
