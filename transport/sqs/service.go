package sqs

import (
	"context"
	"io"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/service"
)

// Node executes commands and reads; *cluster.Node is one. Its methods are safe
// for concurrent use.
type Node interface {
	service.Node
	// EncryptsAtRest reports whether all nodes encrypt what they write to their disks.
	EncryptsAtRest() bool
	// BeginReceive starts a receive that waits for messages; a negative wait means the queue's
	// ReceiveMessageWaitTimeSeconds. It passes the result to complete, once, perhaps before it
	// returns.
	BeginReceive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration, complete func(cluster.Reply, error))
}

// Options configure a Service.
type Options struct {
	Node   Node
	Names  service.Names
	Random io.Reader // source of attempt ids
}

// Service executes the actions of SQS. Safe for concurrent use.
type Service struct {
	Options
	polls *service.Waits // bounds long polls
}

// New returns a Service. The end of ctx ends its long polls, as Drain does.
func New(ctx context.Context, o Options) *Service {
	return &Service{Options: o, polls: service.NewWaits(ctx)}
}

// API describes the service to package aws.
func (s *Service) API() *aws.API {
	return &aws.API{
		Service: "sqs", Target: "AmazonSQS.", Version: "2012-11-05", Namespace: "http://queue.amazonaws.com/doc/2012-11-05/",
		Errors: model, ErrorDetail: true, Actions: s.actions(), Refusal: wireError,
	}
}

// Drain ends all long polls, present and future, with a retryable error. It returns at once.
func (s *Service) Drain() { s.polls.Drain() }

// Undrain permits long polls again, until the end of ctx or the next Drain.
func (s *Service) Undrain(ctx context.Context) { s.polls.Undrain(ctx) }

// refuse calls service.Refuse.
func refuse(ctx context.Context, c *aws.Call, refused *queue.Error) error {
	return service.Refuse(ctx, &c.Call, refused)
}
