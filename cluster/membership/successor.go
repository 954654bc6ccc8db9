package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seriatimq/seriatim/cluster/discovery"
	"github.com/seriatimq/seriatim/cluster/fault"
)

// DiskLevel is the room that the disk of a node has. It travels in gossip.
type DiskLevel uint8

// Levels of a disk.
const (
	DiskEnough DiskLevel = iota
	DiskLow              // sends are refused
	DiskFull             // the node leads only if no other voter can
)

// Candidate is a voter that could lead next.
type Candidate struct {
	NodeID string
	// Unfit is the reason why it would hand leadership over at once, as far as gossip shows;
	// empty if it would keep leadership.
	Unfit   string
	Drained bool
	Answers bool  // it answered this leader a moment ago
	Lag     int64 // entries behind this leader, as of its last answer
}

// Keeps reports whether it would keep leadership.
func (c Candidate) Keeps() bool { return c.Unfit == "" && !c.Drained }

// Successors returns the other voters, the best to lead next first. Voters that answer come
// first, then those that would keep leadership, then those with the longest logs. The
// library's own choice considers only the logs, and waits as long for a voter that is gone.
func (c *Coordinator) Successors() []Candidate {
	heard := map[string]discovery.Member{}
	for _, m := range c.node.Gossip.View() {
		heard[m.NodeID] = m
	}
	var others []Candidate
	for _, m := range c.node.Group.Stats().Members {
		if !m.Voter || m.NodeID == c.node.NodeID {
			continue
		}
		// A follower that is silent for a heartbeat timeout counts as gone.
		recent := m.LastContact >= 0 && time.Duration(m.LastContact)*time.Millisecond <= c.node.Heartbeat
		seen := heard[m.NodeID]
		others = append(others, Candidate{
			NodeID: m.NodeID, Unfit: unfit(seen, c.node.Clocks), Drained: seen.Drained, Answers: recent, Lag: m.LagEntries,
		})
	}
	slices.SortStableFunc(others, func(a, b Candidate) int {
		return cmp.Or(trueFirst(a.Answers, b.Answers), trueFirst(a.Keeps(), b.Keeps()), cmp.Compare(a.Lag, b.Lag))
	})
	return others
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// unfit returns the reason why another voter should not lead, as far as gossip shows; empty
// if there is none.
func unfit(m discovery.Member, clocks *discovery.Clocks) string {
	switch {
	case !m.Alive:
		return "it is silent"
	case DiskLevel(m.Disk) >= DiskFull:
		return "its disk is nearly full"
	case !clocks.MayLead(m.NodeID):
		return "its clock is off (clock-skew-max)"
	}
	return ""
}

// MayLead reports whether gossip shows nothing against a voter as leader.
func MayLead(nodeID string, gossip *discovery.Gossip, clocks *discovery.Clocks) bool {
	return slices.ContainsFunc(gossip.View(), func(m discovery.Member) bool {
		return m.NodeID == nodeID && !m.Drained && unfit(m, clocks) == ""
	})
}

// successorsTried is the number of voters that the leader asks to take over. Then an election
// decides.
const successorsTried = 2

// transferToBest hands leadership to the best successor, or to the next one. A leader that
// has just begun has no answers yet; then the library chooses.
func (c *Coordinator) transferToBest(ctx context.Context) error {
	others := slices.DeleteFunc(c.Successors(), func(s Candidate) bool { return !s.Answers })
	if len(others) == 0 {
		return c.node.Group.TransferLeadership(ctx)
	}
	var err error
	for _, s := range others[:min(len(others), successorsTried)] {
		if err = c.node.Group.TransferTo(ctx, s.NodeID); err == nil {
			return nil
		}
		err = fmt.Errorf("to node %s: %w", s.NodeID, err)
		if ctx.Err() != nil || !c.node.Group.Leadership().Self {
			return err
		}
	}
	return err
}

// TransferTimeout bounds each step of a clean stop that needs other nodes, such as handing
// over leadership. A transfer usually takes less than 100 ms (raft.md B9).
const TransferTimeout = 2 * time.Second

// TransferLeadership hands leadership to the best of the other voters. The error is
// ErrNotLeader if this node does not lead.
func (c *Coordinator) TransferLeadership(ctx context.Context) error {
	return c.transferLeadership(ctx, c.transferToBest)
}

func (c *Coordinator) transferLeadership(ctx context.Context, transfer func(context.Context) error) error {
	if !c.node.Group.Leadership().Self {
		return fault.ErrNotLeader
	}
	release, err := c.node.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := transfer(ctx); err != nil {
		return fmt.Errorf("handing over leadership: %w", err)
	}
	return nil
}

// handOver hands leadership over for a reason that is not a request. It logs failures.
func (c *Coordinator) handOver(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, TransferTimeout)
	defer cancel()
	if err := c.TransferLeadership(ctx); err != nil && !errors.Is(err, fault.ErrNotLeader) {
		c.node.Log.Warn("leadership could not be handed over", "error", err)
	}
}

// OtherVoters counts the voters except this node.
func (c *Coordinator) OtherVoters() int {
	others := 0
	for _, m := range c.node.Group.Stats().Members {
		if m.Voter && m.NodeID != c.node.NodeID {
			others++
		}
	}
	return others
}
