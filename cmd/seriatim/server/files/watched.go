// Package files holds what a running server reads from files of its operator: certificates,
// tokens for the admin port, keys, and the first access key. It reads most of them again when
// they change, so that you renew certificates and tokens without a restart.
//
// It looks at a file when it is needed, at most once a second. A watcher would cost work on an
// idle node and miss some ways to replace a file, such as the symbolic links of Kubernetes
// secrets. Watched that cannot be used leave the former contents in force, which is logged.
package files

import (
	"log/slog"
	"os"
	"sync"
	"time"
)

// LookEvery is how long files are believed not to have changed.
const LookEvery = time.Second

// Watched are contents that stay those of their files. Safe for concurrent use.
type Watched[T any] struct {
	names []string
	read  func() (T, error)
	log   *slog.Logger
	now   func() time.Time

	mu     sync.Mutex
	looked time.Time
	stamps []stamp
	wrong  string // why the files could not be used when they were read last
	loaded T
}

// stamp tells whether a file is still the one that was read.
type stamp struct {
	changed time.Time
	size    int64
}

// Watch reads the files with a function that is called again after a change of one of them.
func Watch[T any](names []string, read func() (T, error), now func() time.Time, log *slog.Logger) (*Watched[T], error) {
	f := &Watched[T]{names: names, read: read, log: log, now: now, looked: now(), stamps: make([]stamp, len(names))}
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
	if since := now.Sub(f.looked); since >= 0 && since < LookEvery {
		return f.loaded
	}
	f.looked = now
	// Watched are replaced one after the other: a key that does not fit may have its
	// certificate in a moment. What cannot be used is read again although nothing of it
	// has changed, since its owner and mode, and what the process lacked, do not show in
	// a stamp. The same complaint about the same files is logged once.
	changed := f.changed()
	if !changed && f.wrong == "" {
		return f.loaded
	}
	loaded, err := f.read()
	if err != nil {
		if text := err.Error(); changed || text != f.wrong {
			f.wrong = text
			f.log.Error("changed files cannot be used, the former contents stay in force", "files", f.names, "error", err)
		}
		return f.loaded
	}
	f.loaded, f.wrong = loaded, ""
	f.log.Info("changed files were read again", "files", f.names)
	return f.loaded
}

// changed reports whether a file is another than at the last call.
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
