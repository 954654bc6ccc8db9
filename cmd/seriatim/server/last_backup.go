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
)

// lastBackupName is the file in the data directory that says when a backup was last
// read from this node, so that a restart does not look like a missed backup.
const lastBackupName = "last-backup"

// backups knows when a backup was last read from this node to its end. Safe for concurrent
// use.
type backups struct{ last atomic.Int64 } // Unix seconds; 0: never, as far as is known

// at holds the time of the last one, zero if there was none.
func (b *backups) at() time.Time {
	if last := b.last.Load(); last != 0 {
		return time.Unix(last, 0)
	}
	return time.Time{}
}

// load reads what an earlier process with this data directory wrote down.
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
		log.Warn("it is not known when the last backup was made", "file", path, "error", err)
		return
	}
	b.last.Store(at.Unix())
}

// keep writes the time of a backup down.
func (b *backups) keep(dataDir string, at time.Time, log *slog.Logger) {
	b.last.Store(at.Unix())
	path := filepath.Join(dataDir, lastBackupName)
	if err := replaceFile(path, []byte(at.UTC().Format(time.RFC3339)+"\n")); err != nil {
		log.Warn("the time of a backup could not be written down: after a restart this node will not know of it", "file", path, "error", err)
	}
}

// findings measures what the node does not know of itself: certificates and backups.
func (r *parts) findings() (list []health.Finding) {
	now := time.Now()
	ends := r.certificates.expiries()
	for _, port := range slices.Sorted(maps.Keys(ends)) {
		list = append(list, health.Found(health.Certs, port+" port", ends[port].Sub(now).Hours()/24, "the certificate of the %s port ends at %s", port, ends[port].UTC().Format(time.RFC3339)))
	}
	if at := r.backup.at(); !at.IsZero() {
		list = append(list, health.Found(health.Backup, "", now.Sub(at).Hours(), "the newest backup from this node is of %s", at.UTC().Format(time.RFC3339)))
	}
	return list
}
