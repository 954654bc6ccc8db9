package bodies

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openDirect opens a file for direct writes, or returns nil if they are not supported.
func openDirect(path string) *os.File {
	file, err := os.OpenFile(path, os.O_WRONLY|unix.O_DIRECT, 0)
	if err != nil {
		return nil
	}
	return file
}

// refusesDirect reports whether direct writes are not supported.
func refusesDirect(err error) bool { return errors.Is(err, unix.EINVAL) }
