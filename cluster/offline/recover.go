package offline

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// RecoveryPlan says what a recovery from the loss of a majority would do with this node.
type RecoveryPlan struct {
	NodeID        string   `json:"nodeId"`
	Log           string   `json:"log"` // where the log of this node ends, as a LogEnd
	ClusterID     string   `json:"clusterId"`
	NewClusterID  string   `json:"newClusterId"`
	Members       []string `json:"members"` // at present, as far as this node knows
	Keep          []string `json:"keep"`    // the voters from then on: they have the longest log
	Join          []string `json:"join"`    // nodes that are left and begin empty
	Drop          []string `json:"drop"`    // members that are not left
	Joins         bool     `json:"joins"`   // this node is one of Join
	Aside         string   `json:"aside"`   // to where the data of a node that joins are moved
	SnapshotIndex uint64   `json:"snapshotIndex"`
	LastIndex     uint64   `json:"lastIndex"` // of the longest log: everything up to here is kept
	LastTerm      uint64   `json:"lastTerm"`
	EndedAt       uint64   `json:"endedAt"` // the last entry of this node's log before it was cut short; 0: it is whole
	Repeats       bool     `json:"repeats"` // a recovery that was interrupted

	logs []string
}

// ErrBadRecovery means that what is to be recovered makes no sense.
var ErrBadRecovery = errors.New("this recovery is refused")

// PlanRecovery prepares a recovery, given where the logs of all nodes that are left end,
// that of this node among them; it changes nothing. The nodes with the longest log become
// the voters: it has everything that was acknowledged and is on any of them. For a leader
// of a later term has all that was committed before, and of two logs that end in one term
// the shorter is the beginning of the longer (Raft, leader completeness and log matching).
// A shorter log may have entries that contradict the longest, so its node begins empty.
//
// The cluster gets another id, which follows from the old one and from what was given. So
// nodes that were given the same find each other, those that were given anything else do
// not, and the lost ones, should they come back, are told that their cluster has ended.
func (s *Stopped) PlanRecovery(logs []LogEnd) (RecoveryPlan, error) {
	begun, err := storage.ReadRecovery(s.dir)
	if err != nil {
		return RecoveryPlan{}, err
	}
	survey, err := s.group.Survey()
	if err != nil {
		return RecoveryPlan{}, err
	}
	own := s.logEnd(begun, survey.LastTerm, survey.LastIndex)
	plan := RecoveryPlan{
		NodeID: s.NodeID, Log: own.String(), ClusterID: own.ClusterID, Repeats: begun.Interrupted(),
		SnapshotIndex: survey.SnapshotIndex, EndedAt: survey.EndedAt,
	}
	logs, longest, err := checkLogs(logs, own)
	if err != nil {
		return plan, err
	}
	plan.LastIndex, plan.LastTerm = longest[0].Index, longest[0].Term
	for _, end := range logs {
		plan.logs = append(plan.logs, end.String())
		if slices.Contains(longest, end) {
			plan.Keep = append(plan.Keep, end.NodeID)
		} else {
			plan.Join = append(plan.Join, end.NodeID)
		}
	}
	if begun.Interrupted() && !slices.Equal(begun.Logs, plan.logs) {
		return plan, fmt.Errorf("%w: one with --logs %s was interrupted here, repeat that one", ErrBadRecovery, strings.Join(begun.Logs, ","))
	}
	for _, member := range survey.Members {
		plan.Members = append(plan.Members, member.NodeID)
		if !slices.Contains(plan.Keep, member.NodeID) && !slices.Contains(plan.Join, member.NodeID) {
			plan.Drop = append(plan.Drop, member.NodeID)
		}
	}
	plan.Joins = slices.Contains(plan.Join, s.NodeID)
	if !plan.Joins { // one that joins may not have heard of all members
		for _, id := range plan.Keep {
			if !slices.Contains(plan.Members, id) {
				return plan, fmt.Errorf("%w: %s is no member, the members are %v", ErrBadRecovery, id, plan.Members)
			}
		}
	}
	plan.NewClusterID = recoveredClusterID(plan.ClusterID, plan.logs)
	if plan.Joins {
		plan.Aside = s.dir.File(storage.ArchiveName(plan.record(begun)))
	}
	return plan, nil
}

func recoveredClusterID(previous string, logs []string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "recovered from %s:%s", previous, strings.Join(logs, ",")))
	return hex.EncodeToString(sum[:8])
}

// record holds what the data directory keeps of a recovery, after an earlier one.
func (p RecoveryPlan) record(earlier storage.Recovery) storage.Recovery {
	r := storage.Recovery{
		NodeID: p.NodeID, ClusterID: p.NewClusterID, Previous: p.ClusterID, Members: p.Keep, Logs: p.logs, Joins: p.Joins,
		LastIndex: p.LastIndex, LastTerm: p.LastTerm, Earlier: earlier.Earlier,
	}
	if earlier.Done {
		r.Earlier = append(slices.Clone(earlier.Earlier), earlier.Previous)
	}
	return r
}

// Recover carries a plan out. On a node with the longest log everything in it counts as
// committed, the members are those to keep, and the state begins an epoch. Another one
// gets an empty directory and waits to join; its data are moved aside. An interrupted
// recovery is repeated with the same plan, or finished by Open; until then the node does
// not start.
func (s *Stopped) Recover(plan RecoveryPlan) (err error) {
	defer catchFailure(&err)
	earlier, err := storage.ReadRecovery(s.dir)
	if err != nil {
		return err
	}
	record := plan.record(earlier)
	if err := storage.WriteRecovery(s.dir, record); err != nil {
		return err
	}
	if plan.Joins {
		return errors.Join(s.closeGroup(), finishReset(s.dir, record))
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

// finishReset completes the rest of a recovery of a node that joins.
func finishReset(dir *storage.Dir, record storage.Recovery) error {
	if err := storage.ResetToJoin(dir, record); err != nil {
		return err
	}
	record.Done = true
	return storage.WriteRecovery(dir, record)
}
