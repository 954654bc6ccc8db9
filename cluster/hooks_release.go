//go:build !faults

package cluster

import (
	"context"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm"
)

// What a fault build puts in here is in hooks_faults.go.

func withOperation(_ context.Context, frame []byte) []byte { return frame }

func sameOperation(_, frame []byte) []byte { return frame }

func tapped(_ context.Context, machine *fsm.FSM) stateMachine { return machine }

func hookedTransport(_ context.Context, transport *raftTransport) raft.Transport { return transport }

// What a fault build breaks on purpose.

func (c *committer) answerBeforeCommit([]*submission) {}

func (n *Node) staleReceive(*request) (outcome, bool) { return outcome{}, false }

func (r *receiving) forgetAttempt() {}
