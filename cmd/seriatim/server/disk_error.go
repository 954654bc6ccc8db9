package server

import (
	"errors"
	"slices"
	"syscall"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// diskError adds the exit code for a failing disk to the error of a start, if a disk caused it.
// A running node ends with this code itself; supervisors get the same one for a failed start.
func diskError(err error) error {
	var coded *exit.Error
	disk := slices.ContainsFunc([]error{syscall.EIO, syscall.ENOSPC, syscall.EROFS},
		func(number error) bool { return errors.Is(err, number) })
	if !disk || errors.As(err, &coded) {
		return err
	}
	return exit.New(exit.Code(cluster.ExitDiskError), err, "check the disk before starting this node again")
}
