//go:build faults

package route

import (
	"context"

	"github.com/seriatimq/seriatim/fsm/codec"
)

type operationKey struct{}

// WithOperation is documented in package cluster.
func WithOperation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, operationKey{}, id)
}

// withOperation marks the frame of a command with the operation of its caller.
func withOperation(ctx context.Context, frame []byte) []byte {
	id, _ := ctx.Value(operationKey{}).(string)
	return codec.AppendOperation(frame, id)
}
