package sqs

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
)

// Node executes commands and reads; *cluster.Node is one. Its methods are safe
// for concurrent use. An error is a *queue.Error if a rule refused, else one of
// the errors of package cluster.
type Node interface {
	// Submit executes a command.
	Submit(ctx context.Context, cmd queue.Command) (cluster.Reply, error)
	// Receive executes a receive that waits for messages; a negative wait
	// means the queue's ReceiveMessageWaitTimeSeconds.
	Receive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration) (cluster.Reply, error)
	// Read calls read with a state that contains all that was acknowledged.
	Read(ctx context.Context, read func(queue.View) error) (cluster.Position, error)
}
