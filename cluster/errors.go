package cluster

import "errors"

// Errors that Submit, Receive and Read may return beside *queue.Error. They
// are compared with errors.Is.
var (
	// ErrUnavailable: nothing was proposed and nothing will be; retry later
	// or elsewhere (no leader known, node starting or stopping).
	ErrUnavailable = errors.New("no leader is available, nothing was written, retry")
	// ErrOutcomeUnknown: the command may or may not take effect.
	ErrOutcomeUnknown = errors.New("the outcome is unknown: the command may or may not have taken effect")
	// ErrOverloaded: the proposal queue is full; nothing was proposed.
	ErrOverloaded = errors.New("too many requests are waiting to be written, nothing was written, slow down and retry")
	// ErrNotLeader: nothing was proposed because this node does not lead.
	ErrNotLeader = errors.New("this node is not the leader, nothing was written")
)

// ExitCode is the process exit code of a fatal condition. Values are part of
// the operators' contract and documented in README.
type ExitCode int

// Exit codes of conditions after which going on could break a promise.
const (
	ExitDiskError     ExitCode = 80 // a write or sync failed, or a directory is unusable
	ExitDiskHang      ExitCode = 81 // a write did not finish within its deadline
	ExitChecksum      ExitCode = 82 // a log entry, snapshot or stored value is damaged
	ExitStateMismatch ExitCode = 83 // this replica differs from the others
	ExitLostData      ExitCode = 84 // the data directory lost what it must have
	ExitUnknownFormat ExitCode = 85 // an entry or snapshot this version cannot read
	ExitStuckTransfer ExitCode = 86 // a leadership transfer never ended
	ExitRemoved       ExitCode = 87 // this node was removed from the cluster
)
