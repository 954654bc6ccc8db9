package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// SyncFS syncs the file system of a directory.
func SyncFS(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync the file system of %s: %w", dir, err)
	}
	if err := errors.Join(unix.Syncfs(int(file.Fd())), file.Close()); err != nil {
		return fmt.Errorf("sync the file system of %s: %w", dir, err)
	}
	return nil
}
