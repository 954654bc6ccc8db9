package bodies

import (
	"os"

	"golang.org/x/sys/unix"
)

// canPunch says that parts of a file can be given back.
const canPunch = true

// punch makes a hole in a file. A file system that cannot do that is no failure: the
// space is given back with the segment.
func punch(file *os.File, offset, length int64) error {
	err := unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, length)
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		return nil
	}
	return err
}
