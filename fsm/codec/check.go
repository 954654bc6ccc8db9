package codec

import (
	"crypto/sha256"
	"fmt"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
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

func checkTransaction(cmd *queue.CommitTransaction) error {
	for i := range cmd.Sends {
		if err := checkSend(&cmd.Sends[i]); err != nil {
			return err
		}
	}
	for i := range cmd.Publishes {
		if err := checkPublish(&cmd.Publishes[i]); err != nil {
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
