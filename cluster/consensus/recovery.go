package consensus

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm"
)

// Survey describes the end of a stored log and its members.
type Survey struct {
	SnapshotIndex uint64 // of the newest snapshot; 0: none
	LastIndex     uint64 // of the newest entry in snapshot and log
	LastTerm      uint64 // of that entry
	EndedAt       uint64 // an entry that was in the log, which now ends before it; 0: the log is complete
	Members       []StoredMember
}

// Survey reads the whole log and returns its end and the newest members, committed or not.
func (s *Stored) Survey() (Survey, error) {
	var survey Survey
	metas, err := s.snapshots.List()
	if err != nil {
		return survey, err
	}
	if len(metas) > 0 {
		newest := metas[0]
		survey = Survey{SnapshotIndex: newest.Index, LastIndex: newest.Index, LastTerm: newest.Term,
			Members: storedMembers(newest.Configuration)}
	}
	first, last, err := s.Bounds()
	if err != nil {
		return survey, err
	}
	for index := max(first, 1); index <= last; index++ {
		var entry raft.Log
		if err := s.log.GetLog(index, &entry); err != nil {
			return survey, fmt.Errorf("entry %d: %w", index, err)
		}
		if index <= survey.SnapshotIndex {
			continue
		}
		survey.LastIndex, survey.LastTerm = entry.Index, entry.Term
		if entry.Type == raft.LogConfiguration {
			survey.Members = storedMembers(raft.DecodeConfiguration(entry.Data))
		}
	}
	if ended := s.log.EndedAt(); ended > survey.LastIndex {
		survey.EndedAt = ended
	}
	return survey, nil
}

// Recovery configures the recovery of a stored group that lost its majority.
type Recovery struct {
	NodeID    string   // of this node
	Members   []string // node ids of the new voters
	ClusterID string   // with which the state begins an epoch
	Machine   *fsm.FSM // empty before, with the recovered state afterwards
}

// Recover replaces log and snapshots by one snapshot with the new members. Every entry in the log
// counts as committed. An interrupted recovery can be repeated: LogStore.DeleteRange accepts an
// empty log.
func (s *Stored) Recover(recovery Recovery) error {
	stable, err := storage.OpenStableStore(s.dir, s.guard)
	if err != nil {
		return err
	}
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(recovery.NodeID)
	conf.Logger = s.logger
	var members raft.Configuration
	for _, id := range recovery.Members {
		members.Servers = append(members.Servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(id)})
	}
	machine := recoveringMachine{recovery.Machine, recovery.ClusterID}
	_, transport := raft.NewInmemTransport(raft.ServerAddress(recovery.NodeID)) // only encodes addresses
	err = raft.RecoverCluster(conf, machine, s.log, stable, s.snapshots, transport, members)
	// The library skips an unreadable snapshot and uses an older one; DiskGuard has its error.
	return errors.Join(s.guard.Poisoned(), err, transport.Close(), stable.Close())
}

// recoveringMachine begins an epoch before its state is written: the lost nodes may have handed out
// more messages than this state contains.
type recoveringMachine struct {
	*fsm.FSM
	clusterID string
}

// Snapshot captures the state of the new epoch.
func (m recoveringMachine) Snapshot() (raft.FSMSnapshot, error) {
	m.BeginEpoch(m.clusterID)
	return m.FSM.Snapshot()
}
