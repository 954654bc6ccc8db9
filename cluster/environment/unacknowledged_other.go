//go:build !linux

package environment

import "syscall"

// limitUnacknowledged does nothing where the option does not exist; there the
// deadlines of each exchange must do.
func limitUnacknowledged(_, _ string, _ syscall.RawConn) error { return nil }
