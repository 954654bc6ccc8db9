package service

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/rate"
)

// Node executes commands and reads; *cluster.Node is one. Safe for concurrent use. An error is a
// *queue.Error if a rule refused the command, else an error of package cluster.
type Node interface {
	// Submit executes a command.
	Submit(ctx context.Context, cmd queue.Command) (cluster.Reply, error)
	// Read calls read with a state that contains all acknowledged changes.
	Read(ctx context.Context, read func(queue.View) error) (cluster.Position, error)
	// ReadLocal calls read with the state that this node has applied.
	ReadLocal(read func(queue.View))
	// Access returns the accounts, keys and policies that this node has applied.
	Access() *access.Table
}

// Backend executes the calls of all protocols. Safe for concurrent use.
type Backend struct {
	Node Node
	// Authorizer decides what callers may do; nil: all callers may do everything.
	Authorizer auth.Authorizer
	Rate       *rate.Limiter // of the calls of each account; nil: no limit
	Names      Names
}

// Resource is the queue or the topic of a call. The zero Resource is the account.
type Resource struct {
	Name  string // of a queue, qualified by its account
	Topic string // name of a topic, qualified by its account
}

// Call is one call of a client. Used by one goroutine at a time.
type Call struct {
	Backend  *Backend
	Record   *Request
	Identity auth.Identity
	From     auth.Connection
	Scope    Scope
	Resource Resource // set by the protocol before Permit
	// Position is the place of the answer in the log.
	Position cluster.Position
	// Repeated says that the node repeated the command, because the outcome of the first attempt
	// was unknown.
	Repeated bool
}

// Authenticated notes the caller. named is the account that a request without a verified signature
// names, empty if none.
func (c *Call) Authenticated(caller auth.Identity, named string) {
	c.Identity = caller
	c.Record.Account = caller.AccessKeyID
	c.Scope = NewScope(c.Backend.Names, c.Backend.Node.Access(), c.Backend.Authorizer != nil, caller, named)
}

// Permit refuses a caller without a permission. Without an Authorizer it permits everything.
func (c *Call) Permit(ctx context.Context, need Need) error {
	if c.Backend.Authorizer == nil {
		return nil
	}
	to := PermissionTo(c.Backend.Node, c.Backend.Names, need.Permission, need.Resource)
	return c.Backend.Authorizer.Authorize(ctx, &c.From, c.Identity, to)
}

// PermitAll refuses a caller who lacks any of several permissions.
func (c *Call) PermitAll(ctx context.Context, needs []Need) error {
	for _, need := range needs {
		if err := c.Permit(ctx, need); err != nil {
			return err
		}
	}
	return nil
}

// Submit executes a command and notes its position in the log.
func (c *Call) Submit(ctx context.Context, cmd queue.Command) (queue.Result, error) {
	reply, err := c.Backend.Node.Submit(ctx, cmd)
	c.Position, c.Repeated = reply.Position, reply.Repeated
	return reply.Result, err
}

// Read reads a state that contains all acknowledged changes, and notes its position.
func (c *Call) Read(ctx context.Context, read func(queue.View) error) error {
	position, err := c.Backend.Node.Read(ctx, read)
	c.Position = position
	return err
}

// SenderID returns the sender of a message: the principal id of the caller. Where signatures are
// not verified, it is the access key id that the request claims, or the account.
func (c *Call) SenderID() string {
	if c.Backend.Authorizer != nil {
		return cmp.Or(c.Identity.PrincipalID(), auth.Anonymous)
	}
	return cmp.Or(c.Identity.AccessKeyID, c.Scope.CallerID())
}

// Submit executes a command that returns an R.
func Submit[R queue.Result](ctx context.Context, c *Call, cmd queue.Command) (r R, err error) {
	result, err := c.Submit(ctx, cmd)
	if err != nil {
		return r, err
	}
	return ResultOf[R](result)
}

// ReadValue reads one value from a state that contains all acknowledged changes.
func ReadValue[T any](ctx context.Context, c *Call, read func(queue.View) (T, *queue.Error)) (value T, err error) {
	err = c.Read(ctx, func(v queue.View) error {
		var refused *queue.Error
		if value, refused = read(v); refused != nil {
			return refused
		}
		return nil
	})
	return value, err
}

// Refuse returns the error of a bad value in a request about a queue, nil if refused is nil. If the
// queue does not exist, that error comes first (sqs.md 1.7). Use it for values that no command carries.
func Refuse(ctx context.Context, c *Call, refused *queue.Error) error {
	return c.Read(ctx, func(v queue.View) error {
		if !v.QueueExists(c.Resource.Name) {
			return refusal.NoSuchQueue()
		}
		if refused == nil {
			return nil
		}
		return refused
	})
}

// NewAttemptID draws the id of a receive.
func NewAttemptID(random io.Reader) (string, error) {
	var id [16]byte
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return "", fmt.Errorf("reading random bytes for an attempt id: %w", err)
	}
	return hex.EncodeToString(id[:]), nil
}

// ResultOf checks that the result of a command has the type that the command returns.
func ResultOf[R queue.Result](result queue.Result) (R, error) {
	r, ok := result.(R)
	if !ok {
		return r, fmt.Errorf("the command was answered with a %T, want a %T", result, r)
	}
	return r, nil
}

// Policies reads the accounts, keys and policies that a node has applied. It takes no lock of the
// state: requests must not wait while an entry is applied.
type Policies interface{ Access() *access.Table }

// PermissionTo returns the permission that an action on a resource needs.
func PermissionTo(node Policies, names Names, action string, resource Resource) auth.Permission {
	switch {
	case resource.Name != "":
		return auth.Permission{
			Action: action, Resource: names.QueueARN(resource.Name), Account: names.ID(access.OwnerOf(resource.Name)),
			Policy: func() string { return node.Access().QueuePolicy(resource.Name) },
		}
	case resource.Topic != "":
		return auth.Permission{
			Action: action, Resource: names.TopicARN(resource.Topic), Account: names.ID(access.OwnerOf(resource.Topic)),
			Policy: func() string { return node.Access().TopicPolicy(resource.Topic) },
		}
	}
	return auth.Permission{Action: action, Resource: "*"}
}
