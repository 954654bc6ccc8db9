package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// memory is a file system on which a sync takes no time.
const memory = "/dev/shm"

// slowed delays every sync of a program and its children, as a disk of its own would, without
// affecting other processes: strace holds the call. All other calls are made at once. The data must
// be in memory.
func slowed(process *exec.Cmd, disk time.Duration) *exec.Cmd {
	if disk == 0 {
		return process
	}
	args := []string{
		"-f", "--seccomp-bpf", "-qq", "-o", os.DevNull, "-e", "signal=none", "-e", "trace=fsync,fdatasync",
		"-e", fmt.Sprintf("inject=fsync,fdatasync:delay_enter=%dus", disk.Microseconds()), process.Path,
	}
	slow := exec.Command("strace", append(args, process.Args[1:]...)...)
	slow.Env, slow.Dir = process.Env, process.Dir
	return slow
}

// directory creates a directory for data, in memory if syncs are delayed.
func directory(disk time.Duration) (string, error) {
	below := ""
	if disk != 0 {
		if _, err := exec.LookPath("strace"); err != nil {
			return "", fmt.Errorf("-disk needs strace: %w", err)
		}
		if _, err := os.Stat(memory); errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("-disk needs the file system in memory %s: %w", memory, err)
		}
		below = memory
	}
	dir, err := os.MkdirTemp(below, "seriatim-peers-")
	if err != nil {
		return "", fmt.Errorf("directory for the data: %w", err)
	}
	return dir, nil
}
