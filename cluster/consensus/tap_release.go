//go:build !faults

package consensus

import "context"

// What a fault build puts in here is in tap_faults.go.

func tapped(_ context.Context, machine StateMachine) StateMachine { return machine }
