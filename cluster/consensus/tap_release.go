//go:build !faults

package consensus

import (
	"context"

	"github.com/seriatimq/seriatim/fsm"
)

// What a fault build puts in here is in tap_faults.go.

func tapped(_ context.Context, machine *fsm.FSM) stateMachine { return machine }
