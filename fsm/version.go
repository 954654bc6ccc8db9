package fsm

import (
	"fmt"

	"github.com/seriatimq/seriatim/queue"
)

// Format versions say which commands may be in the log. A new cluster starts
// at version 0, which knows only the clock, settings and SetFormatVersion
// itself; the leader raises it with SetFormatVersion once every voter can
// read the higher one, and refuses until then what would need it. So a
// rolling upgrade never puts an entry into the log that some node cannot
// apply.
const (
	// CurrentVersion is the highest format version this program reads and
	// writes.
	CurrentVersion uint32 = 2
	// OldestVersion is the lowest format version this program can still work
	// with.
	OldestVersion uint32 = 1
	// StateHashVersion is the definition of the state and chain hashes. Only
	// equal versions are compared between nodes.
	StateHashVersion uint32 = 1
)

// MinimumVersion is the format version that must be in force before cmd may
// be proposed. A command this package does not know needs more than any.
func MinimumVersion(cmd queue.Command) uint32 {
	c, err := codecOf(cmd)
	if err != nil {
		return CurrentVersion + 1
	}
	return c.minimum
}

// CommandNumber is the number of cmd in the log, zero if it has none.
func CommandNumber(cmd queue.Command) uint8 {
	c, err := codecOf(cmd)
	if err != nil {
		return 0
	}
	return c.number
}

// CommandName is the name of the command in a frame, for listing a log.
func CommandName(frame []byte) (string, error) {
	c, _, err := parseFrame(frame)
	if err != nil {
		return "", fmt.Errorf("naming a command: %w", err)
	}
	return c.name, nil
}
