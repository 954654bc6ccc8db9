//go:build !linux

package bodies

import (
	"io/fs"
	"os"
)

// canPunch: files cannot have holes.
const canPunch = false

func punch(*os.File, int64, int64) (given bool, err error) { return false, nil }

// allocated returns the disk space of a file.
func allocated(info fs.FileInfo) int64 { return info.Size() }
