package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// changeVisibilityMessage is the log form of cmd.
func changeVisibilityMessage(cmd *queue.ChangeMessageVisibility) *fsmpb.ChangeMessageVisibility {
	m := &fsmpb.ChangeMessageVisibility{Queue: cmd.Queue, Batch: cmd.Batch}
	for _, e := range cmd.Entries {
		m.Entries = append(m.Entries, &fsmpb.VisibilityEntry{
			Handle:            e.Handle,
			VisibilityTimeout: given(e.VisibilityTimeout),
		})
	}
	return m
}

// changeVisibilityCommand is the inverse of changeVisibilityMessage.
func changeVisibilityCommand(m *fsmpb.ChangeMessageVisibility) (*queue.ChangeMessageVisibility, error) {
	cmd := &queue.ChangeMessageVisibility{Queue: m.Queue, Batch: m.Batch}
	for _, e := range m.Entries {
		cmd.Entries = append(cmd.Entries, queue.VisibilityEntry{
			Handle:            e.Handle,
			VisibilityTimeout: integer(e.VisibilityTimeout),
		})
	}
	return cmd, nil
}
