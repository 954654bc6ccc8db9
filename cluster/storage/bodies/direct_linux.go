package bodies

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openDirect opens a file for direct writes; nil: it does not take any.
func openDirect(path string) *os.File {
	file, err := os.OpenFile(path, os.O_WRONLY|unix.O_DIRECT, 0)
	if err != nil {
		return nil
	}
	return file
}

// refusesDirect reports whether a direct write failed as they are not taken.
func refusesDirect(err error) bool { return errors.Is(err, unix.EINVAL) }
