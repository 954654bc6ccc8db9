package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
)

// sendMessagesMessage is the log form of cmd.
func sendMessagesMessage(cmd *queue.SendMessages) *fsmpb.SendMessages {
	m := &fsmpb.SendMessages{
		Queue:    cmd.Queue,
		SenderId: cmd.SenderID,
		Batch:    cmd.Batch,

		RepeatedSince: int64(cmd.RepeatedSince),
		Streamed:      cmd.Streamed,
	}
	if len(cmd.Entries) == 0 {
		return m
	}
	m.Entries = make([]*fsmpb.SendEntry, len(cmd.Entries))
	for i := range cmd.Entries {
		e := &cmd.Entries[i]
		m.Entries[i] = &fsmpb.SendEntry{
			Body:            e.Body,
			Attributes:      protobuf.MessageAttributeValues(e.Attributes),
			TraceHeader:     e.TraceHeader,
			GroupId:         givenText(e.GroupID, e.GroupIDGiven),
			DeduplicationId: givenText(e.DeduplicationID, e.DeduplicationIDGiven),
			DelaySeconds:    given(e.DelaySeconds),
			ContentHash:     e.ContentHash,
			Options:         sendOptionsMessage(e.Options),
		}
	}
	return m
}

// sendMessagesCommand is the inverse of sendMessagesMessage.
func sendMessagesCommand(m *fsmpb.SendMessages) (*queue.SendMessages, error) {
	cmd := &queue.SendMessages{Queue: m.Queue, SenderID: m.SenderId, Batch: m.Batch, RepeatedSince: queue.Timestamp(m.RepeatedSince), Streamed: m.Streamed}
	if len(m.Entries) == 0 {
		return cmd, nil
	}
	cmd.Entries = make([]queue.SendEntry, len(m.Entries))
	for i, e := range m.Entries {
		entry := &cmd.Entries[i]
		entry.Body = e.Body
		entry.Attributes = protobuf.MessageAttributes(e.Attributes)
		entry.TraceHeader = e.TraceHeader
		entry.GroupID, entry.GroupIDGiven = text(e.GroupId)
		entry.DeduplicationID, entry.DeduplicationIDGiven = text(e.DeduplicationId)
		entry.DelaySeconds = integer(e.DelaySeconds)
		entry.Options = sendOptions(e.Options)
		if err := checkContentHash(e.ContentHash); err != nil {
			return nil, err
		}
		if len(e.ContentHash) > 0 {
			entry.ContentHash = e.ContentHash
		}
	}
	return cmd, nil
}

// receiveMessagesMessage is the log form of cmd.
func receiveMessagesMessage(cmd *queue.ReceiveMessages) *fsmpb.ReceiveMessages {
	return &fsmpb.ReceiveMessages{
		Queue:             cmd.Queue,
		MaxMessages:       given(cmd.MaxMessages),
		VisibilityTimeout: given(cmd.VisibilityTimeout),
		AttemptId:         givenText(cmd.AttemptID, cmd.AttemptIDGiven),
		ShortPoll:         cmd.ShortPoll,
		Options:           receiveOptionsMessage(cmd.Options),
		Streamed:          cmd.Streamed,
	}
}

// receiveMessagesCommand is the inverse of receiveMessagesMessage.
func receiveMessagesCommand(m *fsmpb.ReceiveMessages) (*queue.ReceiveMessages, error) {
	cmd := &queue.ReceiveMessages{
		Queue:             m.Queue,
		MaxMessages:       integer(m.MaxMessages),
		VisibilityTimeout: integer(m.VisibilityTimeout),
		ShortPoll:         m.ShortPoll,
		Options:           receiveOptions(m.Options),
		Streamed:          m.Streamed,
	}
	cmd.AttemptID, cmd.AttemptIDGiven = text(m.AttemptId)
	return cmd, nil
}

// deleteMessagesMessage is the log form of cmd.
func deleteMessagesMessage(cmd *queue.DeleteMessages) *fsmpb.DeleteMessages {
	return &fsmpb.DeleteMessages{
		Queue:   cmd.Queue,
		Batch:   cmd.Batch,
		Handles: cmd.Handles,
		Options: settleOptionsMessage(cmd.Options),

		Streamed: cmd.Streamed,
	}
}

// deleteMessagesCommand is the inverse of deleteMessagesMessage.
func deleteMessagesCommand(m *fsmpb.DeleteMessages) (*queue.DeleteMessages, error) {
	return &queue.DeleteMessages{
		Queue:   m.Queue,
		Batch:   m.Batch,
		Handles: m.Handles,
		Options: settleOptions(m.Options),

		Streamed: m.Streamed,
	}, nil
}

// changeVisibilityMessage is the log form of cmd.
func changeVisibilityMessage(cmd *queue.ChangeMessageVisibility) *fsmpb.ChangeMessageVisibility {
	m := &fsmpb.ChangeMessageVisibility{Queue: cmd.Queue, Batch: cmd.Batch, Options: settleOptionsMessage(cmd.Options)}
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
	cmd := &queue.ChangeMessageVisibility{Queue: m.Queue, Batch: m.Batch, Options: settleOptions(m.Options)}
	for _, e := range m.Entries {
		cmd.Entries = append(cmd.Entries, queue.VisibilityEntry{
			Handle:            e.Handle,
			VisibilityTimeout: integer(e.VisibilityTimeout),
		})
	}
	return cmd, nil
}
