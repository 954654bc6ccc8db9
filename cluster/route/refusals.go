package route

import (
	"fmt"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// UpgradeNeededError refuses a command that some node could not read. Nothing was written. It is an
// ErrUnavailable.
type UpgradeNeededError struct{ Reason string }

// Error returns the reason, and its consequence for the command.
func (e *UpgradeNeededError) Error() string {
	return "the cluster cannot do this yet: " + e.Reason + "; nothing was written"
}

// Unwrap makes it an ErrUnavailable.
func (e *UpgradeNeededError) Unwrap() error { return fault.ErrUnavailable }

// upgradeNeeded ends a request that the leader refused for its format. The leader gives the
// reason only for a request that raises the format.
func (rt *Router) upgradeNeeded(r *request, reason string) *UpgradeNeededError {
	if reason == "" {
		reason = fmt.Sprintf("it needs format version %d and version %d is in force; when all nodes run this program, seriatim "+
			"upgrade finalize raises it",
			r.minimumVersion, rt.node.Replica.FormatVersion())
	}
	return &UpgradeNeededError{Reason: reason}
}

// PressureError refuses a send for a temporary reason. Nothing was written. It is an
// ErrOverloaded.
type PressureError struct{ Reason string }

// Error returns the reason, with advice.
func (e *PressureError) Error() string {
	return "sends are refused at the moment: " + e.Reason + "; receives and deletes continue, nothing was written, retry later"
}

// Unwrap makes it an ErrOverloaded.
func (e *PressureError) Unwrap() error { return fault.ErrOverloaded }
