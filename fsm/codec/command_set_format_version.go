package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// setFormatVersionMessage is the log form of cmd.
func setFormatVersionMessage(cmd *queue.SetFormatVersion) *fsmpb.SetFormatVersion {
	return &fsmpb.SetFormatVersion{Version: cmd.Version}
}

// setFormatVersionCommand is the inverse of setFormatVersionMessage.
func setFormatVersionCommand(m *fsmpb.SetFormatVersion) (*queue.SetFormatVersion, error) {
	return &queue.SetFormatVersion{Version: m.Version}, nil
}
