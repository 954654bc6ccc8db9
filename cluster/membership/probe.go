package membership

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cluster/peernet"
)

// A list of members shows their health at the time of the request. The last answers to heartbeats
// are too old for that: a node that died since would still count as healthy. So the node that
// serves the request probes all others at the same time.

// probeBudget bounds a probe. It is long for a network and short for a person, and a leader
// sends several heartbeats to each member within it.
const probeBudget = 750 * time.Millisecond

// probed is the outcome of one probe.
type probed struct {
	answer Answer
	err    error
}

// askNodes sends the same request to all these nodes.
func (c *Coordinator) askNodes(ctx context.Context, nodeIDs []string, r Request) map[string]probed {
	r.From, r.Cluster, r.Final = c.node.NodeID, c.clusterID(), true
	ctx, cancel := context.WithTimeout(ctx, probeBudget)
	defer cancel()
	var mu sync.Mutex
	var asking sync.WaitGroup
	found := make(map[string]probed, len(nodeIDs))
	for _, id := range nodeIDs {
		asking.Go(func() {
			var p probed
			p.answer, p.err = peernet.Ask[Answer](ctx, c.node.Network, id, peernet.KindMembership, 0, r)
			mu.Lock()
			defer mu.Unlock()
			found[id] = p
		})
	}
	asking.Wait()
	return found
}

// probe updates a list with the answers of its nodes.
func (c *Coordinator) probe(ctx context.Context, list *MemberList) {
	var ids []string
	for _, m := range list.Members {
		if m.NodeID != c.node.NodeID {
			ids = append(ids, m.NodeID)
		}
	}
	for _, w := range list.Waiting {
		ids = append(ids, w.NodeID)
	}
	begin := c.node.Clock.Monotonic()
	found := c.askNodes(ctx, ids, Request{Op: OpProbe})
	took := c.node.Clock.Monotonic() - begin
	leads := list.LeaderID == c.node.NodeID
	// A new leader may not have answers from all members yet.
	begun := begin-time.Duration(c.leadsSince.Load()) < c.silenceMax()
	for i := range list.Members {
		m := &list.Members[i]
		name := list.label(m)
		p, asked := found[m.NodeID]
		if !asked {
			m.Drained, m.Asked, m.Admin, m.Encryption = c.drained.Load(), true, hosted(c.node.AdminURL, m.Address), c.node.Encryption()
			list.found(name, c.node.Findings()...)
			continue
		}
		// A busy machine may answer the probe too late but a heartbeat in time.
		age, known := c.node.Group.SinceHeard(m.NodeID)
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
			m.Note = fmt.Sprintf("answers, but has confirmed nothing for %v",
				(time.Duration(m.LastContactMs) * time.Millisecond).Round(time.Second))
		case !m.Healthy:
			m.Note = "answers, but has confirmed nothing to this leader yet"
		}
		m.Drained, m.Asked, m.Admin = p.answer.Drained, len(p.answer.Findings) > 0, hosted(p.answer.Admin, m.Address)
		m.Encryption = p.answer.Encryption
		list.found(name, p.answer.Findings...)
		if !m.Asked {
			list.found(name, health.Found(health.Members, "", 1, "returns no measurements: its program is older"))
		}
	}
	waiting := []WaitingNode{}
	for _, w := range list.Waiting {
		// A node of an earlier version refuses the probe.
		if p := found[w.NodeID]; p.err == nil && (p.answer.Waiting || p.answer.Verdict != Done) {
			waiting = append(waiting, w)
		}
	}
	list.Waiting = waiting
}

// probeFailure returns the innermost cause, in the words of the operating system.
func probeFailure(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %v", probeBudget)
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// label names a member: by its id if another member has the same name, such as a node before
// its disk was replaced.
func (l *MemberList) label(m *MemberStatus) string {
	for i := range l.Members {
		if other := &l.Members[i]; other.Name == m.Name && other.NodeID != m.NodeID {
			return m.NodeID
		}
	}
	return m.Name
}

// hosted returns a URL, with the host of another address if it has none of its own.
func hosted(address, other string) string {
	u, err := url.Parse(address)
	host, _, bad := net.SplitHostPort(other)
	if err != nil || bad != nil || address == "" || u.Hostname() != "" {
		return address
	}
	u.Host = net.JoinHostPort(host, u.Port())
	return u.String()
}
