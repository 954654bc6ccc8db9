// Package fault defines the errors of a node and the exit codes of its process. Each error says
// whether a command was written: an unknown outcome has its own error and is never reported as a
// failure.
package fault

import "errors"

// Errors of a node's calls, beside *queue.Error. Compare them with errors.Is.
var (
	// ErrUnavailable: nothing was or will be proposed, because no leader is known or the node
	// starts or stops. Retry later or elsewhere.
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
