//go:build !linux

package disk

import (
	"errors"
	"os"
)

// errOnlyLinux is returned because only Linux has the requests that break a file system.
var errOnlyLinux = errors.New("disks of their own need Linux")

var (
	errBusy = errors.New("busy")
	errFull = errors.New("full")
)

func unmount(string) error { return errOnlyLinux }

func shutdown(*os.File) error { return errOnlyLinux }

func freeze(*os.File) error { return errOnlyLinux }

func thaw(*os.File) error { return errOnlyLinux }

func allocate(*os.File, int64, int64) error { return errOnlyLinux }

// Allocated returns an error: disks need Linux.
func Allocated(string) (int64, error) { return 0, errOnlyLinux }

func dirtyBytes(*os.File) int64 { return 0 }

func mountsBelow(string) ([]string, error) { return nil, nil }
