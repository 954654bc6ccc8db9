package bodies

import (
	"os"
	"syscall"
	"testing"
)

// blocksOnDisk returns the disk space of a file.
func blocksOnDisk(t *testing.T, path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}
