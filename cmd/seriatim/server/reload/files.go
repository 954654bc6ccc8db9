package reload

import (
	"log/slog"
	"os"
	"sync"
	"time"
)

// LookEvery is how long files are believed not to have changed.
const LookEvery = time.Second

// Files are contents that stay those of their files. Safe for concurrent use.
type Files[T any] struct {
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

// Open reads the files with a function that is called again after a change of one of them.
func Open[T any](names []string, read func() (T, error), now func() time.Time, log *slog.Logger) (*Files[T], error) {
	f := &Files[T]{names: names, read: read, log: log, now: now, looked: now(), stamps: make([]stamp, len(names))}
	f.changed()
	var err error
	f.loaded, err = read()
	return f, err
}

// Current returns the contents, read again if a file has changed.
func (f *Files[T]) Current() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if since := now.Sub(f.looked); since >= 0 && since < LookEvery {
		return f.loaded
	}
	f.looked = now
	// Files are replaced one after the other: a key that does not fit may have its
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
func (f *Files[T]) changed() (found bool) {
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
