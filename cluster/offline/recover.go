package offline

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// RecoveryPlan says what a recovery from the loss of a majority would do.
type RecoveryPlan struct {
	NodeID        string   `json:"nodeId"`
	ClusterID     string   `json:"clusterId"`
	NewClusterID  string   `json:"newClusterId"` // empty as long as lastTerm is not given
	Members       []string `json:"members"`      // at present
	Keep          []string `json:"keep"`
	Drop          []string `json:"drop"`
	SnapshotIndex uint64   `json:"snapshotIndex"`
	LastIndex     uint64   `json:"lastIndex"` // everything up to here is kept
	LastTerm      uint64   `json:"lastTerm"`
	EndedAt       uint64   `json:"endedAt"` // the last entry of the log before it was cut short; 0: it is whole
	Repeats       bool     `json:"repeats"` // a recovery that was interrupted
}

// ErrBadRecovery means that the members to keep make no sense.
var ErrBadRecovery = errors.New("this recovery is refused")

// PlanRecovery prepares a recovery that leaves the given members, this node among
// them; none means this node alone. It changes nothing. With several members lastTerm
// is the latest of the terms in which their logs end, 0 as long as it is not known. All
// that is in their logs counts afterwards, so the logs must not contradict each other:
// those that end in the same term do not, as the shorter is the beginning of the longer
// (Raft, log matching), and a node whose log ends in an earlier one is refused.
//
// The cluster gets another id, which follows from the old one, the members that stay and
// that term. So nodes recovered alike find each other, and the lost ones, should they
// come back, are strangers: they could have a majority among themselves and would go on
// with the old log.
func (s *Stopped) PlanRecovery(keep []string, lastTerm uint64) (RecoveryPlan, error) {
	keep = slices.Clone(keep)
	if len(keep) == 0 {
		keep = []string{s.NodeID}
	}
	slices.Sort(keep)
	keep = slices.Compact(keep)
	plan := RecoveryPlan{NodeID: s.NodeID, ClusterID: s.ClusterID, Keep: keep}
	if !slices.Contains(keep, s.NodeID) {
		return plan, fmt.Errorf("%w: node %s is not among the members to keep: run it on those that are", ErrBadRecovery, s.NodeID)
	}
	begun, err := storage.ReadRecovery(s.dir)
	if err != nil {
		return plan, err
	}
	if begun.ClusterID != "" && !begun.Done {
		if !slices.Equal(begun.Members, keep) {
			return plan, fmt.Errorf("%w: a recovery that keeps %v was interrupted here, repeat that one", ErrBadRecovery, begun.Members)
		}
		plan.ClusterID, plan.Repeats = begun.Previous, true
	}
	survey, err := s.group.Survey()
	if err != nil {
		return plan, err
	}
	plan.SnapshotIndex, plan.LastIndex, plan.LastTerm, plan.EndedAt = survey.SnapshotIndex, survey.LastIndex, survey.LastTerm, survey.EndedAt
	for _, member := range survey.Members {
		plan.Members = append(plan.Members, member.NodeID)
		if !slices.Contains(keep, member.NodeID) {
			plan.Drop = append(plan.Drop, member.NodeID)
		}
	}
	for _, id := range keep {
		if !slices.Contains(plan.Members, id) {
			return plan, fmt.Errorf("%w: %s is no member, the members are %v", ErrBadRecovery, id, plan.Members)
		}
	}
	if len(keep) == 1 {
		lastTerm = plan.LastTerm
	}
	switch {
	case plan.Repeats:
		plan.NewClusterID = begun.ClusterID
	case lastTerm == 0:
	case lastTerm != plan.LastTerm:
		return plan, fmt.Errorf("%w: the log of this node ends in term %d, not in %d: keep the members whose logs end in the latest term of all, and start the others with empty data directories",
			ErrBadRecovery, plan.LastTerm, lastTerm)
	default:
		plan.NewClusterID = recoveredClusterID(plan.ClusterID, keep, lastTerm)
	}
	return plan, nil
}

func recoveredClusterID(previous string, keep []string, lastTerm uint64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "recovered from %s:%s in %d", previous, storage.ClusterIDOf(keep), lastTerm))
	return hex.EncodeToString(sum[:8])
}

// Recover carries a plan out: everything in the log of this node counts as
// committed, the members are those to keep, and the state begins an epoch. An
// interrupted recovery is repeated with the same members; until then the node
// does not start.
func (s *Stopped) Recover(plan RecoveryPlan) (err error) {
	defer catchFailure(&err)
	if plan.NewClusterID == "" {
		return fmt.Errorf("%w: the latest term in which the logs of %v end is not given", ErrBadRecovery, plan.Keep)
	}
	record := storage.Recovery{
		ClusterID: plan.NewClusterID, Previous: plan.ClusterID, Members: plan.Keep,
		LastIndex: plan.LastIndex, LastTerm: plan.LastTerm,
	}
	if err := storage.WriteRecovery(s.dir, record); err != nil {
		return err
	}
	recovery := consensus.Recovery{NodeID: s.NodeID, Members: plan.Keep, ClusterID: plan.NewClusterID, Machine: s.newMachine()}
	if err := s.group.Recover(recovery); err != nil {
		return err
	}
	if err := s.dir.SetMembership(storage.Membership{ClusterID: plan.NewClusterID, InitialMembers: plan.Keep}); err != nil {
		return err
	}
	record.Done = true
	return storage.WriteRecovery(s.dir, record)
}
