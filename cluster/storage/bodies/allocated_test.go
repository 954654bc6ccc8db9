package bodies

import (
	"os"
	"syscall"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// blocksOnDisk returns the disk space of a file.
func blocksOnDisk(t *testing.T, path string) int64 {
	info, err := os.Stat(path)
	clustertest.Must(t, err)
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}
