//go:build faults

package cluster

import (
	"context"
	"io"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/route"
)

// WithOperation gives the calls of a ctx the id of the client's operation, which
// is written to the log beside the command.
func WithOperation(ctx context.Context, id string) context.Context {
	return route.WithOperation(ctx, id)
}

// WithTap makes a node that is opened with the ctx write every applied entry to the tap, before it
// answers the caller.
func WithTap(ctx context.Context, tap io.Writer) context.Context {
	return consensus.WithTap(ctx, tap)
}

// Snapshot writes a snapshot of the node's state now, even if few entries were written since the last
// one.
func (n *Node) Snapshot(ctx context.Context) error { return n.group.Snapshot(ctx) }
