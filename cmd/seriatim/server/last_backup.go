package server

import (
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cmd/seriatim/atomicfile"
)

// lastBackupName is the file in the data directory with the time of the last backup from this
// node. After a restart, the check of the backup needs it.
const lastBackupName = "last-backup"

// backups records the time of the last complete backup from this node. Safe for concurrent use.
type backups struct{ last atomic.Int64 } // Unix seconds; 0: none is known

// at returns the time of the last backup, zero if none is known.
func (b *backups) at() time.Time {
	if last := b.last.Load(); last != 0 {
		return time.Unix(last, 0)
	}
	return time.Time{}
}

// load reads the time that an earlier process recorded in this data directory.
func (b *backups) load(dataDir string, log *slog.Logger) {
	path := filepath.Join(dataDir, lastBackupName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var at time.Time
	if err == nil {
		at, err = time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	}
	if err != nil {
		log.Warn("the time of the last backup is unknown", "file", path, "error", err)
		return
	}
	b.last.Store(at.Unix())
}

// keep records the time of a backup.
func (b *backups) keep(dataDir string, at time.Time, log *slog.Logger) {
	b.last.Store(at.Unix())
	path := filepath.Join(dataDir, lastBackupName)
	if err := atomicfile.Replace(path, []byte(at.UTC().Format(time.RFC3339)+"\n"), 0o600); err != nil {
		log.Warn("cannot record the time of a backup: after a restart this node reports it as unknown", "file", path, "error", err)
	}
}

// findings measures the age of the last backup and the remaining time of the certificates.
func (r *parts) findings() (list []health.Finding) {
	now := time.Now()
	ends := r.certificates.expiries()
	for _, port := range slices.Sorted(maps.Keys(ends)) {
		list = append(list, health.Found(health.Certs, port+" port", ends[port].Sub(now).Hours()/24,
			"the certificate of the %s port ends at %s", port, ends[port].UTC().Format(time.RFC3339)))
	}
	if at := r.backup.at(); !at.IsZero() {
		list = append(list, health.Found(health.Backup, "", now.Sub(at).Hours(), "the newest backup from this node is of %s",
			at.UTC().Format(time.RFC3339)))
	}
	return list
}
