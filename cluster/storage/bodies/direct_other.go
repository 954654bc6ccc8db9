//go:build !linux

package bodies

import "os"

// openDirect returns nil: direct writes need Linux.
func openDirect(string) *os.File { return nil }

func refusesDirect(error) bool { return false }
