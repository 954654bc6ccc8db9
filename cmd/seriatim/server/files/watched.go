// Package files reads the files of the operator: certificates, tokens for the admin port, keys,
// and the first access key. It reloads most of them after a change, so that you renew
// certificates and tokens without a restart.
//
// The package checks a file when the server uses it, at most once a second. A watcher would cost
// work on an idle node and miss some ways to replace a file, such as the symbolic links of
// Kubernetes secrets. If changed files are unusable, the former contents stay in force, and the
// log has an error.
package files

import (
	"log/slog"
	"os"
	"sync"
	"time"
)

// CheckInterval is the time between two checks of a file.
const CheckInterval = time.Second

// Watched holds the contents of files and reloads them after a change. Safe for concurrent use.
type Watched[T any] struct {
	names []string
	read  func() (T, error)
	log   *slog.Logger
	now   func() time.Time

	mu      sync.Mutex
	checked time.Time
	stamps  []stamp
	problem string // the error of the last reload, empty if it succeeded
	loaded  T
}

// stamp identifies a version of a file.
type stamp struct {
	changed time.Time
	size    int64
}

// Watch reads the files with a function, which it calls again after a change of one of them.
func Watch[T any](names []string, read func() (T, error), now func() time.Time, log *slog.Logger) (*Watched[T], error) {
	f := &Watched[T]{names: names, read: read, log: log, now: now, checked: now(), stamps: make([]stamp, len(names))}
	f.changed()
	var err error
	f.loaded, err = read()
	return f, err
}

// Current returns the contents, read again if a file has changed.
func (f *Watched[T]) Current() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if since := now.Sub(f.checked); since >= 0 && since < CheckInterval {
		return f.loaded
	}
	f.checked = now
	// Operators replace files one after another, so a key may lack its certificate for a moment.
	// Unusable files are read again even if their stamps are equal, because a stamp does not show
	// owner and mode. The same error about the same files is logged once.
	changed := f.changed()
	if !changed && f.problem == "" {
		return f.loaded
	}
	loaded, err := f.read()
	if err != nil {
		if text := err.Error(); changed || text != f.problem {
			f.problem = text
			f.log.Error("changed files are unusable, the former contents stay in force", "files", f.names, "error", err)
		}
		return f.loaded
	}
	f.loaded, f.problem = loaded, ""
	f.log.Info("changed files were read again", "files", f.names)
	return f.loaded
}

// changed reports whether a file has changed since the last call.
func (f *Watched[T]) changed() (found bool) {
	for i, name := range f.names {
		var now stamp
		if info, err := os.Stat(name); err == nil {
			now = stamp{info.ModTime(), info.Size()}
		}
		if now != f.stamps[i] {
			f.stamps[i], found = now, true
		}
	}
	return found
}
