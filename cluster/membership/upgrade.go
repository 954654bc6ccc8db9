package membership

import (
	"context"
	"fmt"
	"strings"

	"github.com/seriatimq/seriatim/cluster/discovery"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// Upgrade describes the format of commands and snapshots that the cluster uses, and the
// formats that it could use. Its JSON form is a contract with other programs.
//
// Nodes of two versions work together while the older format is in force. You can go back to
// the older program on any node until the format is raised, and on none afterwards (raft.md
// A10).
type Upgrade struct {
	FormatVersion uint32          `json:"formatVersion"` // in force
	Possible      uint32          `json:"possible"`      // the highest that all members can read; 0: unknown
	Newest        uint32          `json:"newest"`        // the highest that any member can read
	Ready         bool            `json:"ready"`         // Possible is above FormatVersion
	Members       []UpgradeMember `json:"members"`
	// Missing is the reason why Newest is not possible, empty if it is.
	Missing string `json:"missing,omitempty"`
}

// UpgradeMember is the program of one member.
type UpgradeMember struct {
	NodeID  string `json:"nodeId"`
	Name    string `json:"name"`
	Version string `json:"version"` // of its program, empty if unknown
	// FormatMax is the highest format that it reads, from a connection to this node or
	// else from gossip; 0 while that is unknown.
	FormatMax uint32 `json:"formatMax"`
}

// Upgrade describes the members of the replicated configuration as far as this node knows
// them. A silent member counts as one that reads no format.
func (c *Coordinator) Upgrade() Upgrade {
	u := Upgrade{FormatVersion: c.node.Replica.FormatVersion(), Members: []UpgradeMember{}}
	heard := map[string]discovery.Member{c.node.NodeID: {Version: c.node.Version, Format: c.node.FormatMax}}
	for _, m := range c.node.Gossip.View() {
		if m.Alive {
			heard[m.NodeID] = m
		}
	}
	lowest, behind, silent := uint32(0), []string(nil), []string(nil)
	for _, m := range c.node.Group.Stats().Members {
		seen := heard[m.NodeID]
		member := UpgradeMember{NodeID: m.NodeID, Name: m.Name, Version: seen.Version, FormatMax: seen.Format}
		if connected := c.node.Network.FormatMaxOf(m.NodeID); connected != 0 {
			member.FormatMax = connected // newer than gossip
		}
		if len(u.Members) == 0 || member.FormatMax < lowest {
			lowest = member.FormatMax
		}
		u.Newest = max(u.Newest, member.FormatMax)
		u.Members = append(u.Members, member)
	}
	for _, m := range u.Members {
		switch {
		case m.FormatMax == 0:
			silent = append(silent, m.Name)
		case m.FormatMax < u.Newest:
			behind = append(behind, m.Name)
		}
	}
	u.Possible = lowest
	var missing []string
	u.Ready = u.Possible > u.FormatVersion
	if len(behind) > 0 {
		missing = append(missing, "an older program runs on "+strings.Join(behind, ", "))
	}
	if len(silent) > 0 {
		missing = append(missing, "nothing is heard of "+strings.Join(silent, ", "))
	}
	u.Missing = strings.Join(missing, "; ")
	return u
}

// FinalizeUpgrade raises the format to the highest that all members read. The error is a
// *MembershipRefusal if that is the format in force.
func (c *Coordinator) FinalizeUpgrade(ctx context.Context) (Upgrade, error) {
	u := c.Upgrade()
	switch {
	case u.FormatVersion >= u.Newest && u.Missing == "":
		return u, nil
	case !u.Ready:
		return u, refused(RefusedUnsafe, "upgrade or start these nodes first, or remove them from the cluster",
			"format version %d stays in force: %s", u.FormatVersion, u.Missing)
	}
	if err := c.node.Execute(ctx, &queue.SetFormatVersion{Version: u.Possible}); err != nil {
		return u, fmt.Errorf("raising the format version to %d: %w", u.Possible, err)
	}
	c.node.Log.Info("the format version was raised", "version", u.Possible)
	return c.Upgrade(), nil
}

// InitialFormat returns the format that a new cluster begins with: the highest that all
// initial members read, without those that are silent.
func (c *Coordinator) InitialFormat() uint32 {
	format := c.node.FormatMax
	for _, m := range c.Upgrade().Members {
		if m.FormatMax > 0 {
			format = min(format, m.FormatMax)
		}
	}
	return format
}

// RaiseRefusal returns the reason why the leader does not write a SetFormatVersion now,
// empty if it does. It checks those of all nodes: an entry that a member cannot read would
// stop that member.
func (c *Coordinator) RaiseRefusal(frame []byte) string {
	cmd, err := codec.DecodeCommand(frame)
	raise, ok := cmd.(*queue.SetFormatVersion)
	if err != nil || !ok {
		return ""
	}
	u := c.Upgrade()
	if raise.Version <= u.Possible {
		return ""
	}
	reason := fmt.Sprintf("format version %d is not for all members yet, version %d is; %s", raise.Version, u.Possible, u.Missing)
	return strings.TrimSuffix(reason, "; ")
}
