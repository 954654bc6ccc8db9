//go:build !linux

package window

import "time"

// threadTime is not known on this system.
func threadTime() time.Duration { return 0 }
