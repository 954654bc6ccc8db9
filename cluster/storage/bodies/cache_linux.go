package bodies

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropCached drops a part of a file from the page cache.
func dropCached(file *os.File, offset, length int64) {
	_ = unix.Fadvise(int(file.Fd()), offset, length, unix.FADV_DONTNEED) // on failure the cache is checked
}
