package codec

import (
	"fmt"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

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
