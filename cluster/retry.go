package cluster

import (
	"context"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// retrySafe reports whether executing r twice is the same as once (decision 10; faults.md
// I12): its line in the table of commands says so. It is asked only when what became of the
// first attempt could not be found out.
func (n *Node) retrySafe(ctx context.Context, r *request) bool {
	repeats := codec.RepeatingOf(r.cmd)
	return repeats.Safe(r.cmd) || repeats.Resend != nil && n.resendSafe(ctx, r, repeats.Resend)
}

// provesNothing reports whether an answer leaves open what an earlier attempt
// of unknown outcome did: a refusal may be the consequence of its success. A
// delete is the exception, as deleting what is deleted is no error, unless it is one
// under a lock.
func (n *Node) provesNothing(r *request, o leader.Outcome) bool {
	if o.Response.Err != nil {
		return true
	}
	switch result := o.Response.Result.(type) {
	case queue.EntriesDone:
		if cmd, deletes := r.cmd.(*queue.DeleteMessages); deletes && cmd.Options == nil {
			return false
		}
		for _, err := range result.Errs {
			if err != nil {
				return true
			}
		}
	case queue.MessagesSent:
		for i := range result.Entries {
			if result.Entries[i].Err != nil {
				return true
			}
		}
	}
	return false
}
