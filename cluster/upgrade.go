package cluster

import (
	"context"
	"fmt"
	"strings"

	"github.com/seriatimq/seriatim/cluster/discovery"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// Upgrade says which format of commands and snapshots the cluster uses and which
// it could use. Its JSON form is a contract with other programs.
//
// Nodes of two versions work together as long as the older format is in force. Every
// node can go back to the older program until the format is raised, and none can
// afterwards (raft.md A10).
type Upgrade struct {
	FormatVersion uint32          `json:"formatVersion"` // in force
	Possible      uint32          `json:"possible"`      // the highest that all members can read; 0: unknown
	Newest        uint32          `json:"newest"`        // the highest that any member can read
	Ready         bool            `json:"ready"`         // Possible is above FormatVersion
	Members       []UpgradeMember `json:"members"`
	// Missing says why Newest is not possible, empty if it is.
	Missing string `json:"missing,omitempty"`
}

// UpgradeMember is what one member can do.
type UpgradeMember struct {
	NodeID  string `json:"nodeId"`
	Name    string `json:"name"`
	Version string `json:"version"` // of its program, empty if unknown
	// FormatMax is the highest format it can read, as told on a connection to this
	// node or else by gossip; 0 while that is unknown.
	FormatMax uint32 `json:"formatMax"`
}

// Upgrade describes what this node knows of the members of the replicated configuration.
// A node that only gossip knows is no member, and a member that is not heard of counts
// as one that can read no format.
func (n *Node) Upgrade() Upgrade {
	u := Upgrade{FormatVersion: n.replica.FormatVersion(), Members: []UpgradeMember{}}
	heard := map[string]discovery.Member{n.process.nodeID: n.process.describe()}
	for _, m := range n.process.gossip.View() {
		if m.Alive {
			heard[m.NodeID] = m
		}
	}
	lowest, behind, silent := uint32(0), []string(nil), []string(nil)
	for _, m := range n.group.Stats().Members {
		seen := heard[m.NodeID]
		member := UpgradeMember{NodeID: m.NodeID, Name: m.Name, Version: seen.Version, FormatMax: seen.Format}
		if said := n.process.network.FormatMaxOf(m.NodeID); said != 0 {
			member.FormatMax = said // newer than what gossip tells
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

// FinalizeUpgrade raises the format to the highest that all members can read. The
// error is a *MembershipRefusal if they cannot read a higher one than now.
func (n *Node) FinalizeUpgrade(ctx context.Context) (Upgrade, error) {
	u := n.Upgrade()
	switch {
	case u.FormatVersion >= u.Newest && u.Missing == "":
		return u, nil
	case !u.Ready:
		return u, refused(RefusedUnsafe, "upgrade or start these nodes first, or remove them from the cluster",
			"format version %d stays in force: %s", u.FormatVersion, u.Missing)
	}
	if _, err := n.Submit(ctx, &queue.SetFormatVersion{Version: u.Possible}); err != nil {
		return u, fmt.Errorf("raising the format version to %d: %w", u.Possible, err)
	}
	n.log.Info("the format version was raised", "version", u.Possible)
	return n.Upgrade(), nil
}

// initialFormat is the format a new cluster begins with: the highest that all initial
// members that are heard of can read.
func (n *Node) initialFormat() uint32 {
	format := n.cfg.Log.FormatMax
	for _, m := range n.Upgrade().Members {
		if m.FormatMax > 0 {
			format = min(format, m.FormatMax)
		}
	}
	return format
}

// raiseRefusal is why the leader does not write a SetFormatVersion now. It checks every
// one, whoever sent it: an entry that some member cannot read would stop that member.
func (n *Node) raiseRefusal(frame []byte) string {
	cmd, err := codec.DecodeCommand(frame)
	raise, ok := cmd.(*queue.SetFormatVersion)
	if err != nil || !ok {
		return ""
	}
	if u := n.Upgrade(); raise.Version > u.Possible {
		return strings.TrimSuffix(fmt.Sprintf("format version %d is not for all members yet, version %d is; %s", raise.Version, u.Possible, u.Missing), "; ")
	}
	return ""
}

// UpgradeNeededError says why a command was not written that not all nodes could read. It
// is an ErrUnavailable.
type UpgradeNeededError struct{ Reason string }

// Error is the reason, with what that means for the command.
func (e *UpgradeNeededError) Error() string {
	return "the cluster cannot do this yet: " + e.Reason + "; nothing was written"
}

// Unwrap makes it an ErrUnavailable.
func (e *UpgradeNeededError) Unwrap() error { return fault.ErrUnavailable }

// upgradeNeeded is the end of a request that the leader did not take for its format. Of
// one that raises the format, the leader says what is in the way.
func (n *Node) upgradeNeeded(r *request, reason string) *UpgradeNeededError {
	if reason == "" {
		reason = fmt.Sprintf("it needs format version %d and version %d is in force; when all nodes run this program, seriatim upgrade finalize raises it",
			r.minimumVersion, n.replica.FormatVersion())
	}
	return &UpgradeNeededError{Reason: reason}
}
