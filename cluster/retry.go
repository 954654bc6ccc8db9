package cluster

import (
	"context"
	"strings"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/queue"
)

// fifoSuffix ends the name of every FIFO queue and of no other.
const fifoSuffix = ".fifo"

// retrySafe reports whether executing r twice is the same as once (README,
// decision 10; faults.md I12). It is asked only when what became of the first
// attempt could not be found out.
func (n *Node) retrySafe(ctx context.Context, r *request) bool {
	switch cmd := r.cmd.(type) {
	case *queue.ReceiveMessages:
		return cmd.AttemptIDGiven && cmd.AttemptID != "" && strings.HasSuffix(cmd.Queue, fifoSuffix)
	case *queue.AcceptSession:
		return cmd.AttemptIDGiven
	case *queue.SendMessages, *queue.Publish:
		return n.resendSafe(ctx, r)
	case *queue.DeleteMessages, *queue.ChangeMessageVisibility, *queue.AdvanceClock:
		return true // not what sets attributes or tags: another client may have set others since
	case *queue.Defer, *queue.DeadLetter, *queue.CancelScheduled, *queue.RenewSession, *queue.ReleaseSession, *queue.SetSessionState:
		return true // only a holder of the lock, or nobody, could have done something since
	default:
		return false
	}
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
