package server

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// lastBackupName is the file in the data directory that says when a backup was last
// read from this node, so that a restart does not look like a missed backup.
const lastBackupName = "last-backup"

// lastBackup is when a backup was last read from the node with this data directory;
// zero: never, as far as is known.
func lastBackup(dataDir string, log *slog.Logger) time.Time {
	path := filepath.Join(dataDir, lastBackupName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}
	}
	var at time.Time
	if err == nil {
		at, err = time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	}
	if err != nil {
		log.Warn("it is not known when the last backup was made", "file", path, "error", err)
	}
	return at
}

// keepLastBackup writes the time down.
func keepLastBackup(dataDir string, at time.Time, log *slog.Logger) {
	path := filepath.Join(dataDir, lastBackupName)
	if err := replaceFile(path, []byte(at.UTC().Format(time.RFC3339)+"\n")); err != nil {
		log.Warn("the time of a backup could not be written down: after a restart this node will not know of it", "file", path, "error", err)
	}
}
