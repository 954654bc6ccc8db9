package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// minimumOfOptions is what the options of a command need that itself is older.
func minimumOfOptions(cmd queue.Command) uint32 {
	const options = 3
	switch c := cmd.(type) {
	case *queue.SendMessages:
		for i := range c.Entries {
			if c.Entries[i].Options != nil {
				return options
			}
		}
	case *queue.ReceiveMessages:
		if c.Options != nil {
			return options
		}
	}
	return 0
}

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
