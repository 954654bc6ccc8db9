package codec

import (
	"fmt"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// advanceClockMessage is the log form of AdvanceClock: the time is that of
// the entry, so nothing is left to say.
func advanceClockMessage(*queue.AdvanceClock) *fsmpb.AdvanceClock {
	return &fsmpb.AdvanceClock{}
}

// advanceClockCommand is the inverse of advanceClockMessage.
func advanceClockCommand(*fsmpb.AdvanceClock) (*queue.AdvanceClock, error) {
	return &queue.AdvanceClock{}, nil
}

// setFormatVersionMessage is the log form of cmd.
func setFormatVersionMessage(cmd *queue.SetFormatVersion) *fsmpb.SetFormatVersion {
	return &fsmpb.SetFormatVersion{Version: cmd.Version}
}

// setFormatVersionCommand is the inverse of setFormatVersionMessage.
func setFormatVersionCommand(m *fsmpb.SetFormatVersion) (*queue.SetFormatVersion, error) {
	return &queue.SetFormatVersion{Version: m.Version}, nil
}

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

// auditMessage is the log form of cmd.
func auditMessage(cmd *queue.Audit) *fsmpb.Audit {
	m := &fsmpb.Audit{HashVersion: cmd.HashVersion, Index: cmd.Index}
	for i := range cmd.Reports {
		r := &cmd.Reports[i]
		m.Reports = append(m.Reports, &fsmpb.AuditReport{NodeId: r.NodeID, State: r.State[:], Chain: r.Chain[:]})
	}
	return m
}

// auditCommand is the inverse of auditMessage.
func auditCommand(m *fsmpb.Audit) (*queue.Audit, error) {
	cmd := &queue.Audit{HashVersion: m.HashVersion, Index: m.Index}
	for _, r := range m.Reports {
		report := queue.AuditReport{NodeID: r.NodeId}
		if len(r.State) != len(report.State) || len(r.Chain) != len(report.Chain) {
			return nil, fmt.Errorf("%w: an audit with hashes of %d and %d bytes", format.ErrMalformed, len(r.State), len(r.Chain))
		}
		copy(report.State[:], r.State)
		copy(report.Chain[:], r.Chain)
		cmd.Reports = append(cmd.Reports, report)
	}
	return cmd, nil
}
