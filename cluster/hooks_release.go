//go:build !faults

package cluster

import (
	"context"

	"github.com/seriatimq/seriatim/fsm"
)

// What a fault build puts in here is in hooks_faults.go.

func withOperation(_ context.Context, frame []byte) []byte { return frame }

func tapped(_ context.Context, machine *fsm.FSM) stateMachine { return machine }
