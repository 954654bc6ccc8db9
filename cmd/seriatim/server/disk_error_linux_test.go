package server

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// An unreadable file ends a start with the exit code for a failing disk. A damaged file does not.
func TestDiskErrorsBeforeTheNodeIsOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, arnsName)
	cfg := Config{Node: NodeConfig{DataDir: dir}}
	if err := os.Symlink("/proc/self/mem", path); err != nil { // nothing is mapped at its beginning: EIO
		t.Fatal(err)
	}
	if err := diskError(checkARNs(cfg)); exit.CodeOf(exit.Wrap(err)) != exit.Code(cluster.ExitDiskError) {
		t.Errorf("a file that cannot be read: %v", err)
	}
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := diskError(checkARNs(cfg)); exit.CodeOf(exit.Wrap(err)) != exit.Failed {
		t.Errorf("a damaged file: %v", err)
	}
}
