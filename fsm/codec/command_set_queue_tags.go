package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
)

// setQueueTagsMessage is the log form of cmd.
func setQueueTagsMessage(cmd *queue.SetQueueTags) *fsmpb.SetQueueTags {
	return &fsmpb.SetQueueTags{
		Queue:  cmd.Queue,
		Set:    protobuf.TagValues(cmd.Set),
		Remove: cmd.Remove,
	}
}

// setQueueTagsCommand is the inverse of setQueueTagsMessage.
func setQueueTagsCommand(m *fsmpb.SetQueueTags) (*queue.SetQueueTags, error) {
	return &queue.SetQueueTags{
		Queue:  m.Queue,
		Set:    protobuf.Tags(m.Set),
		Remove: m.Remove,
	}, nil
}
