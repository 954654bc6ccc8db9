package files

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An unreadable new file, for example with the wrong owner, is read again when that is possible,
// although its stamp does not change. The log has the error once.
func TestFilesThatCanBeReadLater(t *testing.T) {
	t.Parallel()
	path, now, log := filepath.Join(t.TempDir(), "file"), time.Now(), new(strings.Builder)
	var refused error
	read := func() (string, error) {
		text, err := os.ReadFile(path)
		return string(text), errors.Join(err, refused)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	files, err := Watch([]string{path}, read, func() time.Time { return now }, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	want := func(text string, complaints int) {
		t.Helper()
		now = now.Add(CheckInterval)
		if got := files.Current(); got != text {
			t.Errorf("in force is %q, want %q", got, text)
		}
		if n := strings.Count(log.String(), "level=ERROR"); n != complaints {
			t.Errorf("%d complaints, want %d:\n%s", n, complaints, log)
		}
	}
	want("old", 0)
	refused = errors.New("permission denied")
	write("newer")
	want("old", 1)
	want("old", 1)
	refused = errors.New("too many open files")
	want("old", 2)
	refused = nil
	want("newer", 2)
	refused = errors.New("permission denied")
	want("newer", 2) // nothing has changed
	write("newest one")
	want("newer", 3)
	write("the newest one")
	want("newer", 4) // another state of the files
}
