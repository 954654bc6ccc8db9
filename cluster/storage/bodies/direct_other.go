//go:build !linux

package bodies

import "os"

// openDirect opens nothing: direct writes are for Linux only.
func openDirect(string) *os.File { return nil }

func refusesDirect(error) bool { return false }
