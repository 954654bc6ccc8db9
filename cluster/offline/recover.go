package offline

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm"
)

// RecoveryPlan says what a recovery from the loss of a majority would do.
type RecoveryPlan struct {
	NodeID        string   `json:"nodeId"`
	ClusterID     string   `json:"clusterId"`
	NewClusterID  string   `json:"newClusterId"`
	Members       []string `json:"members"` // at present
	Keep          []string `json:"keep"`
	Drop          []string `json:"drop"`
	SnapshotIndex uint64   `json:"snapshotIndex"`
	LastIndex     uint64   `json:"lastIndex"` // everything up to here is kept
	LastTerm      uint64   `json:"lastTerm"`
	Repeats       bool     `json:"repeats"` // a recovery that was interrupted
}

// ErrBadRecovery means that the members to keep make no sense.
var ErrBadRecovery = errors.New("this recovery is refused")

// PlanRecovery prepares a recovery that leaves the given members, this node among
// them; none means this node alone. It changes nothing.
//
// The cluster gets another id, which follows from the old one and the members
// that stay. So nodes recovered alike find each other, and the lost ones, should
// they come back, are strangers: they could have a majority among themselves and
// would go on with the old log.
func (s *Stopped) PlanRecovery(keep []string) (RecoveryPlan, error) {
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
	members, err := s.survey(&plan)
	if err != nil {
		return plan, err
	}
	for _, server := range members.Servers {
		id := string(server.ID)
		plan.Members = append(plan.Members, id)
		if !slices.Contains(keep, id) {
			plan.Drop = append(plan.Drop, id)
		}
	}
	for _, id := range keep {
		if !slices.Contains(plan.Members, id) {
			return plan, fmt.Errorf("%w: %s is no member, the members are %v", ErrBadRecovery, id, plan.Members)
		}
	}
	plan.NewClusterID = recoveredClusterID(plan.ClusterID, keep)
	return plan, nil
}

func recoveredClusterID(previous string, keep []string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "recovered from %s:%s", previous, storage.ClusterIDOf(keep)))
	return hex.EncodeToString(sum[:8])
}

// survey finds the end of the log and the newest members in it.
func (s *Stopped) survey(plan *RecoveryPlan) (raft.Configuration, error) {
	var members raft.Configuration
	metas, err := s.snapshots.List()
	if err != nil {
		return members, err
	}
	if len(metas) > 0 {
		members = metas[0].Configuration
		plan.SnapshotIndex, plan.LastIndex, plan.LastTerm = metas[0].Index, metas[0].Index, metas[0].Term
	}
	first, last, err := s.LogBounds()
	if err != nil {
		return members, err
	}
	for index := max(first, 1); index <= last; index++ {
		var entry raft.Log
		if err := s.log.GetLog(index, &entry); err != nil {
			return members, fmt.Errorf("entry %d: %w", index, err)
		}
		if index <= plan.SnapshotIndex {
			continue
		}
		plan.LastIndex, plan.LastTerm = entry.Index, entry.Term
		if entry.Type == raft.LogConfiguration {
			members = raft.DecodeConfiguration(entry.Data)
		}
	}
	return members, nil
}

// Recover carries a plan out: everything in the log of this node counts as
// committed, the members are those to keep, and the state begins an epoch. An
// interrupted recovery is repeated with the same members; until then the node
// does not start.
func (s *Stopped) Recover(plan RecoveryPlan) (err error) {
	defer catchFailure(&err)
	record := storage.Recovery{
		ClusterID: plan.NewClusterID, Previous: plan.ClusterID, Members: plan.Keep,
		LastIndex: plan.LastIndex, LastTerm: plan.LastTerm,
	}
	if err := storage.WriteRecovery(s.dir, record); err != nil {
		return err
	}
	if err := s.rewrite(plan); err != nil {
		return err
	}
	if err := s.dir.SetMembership(storage.Membership{ClusterID: plan.NewClusterID, InitialMembers: plan.Keep}); err != nil {
		return err
	}
	record.Done = true
	return storage.WriteRecovery(s.dir, record)
}

// rewrite replaces log and snapshots by one snapshot with the new members.
func (s *Stopped) rewrite(plan RecoveryPlan) error {
	stable, err := storage.OpenStableStore(s.group, s.guard)
	if err != nil {
		return err
	}
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(s.NodeID)
	conf.Logger = s.logger
	var members raft.Configuration
	for _, id := range plan.Keep {
		members.Servers = append(members.Servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(id)})
	}
	machine := recoveringMachine{
		FSM:       fsm.New(fsm.Options{Fatal: func(err error) { panic(stoppedFailure{err}) }}),
		clusterID: plan.NewClusterID,
	}
	_, transport := raft.NewInmemTransport(raft.ServerAddress(s.NodeID)) // writes addresses, nothing else
	err = raft.RecoverCluster(conf, machine, recoveringLog{s.log}, stable, s.snapshots, transport, members)
	// The library skips a snapshot it cannot read and takes an older one.
	return errors.Join(s.guard.Poisoned(), err, transport.Close(), stable.Close())
}

// recoveringMachine begins an epoch before its state is written: the nodes that
// are lost may have handed out more than is known here.
type recoveringMachine struct {
	*fsm.FSM
	clusterID string
}

// Snapshot captures the state of the new epoch.
func (m recoveringMachine) Snapshot() (raft.FSMSnapshot, error) {
	m.BeginEpoch(m.clusterID)
	return m.FSM.Snapshot()
}

// recoveringLog lets an interrupted recovery be repeated, whose log is empty.
type recoveringLog struct{ *storage.LogStore }

// DeleteRange removes entries, if there are any.
func (l recoveringLog) DeleteRange(from, to uint64) error {
	if to == 0 {
		return nil
	}
	return l.LogStore.DeleteRange(from, to)
}
