package cluster

import (
	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/membership"
)

// watchMetrics appends the metrics of audits, clocks, format versions and pressure.
func (n *Node) watchMetrics(metrics []Metric) []Metric {
	add := func(kind MetricKind, name, help string, value float64, labels ...MetricLabel) {
		metrics = append(metrics, Metric{Name: name, Help: help, Kind: kind, Value: value, Labels: labels})
	}
	n.auditor.Outcomes(func(outcome string, count uint64) {
		add(Counter, "seriatim_audit_rounds_total", "Comparisons of the replicas, by result.", float64(count),
			MetricLabel{"result", outcome})
	})
	add(Gauge, "seriatim_audit_last_index", "Log index of the newest comparison of the replicas.", float64(n.auditor.LastIndex()))
	add(Gauge, "seriatim_audit_alarm", "1 while two replicas differ and no majority says which is right.", number(n.auditor.Split()))
	clocks, members := n.process.clocks, n.group.Stats().Members
	for _, m := range members {
		if ahead, known := clocks.Skews()[m.NodeID]; known {
			add(Gauge, "seriatim_clock_skew_seconds", "How far the clock of another voter is ahead of this node's.", ahead.Seconds(),
				peerLabel(m, members))
		}
	}
	add(Gauge, "seriatim_clock_off_seconds", "How far this node's clock is from the median of a majority; 0 while that is within the "+
		"bound.", clocks.Off().Seconds())
	upgrade := n.Upgrade()
	add(Gauge, "seriatim_format_version", "Format of commands and snapshots in force.", float64(upgrade.FormatVersion))
	add(Gauge, "seriatim_format_version_possible", "Highest format that all members can read; 0 while one of them does not "+
		"report its format.", float64(upgrade.Possible))
	p := n.pressure
	if t := n.term.Load(); t != nil {
		bytes, commands := t.Queued()
		add(Gauge, "seriatim_proposal_queue_bytes", "Bytes of requests that wait at this node, the leader, to be written.", float64(bytes))
		add(Gauge, "seriatim_proposal_queue_requests", "Requests that wait at this node, the leader, to be written.", float64(commands))
	}
	for _, reason := range []struct {
		name    string
		present bool
	}{
		{pressureState, p.stateFull()},
		{pressureDisk, p.diskLevel() >= membership.DiskLow || p.membersLow.Load()},
		{pressureDivergence, n.auditor.Split()},
		{pressureQueue, n.proposalsFull()},
	} {
		add(Gauge, "seriatim_pressure", "1 while there is a reason for this node, if it leads, to refuse sends.", number(reason.present),
			MetricLabel{"reason", reason.name})
	}
	for _, reason := range []struct {
		name  string
		count uint64
	}{
		{pressureState, p.refused.state.Load()},
		{pressureDisk, p.refused.disk.Load()},
		{pressureDivergence, p.refused.divergence.Load()},
		{pressureQueue, n.Counts.Overloads.Load()},
	} {
		add(Counter, "seriatim_pressure_refused_total", "Sends that this node, the leader, refused; with the reason queue: commands "+
			"of its clients that the leader had no room for.", float64(reason.count), MetricLabel{"reason", reason.name})
	}
	add(Gauge, "seriatim_state_bytes", "Estimated memory that the replicated state takes.", float64(p.stateBytes.Load()))
	add(Gauge, "seriatim_state_bytes_max", "Size of the state at which sends are refused; 0: no limit.", float64(p.limits.StateBytes))
	add(Gauge, "seriatim_disk_free_bytes", "Free space of the file system with the data directory.", float64(p.free.Load()))
	add(Gauge, "seriatim_disk_used_bytes", "Space of the file system with the data directory that is not free.",
		float64(p.total.Load()-min(p.total.Load(), p.free.Load())))
	add(Gauge, "seriatim_disk_total_bytes", "Size of the file system with the data directory.", float64(p.total.Load()))
	return metrics
}

// peerLabel names a member: by its id if another member has the same name, such as a node before
// its disk was replaced.
func peerLabel(peer consensus.Member, members []consensus.Member) MetricLabel {
	for _, m := range members {
		if m.Name == peer.Name && m.NodeID != peer.NodeID {
			return MetricLabel{"peer", peer.NodeID}
		}
	}
	return MetricLabel{"peer", peer.Name}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
