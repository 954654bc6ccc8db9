// Package fault names the errors of a node and the exit codes of its process. Each error says
// whether a command was written: an unknown outcome has an error of its own and is never
// reported as a failure.
package fault

import "errors"

// Errors that calls of a node may return beside *queue.Error. They are compared
// with errors.Is.
var (
	// ErrUnavailable: nothing was proposed and nothing will be; retry later
	// or elsewhere (no leader known, node starting or stopping).
	ErrUnavailable = errors.New("no leader is available, nothing was written, retry")
	// ErrOutcomeUnknown: the command may or may not take effect.
	ErrOutcomeUnknown = errors.New("the outcome is unknown: the command may or may not have taken effect")
	// ErrOverloaded: the proposal queue is full; nothing was proposed.
	ErrOverloaded = errors.New("too many requests are waiting to be written, nothing was written, slow down and retry")
	// ErrBadBackup: a backup or snapshot is damaged, cut off, or of a newer format.
	ErrBadBackup = errors.New("this backup cannot be restored")
	// ErrNotLeader: nothing was proposed because this node does not lead.
	ErrNotLeader = errors.New("this node is not the leader, nothing was written")
)
