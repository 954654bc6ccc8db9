package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// receiveMessagesMessage is the log form of cmd.
func receiveMessagesMessage(cmd *queue.ReceiveMessages) *fsmpb.ReceiveMessages {
	return &fsmpb.ReceiveMessages{
		Queue:             cmd.Queue,
		MaxMessages:       given(cmd.MaxMessages),
		VisibilityTimeout: given(cmd.VisibilityTimeout),
		AttemptId:         givenText(cmd.AttemptID, cmd.AttemptIDGiven),
		ShortPoll:         cmd.ShortPoll,
	}
}

// receiveMessagesCommand is the inverse of receiveMessagesMessage.
func receiveMessagesCommand(m *fsmpb.ReceiveMessages) (*queue.ReceiveMessages, error) {
	cmd := &queue.ReceiveMessages{
		Queue:             m.Queue,
		MaxMessages:       integer(m.MaxMessages),
		VisibilityTimeout: integer(m.VisibilityTimeout),
		ShortPoll:         m.ShortPoll,
	}
	cmd.AttemptID, cmd.AttemptIDGiven = text(m.AttemptId)
	return cmd, nil
}
