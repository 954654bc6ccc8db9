package storage

import (
	"errors"
	"fmt"
	"io/fs"
)

// recoveryName is the record of a recovery, kept for whoever asks later why the
// cluster has another id than before.
const recoveryName = "recovery.json"

// Recovery describes a recovery from the loss of a majority. It is written
// before the recovery changes anything and again when it is done.
type Recovery struct {
	ClusterID string   `json:"clusterId"` // from then on
	Previous  string   `json:"previous"`
	Members   []string `json:"members"`
	LastIndex uint64   `json:"lastIndex"`
	LastTerm  uint64   `json:"lastTerm"`
	Done      bool     `json:"done"`
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
	if err == nil && record.ClusterID != "" && !record.Done {
		err = fmt.Errorf("a recovery that keeps %v was interrupted here: repeat seriatim cluster force-recover", record.Members)
	}
	return err
}
