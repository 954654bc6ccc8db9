package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// setClusterSettingMessage is the log form of cmd.
func setClusterSettingMessage(cmd *queue.SetClusterSetting) *fsmpb.SetClusterSetting {
	return &fsmpb.SetClusterSetting{
		Name:  cmd.Name,
		Value: cmd.Value,
	}
}

// setClusterSettingCommand is the inverse of setClusterSettingMessage.
func setClusterSettingCommand(m *fsmpb.SetClusterSetting) (*queue.SetClusterSetting, error) {
	return &queue.SetClusterSetting{
		Name:  m.Name,
		Value: m.Value,
	}, nil
}
