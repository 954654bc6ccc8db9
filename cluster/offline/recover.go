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

// RecoveryPlan describes the effect of a recovery from the loss of a majority on this node.
type RecoveryPlan struct {
	NodeID        string   `json:"nodeId"`
	Log           string   `json:"log"` // end of this node's log, as a LogEnd
	ClusterID     string   `json:"clusterId"`
	NewClusterID  string   `json:"newClusterId"`
	Members       []string `json:"members"` // current members, as this node knows them
	Keep          []string `json:"keep"`    // the new voters: nodes with the longest log
	Join          []string `json:"join"`    // remaining nodes that begin empty
	Drop          []string `json:"drop"`    // members that are lost
	Joins         bool     `json:"joins"`   // this node is in Join
	MovedTo       string   `json:"movedTo"` // new place of the data of a node in Join
	SnapshotIndex uint64   `json:"snapshotIndex"`
	LastIndex     uint64   `json:"lastIndex"` // of the longest log: all entries up to here are kept
	LastTerm      uint64   `json:"lastTerm"`
	EndedAt       uint64   `json:"endedAt"` // the last entry of this node's log before damage cut it off; 0: the log is whole
	Repeats       bool     `json:"repeats"` // repeats an interrupted recovery

	logs []string
}

// ErrBadRecovery reports an invalid recovery.
var ErrBadRecovery = errors.New("this recovery is refused")

// PlanRecovery plans a recovery from the ends of the logs of all remaining nodes, including this
// one. It changes nothing.
//
// The nodes with the longest log become the voters, because that log has every acknowledged entry
// that any of them has: a leader of a later term has everything committed before, and of two logs
// that end in one term, the shorter is a prefix of the longer (Raft, leader completeness and log
// matching). A shorter log may contradict the longest, so its node begins empty.
//
// The new cluster id is a hash of the old one and of logs. So nodes with the same plan find each
// other and refuse all others, and lost nodes that return learn that their cluster has ended.
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
		return plan, fmt.Errorf("%w: a recovery with --logs %s was interrupted here; repeat it", ErrBadRecovery,
			strings.Join(begun.Logs, ","))
	}
	for _, member := range survey.Members {
		plan.Members = append(plan.Members, member.NodeID)
		if !slices.Contains(plan.Keep, member.NodeID) && !slices.Contains(plan.Join, member.NodeID) {
			plan.Drop = append(plan.Drop, member.NodeID)
		}
	}
	plan.Joins = slices.Contains(plan.Join, s.NodeID)
	if !plan.Joins { // a node that joins may not know all members
		for _, id := range plan.Keep {
			if !slices.Contains(plan.Members, id) {
				return plan, fmt.Errorf("%w: %s is no member, the members are %v", ErrBadRecovery, id, plan.Members)
			}
		}
	}
	plan.NewClusterID = recoveredClusterID(plan.ClusterID, plan.logs)
	if plan.Joins {
		plan.MovedTo = s.dir.File(storage.ArchiveName(plan.record(begun)))
	}
	return plan, nil
}

func recoveredClusterID(previous string, logs []string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "recovered from %s:%s", previous, strings.Join(logs, ",")))
	return hex.EncodeToString(sum[:8])
}

// record returns the record of a recovery in the data directory, which follows an earlier one.
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

// Recover carries out a plan. A node with the longest log counts the whole log as committed, keeps
// the members of plan.Keep, and begins an epoch. Any other node moves its data away and waits to
// join. An interrupted recovery is repeated with the same plan, or finished by Open; until then the
// node does not start.
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
		return errors.Join(s.closeGroup(), finishJoin(s.dir, record))
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

// finishJoin finishes a recovery on a node that joins.
func finishJoin(dir *storage.Dir, record storage.Recovery) error {
	if err := storage.ResetToJoin(dir, record); err != nil {
		return err
	}
	record.Done = true
	return storage.WriteRecovery(dir, record)
}
