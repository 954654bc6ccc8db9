//go:build !unix

package server

import "os/exec"

// detach does nothing where there are no process groups.
func detach(*exec.Cmd) {}

// openFilesLimit returns 0, which means no limit.
func openFilesLimit() uint64 { return 0 }
