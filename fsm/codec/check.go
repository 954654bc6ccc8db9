package codec

import (
	"crypto/sha256"
	"fmt"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/policy"
)

func checkSend(cmd *queue.SendMessages) error {
	for i := range cmd.Entries {
		if err := checkContentHash(cmd.Entries[i].ContentHash); err != nil {
			return err
		}
	}
	return nil
}

func checkPublish(cmd *queue.Publish) error {
	for i := range cmd.Entries {
		if err := checkContentHash(cmd.Entries[i].ContentHash); err != nil {
			return err
		}
	}
	return nil
}

// checkContentHash refuses a hash of another length: the hash decides which messages are
// duplicates, and may come from a damaged or foreign node.
func checkContentHash(hash []byte) error {
	if len(hash) != 0 && len(hash) != sha256.Size {
		return fmt.Errorf("%w: content hash of %d bytes", format.ErrMalformed, len(hash))
	}
	return nil
}

func checkCreateQueue(cmd *queue.CreateQueue) error     { return checkRedrive(cmd.Policies.Redrive) }
func checkSetQueue(cmd *queue.SetQueueAttributes) error { return checkRedrive(cmd.Policies.Redrive) }

// checkRedrive refuses a receive count that no client can set: with 0, a message would be
// dead-lettered before its first receive, and every node would crash at each start.
func checkRedrive(r *policy.Redrive) error {
	if r != nil && r.Target != "" && (r.MaxReceiveCount < 1 || r.MaxReceiveCount > policy.MaxReceiveCountMax) {
		return fmt.Errorf("%w: a redrive policy with a count of %d", format.ErrMalformed, r.MaxReceiveCount)
	}
	return nil
}
