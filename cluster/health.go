package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// The health of the cluster is as of the request. The last answer to a heartbeat is
// too old for that: a node that died since would still count. So the node that is
// asked probes all others at the same time.

// probeBudget bounds a probe. It is long for a network and short for a person, and
// within it a leader sends several heartbeats to each member.
const probeBudget = 750 * time.Millisecond

// probed is the outcome of one probe.
type probed struct {
	answer membershipAnswer
	err    error
}

// askNodes asks all these nodes the same.
func (n *Node) askNodes(ctx context.Context, nodeIDs []string, r membershipRequest) map[string]probed {
	r.From, r.Cluster, r.Final = n.process.nodeID, n.process.clusterID(), true
	ctx, cancel := context.WithTimeout(ctx, probeBudget)
	defer cancel()
	var mu sync.Mutex
	var asking sync.WaitGroup
	found := make(map[string]probed, len(nodeIDs))
	for _, id := range nodeIDs {
		asking.Go(func() {
			var p probed
			p.answer, p.err = peernet.Ask[membershipAnswer](ctx, n.process.network, id, peernet.KindMembership, 0, r)
			mu.Lock()
			defer mu.Unlock()
			found[id] = p
		})
	}
	asking.Wait()
	return found
}

// probe brings a list up to date with what the nodes on it say now.
func (n *Node) probe(ctx context.Context, list *MemberList) {
	var ids []string
	for _, m := range list.Members {
		if m.NodeID != n.process.nodeID {
			ids = append(ids, m.NodeID)
		}
	}
	for _, w := range list.Waiting {
		ids = append(ids, w.NodeID)
	}
	begin := n.cfg.Clock.Monotonic()
	found := n.askNodes(ctx, ids, membershipRequest{Op: opProbe})
	took := n.cfg.Clock.Monotonic() - begin
	leads := list.LeaderID == n.process.nodeID
	// A new leader has not heard from all members yet.
	begun := begin-time.Duration(n.leadsSince.Load()) < n.silenceMax()
	for i := range list.Members {
		m := &list.Members[i]
		name := list.label(m)
		p, asked := found[m.NodeID]
		if !asked {
			m.Drained, m.Asked, m.Admin, m.Encryption = n.drained.Load(), true, hosted(n.cfg.AdminURL, m.Address), n.encryptionStatus()
			list.found(name, n.findings()...)
			continue
		}
		// A busy machine may answer the probe too late, but a heartbeat in time.
		age, known := n.group.SinceHeard(m.NodeID)
		switch {
		case p.err != nil && (!leads || !known || age > took):
			m.Healthy, m.Note = false, "does not answer: "+probeFailure(p.err)
			list.found(name, health.Found(health.Members, "", unanswered(m), "%s", m.Note))
			continue
		case p.err != nil:
			list.found(name, health.Found(health.Members, "", 1, "could not be asked: %s", probeFailure(p.err)))
			continue
		case !leads, begun:
			m.Healthy = true
		case !m.Healthy && m.LastContactMs >= 0:
			m.Note = fmt.Sprintf("answers, but has confirmed nothing for %v", (time.Duration(m.LastContactMs) * time.Millisecond).Round(time.Second))
		case !m.Healthy:
			m.Note = "answers, but has confirmed nothing to this leader yet"
		}
		m.Drained, m.Asked, m.Admin = p.answer.Drained, len(p.answer.Findings) > 0, hosted(p.answer.Admin, m.Address)
		m.Encryption = p.answer.Encryption
		list.found(name, p.answer.Findings...)
		if !m.Asked {
			list.found(name, health.Found(health.Members, "", 1, "tells nothing about itself: its program is older"))
		}
	}
	waiting := []WaitingNode{}
	for _, w := range list.Waiting {
		// A node of an earlier version does not know the probe.
		if p := found[w.NodeID]; p.err == nil && (p.answer.Waiting || p.answer.Verdict != changeDone) {
			waiting = append(waiting, w)
		}
	}
	list.Waiting = waiting
}

// probeFailure is the innermost cause, as the operating system words it.
func probeFailure(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("nothing came within %v", probeBudget)
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// label names a member: by its id where another has the same name, as a node with a new
// disk has until its former self is removed.
func (l *MemberList) label(m *MemberStatus) string {
	for i := range l.Members {
		if other := &l.Members[i]; other.Name == m.Name && other.NodeID != m.NodeID {
			return m.NodeID
		}
	}
	return m.Name
}

// hosted is a URL with the host of another address, if it has none of its own.
func hosted(address, other string) string {
	u, err := url.Parse(address)
	host, _, bad := net.SplitHostPort(other)
	if err != nil || bad != nil || address == "" || u.Hostname() != "" {
		return address
	}
	u.Host = net.JoinHostPort(host, u.Port())
	return u.String()
}

// unanswered is the value of health.Members for a member that does not answer. The cluster
// does without a learner.
func unanswered(m *MemberStatus) float64 {
	if m.Role == roleLearner {
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

// assess fills in what follows from the members: the summary, and how many more nodes
// may fail.
func (l *MemberList) assess(waitsFor string) {
	voters, answering := l.voters("")
	leader, behind, lagKnown := "", 0, true
	for _, m := range l.Members {
		if m.NodeID == l.LeaderID && m.Healthy {
			leader = m.Name
		}
		if m.Role == roleLearner || !m.Healthy {
			continue
		}
		lagKnown = lagKnown && m.LagEntries >= 0
		if m.LagEntries >= 0 && m.NodeID != l.LeaderID {
			l.found("", health.Found(health.Lag, m.Name, float64(m.LagEntries), "%s is %d log entries behind the leader", m.Name, m.LagEntries))
		}
		if m.LagEntries > learnerLagMax {
			behind++
		}
	}
	spare := answering - quorum(voters)
	l.MayFail = max(0, spare)
	l.Healthy = false
	l.Warnings = append(votersWarning(voters), health.Sentences(l.Findings)...)
	critical := worries(l.Findings, answering == voters)
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

// worries names what is critical although the cluster has a leader, empty if nothing is.
// Members that do not answer are counted in the summary.
func worries(findings []health.Finding, allAnswer bool) string {
	names := slices.DeleteFunc(health.CriticalChecks(findings), func(name string) bool { return name == health.Members && !allAnswer })
	switch {
	case slices.Contains(names, health.Sends):
		return "Sends are refused"
	case len(names) > 0:
		return "Critical (" + strings.Join(names, ", ") + ")"
	}
	return ""
}

// assessQuorum adds how many voters may fail as a finding: fewer than none without a quorum.
func (l *MemberList) assessQuorum(has bool, voters int) {
	value, text := float64(l.MayFail), l.Summary
	if !has {
		value = -1
	}
	if l.MayFail == 0 && l.Healthy { // the voters are too few: no node is away that could be started
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
		return []string{fmt.Sprintf("%d voters survive no more failures than %d, and each write waits for one node more: add one or remove one", voters, voters-1)}
	}
	return []string{}
}

// waitsFor is why this node is not part of a cluster yet; empty if it is.
func (n *Node) waitsFor() string {
	if n.process.bootstrap.hasState() {
		return ""
	}
	for _, reason := range []*string{n.joinWaits.Load(), n.process.bootstrap.missing.Load()} {
		if reason != nil && *reason != "" {
			return *reason
		}
	}
	return "looking for the other nodes"
}

// hereAndMissing says who is here, and where the others are looked for.
func hereAndMissing(nodeIDs, join []string, expect int) string {
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
