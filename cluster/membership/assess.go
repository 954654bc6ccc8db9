package membership

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// unanswered returns the value of health.Members for a silent member: 1 (a warning) for a learner, 2
// (critical) for a voter.
func unanswered(m *MemberStatus) float64 {
	if m.Role == RoleLearner {
		return 1
	}
	return 2
}

// found adds findings of a member, or of the cluster if the name is empty.
func (l *MemberList) found(name string, findings ...health.Finding) {
	for _, f := range findings {
		f.Node = name
		l.Findings = append(l.Findings, f)
	}
}

// assess derives the summary, the warnings and the number of nodes that may fail.
func (l *MemberList) assess(waitsFor string) {
	voters, answering := l.voters("")
	leader, behind, lagKnown := "", 0, true
	for _, m := range l.Members {
		if m.NodeID == l.LeaderID && m.Healthy {
			leader = m.Name
		}
		if m.Role == RoleLearner || !m.Healthy {
			continue
		}
		lagKnown = lagKnown && m.LagEntries >= 0
		if m.LagEntries >= 0 && m.NodeID != l.LeaderID {
			l.found("", health.Found(health.Lag, m.Name, float64(m.LagEntries), "%s is %d log entries behind the leader", m.Name,
				m.LagEntries))
		}
		if m.LagEntries > LagMax {
			behind++
		}
	}
	spare := answering - quorum(voters)
	l.MayFail = max(0, spare)
	l.Healthy = false
	l.Warnings = append(votersWarning(voters), health.Sentences(l.Findings)...)
	critical := criticalChecks(l.Findings, answering == voters)
	reached := fmt.Sprintf("%d of %d voters answer", answering, voters)
	switch {
	case voters == 0:
		l.MayFail = 0
		l.Summary = "No cluster yet: " + waitsFor
		if waitsFor == "" {
			l.Summary = "No cluster yet"
		}
	case leader == "" && l.LeaderID != "":
		l.MayFail = 0
		l.Summary = fmt.Sprintf("No leader: %s does not answer; %s, %d are needed", storage.NodeNameOf(l.LeaderID), reached, quorum(voters))
	case leader == "":
		l.MayFail = 0
		l.Summary = fmt.Sprintf("No leader: %s, %d are needed", reached, quorum(voters))
	case spare < 0:
		l.Summary = fmt.Sprintf("No majority: %s, %d are needed, leader %s", reached, quorum(voters), leader)
	case answering < voters:
		l.Summary = fmt.Sprintf("%s: %s, leader %s; %s", cmp.Or(critical, "Degraded"), reached, leader, mayFail(spare, "further "))
	default:
		l.Healthy = critical == ""
		state := ""
		switch {
		case behind > 0:
			state = fmt.Sprintf(", %d catching up", behind)
		case lagKnown:
			state = ", all caught up"
		}
		l.Summary = fmt.Sprintf("%s: %s, leader %s%s; %s", cmp.Or(critical, "Healthy"), reached, leader, state, mayFail(spare, ""))
	}
	l.assessQuorum(leader != "" && spare >= 0, voters)
}

// criticalChecks names the checks that are critical in a cluster with a leader, empty if none
// is. The summary counts silent members.
func criticalChecks(findings []health.Finding, allAnswer bool) string {
	names := slices.DeleteFunc(health.CriticalChecks(findings), func(name string) bool { return name == health.Members && !allAnswer })
	switch {
	case slices.Contains(names, health.Sends):
		return "Sends are refused"
	case len(names) > 0:
		return "Critical (" + strings.Join(names, ", ") + ")"
	}
	return ""
}

// assessQuorum adds the number of voters that may fail as a finding: -1 without a quorum.
func (l *MemberList) assessQuorum(has bool, voters int) {
	value, text := float64(l.MayFail), l.Summary
	if !has {
		value = -1
	}
	if l.MayFail == 0 && l.Healthy { // the voters are too few: all nodes run
		text = votersWarning(voters)[0]
	}
	l.found("", health.Found(health.Quorum, "", value, "%s", text))
}

func mayFail(nodes int, further string) string {
	switch nodes {
	case 0:
		return "no " + further + "node may fail"
	case 1:
		return "1 " + further + "node may fail"
	default:
		return fmt.Sprintf("%d %snodes may fail", nodes, further)
	}
}

// votersWarning warns about numbers of voters to avoid: an even one survives no more
// failures than the odd one below it, and needs one more node to agree.
func votersWarning(voters int) []string {
	switch {
	case voters == 1:
		return []string{"there is 1 voter, so nothing may fail: two more nodes make it three voters, of which one may fail"}
	case voters == 2:
		return []string{"2 voters survive no failure, and both must run: add a third"}
	case voters > 0 && voters%2 == 0:
		return []string{fmt.Sprintf("%d voters survive as many failures as %d, but each write waits for one more node: add or "+
			"remove a node", voters, voters-1)}
	}
	return []string{}
}

// WaitsFor returns the reason why this node is not part of a cluster yet; empty if it is.
func (c *Coordinator) WaitsFor() string {
	if c.node.Bootstrap.HasState() {
		return ""
	}
	if reason := c.joinWaits.Load(); reason != nil && *reason != "" {
		return *reason
	}
	return cmp.Or(c.node.Bootstrap.Missing(), "looking for the other nodes")
}

// awaited names the initial members that are here, and the addresses at which to find the others.
func awaited(nodeIDs, join []string, expect int) string {
	names, verb := make([]string, len(nodeIDs)), "are"
	for i, id := range nodeIDs {
		names[i] = storage.NodeNameOf(id)
	}
	slices.Sort(names)
	if len(names) == 1 {
		verb = "is"
	}
	text := fmt.Sprintf("waiting for %d of %d initial members: %s %s here", expect-len(names), expect, strings.Join(names, ", "), verb)
	if len(join) > 0 {
		text += ", looking for more at " + strings.Join(join, ", ")
	}
	return text
}
