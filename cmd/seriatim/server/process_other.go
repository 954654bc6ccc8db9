//go:build !unix

package server

import "os/exec"

// detach does nothing where there are no process groups.
func detach(*exec.Cmd) {}

// openFilesLimit is 0: there is none.
func openFilesLimit() uint64 { return 0 }
