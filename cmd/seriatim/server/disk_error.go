package server

import (
	"errors"
	"slices"
	"syscall"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// ofDisk gives what a start failed with the exit code of a disk that fails, if that is what
// it was: the node itself has that code once it has its data directory, and who supervises it
// must not see another one for what is read before.
func ofDisk(err error) error {
	var coded *exit.Error
	disk := slices.ContainsFunc([]error{syscall.EIO, syscall.ENOSPC, syscall.EROFS}, func(number error) bool { return errors.Is(err, number) })
	if !disk || errors.As(err, &coded) {
		return err
	}
	return exit.New(exit.Code(cluster.ExitDiskError), err, "check the disk before starting this node again")
}
