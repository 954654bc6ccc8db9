package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// sendOptionsMessage is the log form of options, nil for nil.
func sendOptionsMessage(o *queue.SendOptions) *fsmpb.SendOptions {
	if o == nil {
		return nil
	}
	return &fsmpb.SendOptions{EnqueueAt: int64(o.EnqueueAt), PartitionKey: o.PartitionKey}
}

// sendOptions is the inverse of sendOptionsMessage.
func sendOptions(m *fsmpb.SendOptions) *queue.SendOptions {
	if m == nil {
		return nil
	}
	return &queue.SendOptions{EnqueueAt: queue.Timestamp(m.EnqueueAt), PartitionKey: m.PartitionKey}
}

// receiveOptionsMessage is the log form of options, nil for nil.
func receiveOptionsMessage(o *queue.ReceiveOptions) *fsmpb.ReceiveOptions {
	if o == nil {
		return nil
	}
	return &fsmpb.ReceiveOptions{Session: sessionRefMessage(o.Session), Delete: o.Delete}
}

// receiveOptions is the inverse of receiveOptionsMessage.
func receiveOptions(m *fsmpb.ReceiveOptions) *queue.ReceiveOptions {
	if m == nil {
		return nil
	}
	return &queue.ReceiveOptions{Session: sessionRef(m.Session), Delete: m.Delete}
}

// cancelScheduledMessage is the log form of cmd.
func cancelScheduledMessage(cmd *queue.CancelScheduled) *fsmpb.CancelScheduled {
	return &fsmpb.CancelScheduled{Queue: cmd.Queue, Sequences: numbers(cmd.Sequences), Forget: cmd.ForgetDeduplicationID}
}

// cancelScheduledCommand is the inverse of cancelScheduledMessage.
func cancelScheduledCommand(m *fsmpb.CancelScheduled) (*queue.CancelScheduled, error) {
	return &queue.CancelScheduled{Queue: m.Queue, Sequences: sequences(m.Sequences), ForgetDeduplicationID: m.Forget}, nil
}

// settleOptionsMessage is the log form of options, nil for nil.
func settleOptionsMessage(o *queue.SettlementOptions) *fsmpb.SettleOptions {
	if o == nil {
		return nil
	}
	return &fsmpb.SettleOptions{Session: sessionRefMessage(o.Session)}
}

// settleOptions is the inverse of settleOptionsMessage.
func settleOptions(m *fsmpb.SettleOptions) *queue.SettlementOptions {
	if m == nil {
		return nil
	}
	return &queue.SettlementOptions{Session: sessionRef(m.Session)}
}

// deferMessage is the log form of cmd.
func deferMessage(cmd *queue.Defer) *fsmpb.Defer {
	return &fsmpb.Defer{Queue: cmd.Queue, Session: sessionRefMessage(cmd.Session), Handles: cmd.Handles}
}

// deferCommand is the inverse of deferMessage.
func deferCommand(m *fsmpb.Defer) (*queue.Defer, error) {
	return &queue.Defer{Queue: m.Queue, Session: sessionRef(m.Session), Handles: m.Handles}, nil
}

// receiveDeferredMessage is the log form of cmd.
func receiveDeferredMessage(cmd *queue.ReceiveDeferred) *fsmpb.ReceiveDeferred {
	return &fsmpb.ReceiveDeferred{
		Queue: cmd.Queue, Sequences: numbers(cmd.Sequences), Session: sessionRefMessage(cmd.Session),
		VisibilityTimeout: given(cmd.VisibilityTimeout), Delete: cmd.Delete,
	}
}

// receiveDeferredCommand is the inverse of receiveDeferredMessage.
func receiveDeferredCommand(m *fsmpb.ReceiveDeferred) (*queue.ReceiveDeferred, error) {
	return &queue.ReceiveDeferred{
		Queue: m.Queue, Sequences: sequences(m.Sequences), Session: sessionRef(m.Session),
		VisibilityTimeout: integer(m.VisibilityTimeout), Delete: m.Delete,
	}, nil
}

// deadLetterMessage is the log form of cmd.
func deadLetterMessage(cmd *queue.DeadLetter) *fsmpb.DeadLetter {
	m := &fsmpb.DeadLetter{Queue: cmd.Queue, Session: sessionRefMessage(cmd.Session)}
	for _, e := range cmd.Entries {
		m.Entries = append(m.Entries, &fsmpb.DeadLetterEntry{Handle: e.Handle, Reason: e.Reason, Description: e.Description})
	}
	return m
}

// deadLetterCommand is the inverse of deadLetterMessage.
func deadLetterCommand(m *fsmpb.DeadLetter) (*queue.DeadLetter, error) {
	cmd := &queue.DeadLetter{Queue: m.Queue, Session: sessionRef(m.Session)}
	for _, e := range m.Entries {
		cmd.Entries = append(cmd.Entries, queue.DeadLetterEntry{Handle: e.Handle, Reason: e.Reason, Description: e.Description})
	}
	return cmd, nil
}

// releaseGroupMessage is the log form of cmd.
func releaseGroupMessage(cmd *queue.ReleaseGroup) *fsmpb.ReleaseGroup {
	return &fsmpb.ReleaseGroup{Queue: cmd.Queue, Group: cmd.Group}
}

// releaseGroupCommand is the inverse of releaseGroupMessage.
func releaseGroupCommand(m *fsmpb.ReleaseGroup) (*queue.ReleaseGroup, error) {
	return &queue.ReleaseGroup{Queue: m.Queue, Group: m.Group}, nil
}

// forgetDeduplicationMessage is the log form of cmd.
func forgetDeduplicationMessage(cmd *queue.ForgetDeduplication) *fsmpb.ForgetDeduplication {
	return &fsmpb.ForgetDeduplication{Queue: cmd.Queue, Id: cmd.ID, GroupId: cmd.GroupID, PartitionKey: cmd.PartitionKey}
}

// forgetDeduplicationCommand is the inverse of forgetDeduplicationMessage.
func forgetDeduplicationCommand(m *fsmpb.ForgetDeduplication) (*queue.ForgetDeduplication, error) {
	return &queue.ForgetDeduplication{
		Queue:           m.Queue,
		DeduplicationID: queue.DeduplicationID{ID: m.Id, GroupID: m.GroupId, PartitionKey: m.PartitionKey},
	}, nil
}

func numbers(list []queue.SequenceNumber) []uint64 {
	if len(list) == 0 {
		return nil
	}
	out := make([]uint64, len(list))
	for i, n := range list {
		out[i] = uint64(n)
	}
	return out
}

// sequences is the inverse of numbers.
func sequences(list []uint64) []queue.SequenceNumber {
	if len(list) == 0 {
		return nil
	}
	out := make([]queue.SequenceNumber, len(list))
	for i, n := range list {
		out[i] = queue.SequenceNumber(n)
	}
	return out
}
