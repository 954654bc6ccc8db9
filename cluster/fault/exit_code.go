package fault

// ExitCode is the process exit code of a fatal condition, documented in
// docs/reference/exit-codes.md.
type ExitCode int

// Exit codes of conditions in which continuing could break a guarantee.
const (
	ExitDiskError     ExitCode = 80 // a write or sync failed, or a directory is unusable
	ExitDiskHang      ExitCode = 81 // a write did not finish within its deadline
	ExitChecksum      ExitCode = 82 // a log entry, snapshot or stored value is damaged
	ExitStateMismatch ExitCode = 83 // this replica differs from the others
	ExitLostData      ExitCode = 84 // a necessary part of the data directory is missing
	ExitUnknownFormat ExitCode = 85 // an entry or snapshot this version cannot read
	ExitStuckTransfer ExitCode = 86 // a leadership transfer never ended
	ExitRemoved       ExitCode = 87 // this node was removed from the cluster
	ExitOtherHistory  ExitCode = 88 // the cluster continues with another history than this node's
	ExitKeyMissing    ExitCode = 89 // data is encrypted with a key that this node does not have
)
