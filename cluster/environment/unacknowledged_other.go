//go:build !linux

package environment

import "syscall"

// limitUnacknowledged does nothing where the option does not exist; only the deadlines of each
// exchange apply.
func limitUnacknowledged(_, _ string, _ syscall.RawConn) error { return nil }
