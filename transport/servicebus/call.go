package servicebus

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/service"
)

// protocol names this API in the access log and in metrics.
const protocol = "amqp"

// permission is a right of a caller, that of the equivalent action of SQS or SNS.
type permission uint8

const (
	toSend permission = iota
	toReceive
	toDelete
	toChange
	toDeadLetter // with the right to send to the dead-letter queue
	toPublish
	toSetRules
	toListRules
	permissions
)

var permissionNames = [permissions]string{
	"sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:DeleteMessage",
	"sns:Publish", "sns:SetSubscriptionAttributes", "sns:GetSubscriptionAttributes",
}

// call is one link, or one request to a management node. Permits and submit are safe for concurrent use.
type call struct {
	service.Call
	server  *Server
	ctx     context.Context // ends with the connection, or when the client waits no longer
	started time.Time
	queue   string // qualified by its account; empty: a topic

	permitted [permissions]atomic.Pointer[access.Table] // tables by which the caller was permitted
}

// begin starts the record of a call.
func (c *connection) begin(ctx context.Context, action string, needs permission, effect service.Effect, caller auth.Identity) *call {
	s := c.server
	of := &call{server: s, started: s.Now()}
	of.Backend, of.Record = &s.backend, new(service.Request)
	of.From = auth.Connection{Address: c.remote, Encrypted: c.encrypted, UserAgent: c.userAgent}
	s.Calls.Begin(of.Record, c.opened, c.remote, c, of.started)
	of.Authenticated(caller, "")
	of.Record.Protocol, of.Record.Action, of.Record.Permission = protocol, action, permissionNames[needs]
	of.Record.Effect = effect
	of.ctx = context.WithValue(ctx, holders.CallerKey{}, of.Record)
	return of
}

// on sets the queue or the topic, and refuses a caller without a permission or a quota.
func (c *call) on(to service.Resource, needs permission) error {
	c.queue, c.Resource = to.Name, to
	c.Record.Queue, c.Record.Topic = to.Name, to.Topic
	c.Record.Announce()
	if err := c.permits(needs); err != nil {
		return err
	}
	return c.charge()
}

// charge counts a request against the quota of the account.
func (c *call) charge() error {
	if !c.server.Rate.Allow(c.Scope.Charged(c.Identity, c.Resource)) {
		return service.Throttled()
	}
	return nil
}

// permits refuses a caller without a permission. It is cheap unless a key or a policy has changed.
func (c *call) permits(needs permission) error {
	guard, table := c.Backend.Authorizer, c.server.Node.Access()
	if guard == nil || c.permitted[needs].Load() == table && table != nil {
		return nil
	}
	if err := guard.Revoked(c.Identity); err != nil {
		return err
	}
	if err := c.Permit(c.ctx, service.Need{Permission: permissionNames[needs], Resource: c.Resource}); err != nil {
		return err
	}
	if needs == toDeadLetter {
		more, err := service.DeadLetterNeeds(c.ctx, c.look, c.queue)
		if err == nil {
			err = c.PermitAll(c.ctx, more)
		}
		if err != nil {
			return err
		}
	}
	c.permitted[needs].Store(table)
	return nil
}

// look reads a state that contains all acknowledged changes.
func (c *call) look(ctx context.Context, read func(queue.View) error) error {
	_, err := c.server.Node.Read(ctx, read)
	return err
}

// submit executes a command that goes on when the connection ends.
func submit[R queue.Result](c *call, cmd queue.Command) (R, cluster.Reply, error) {
	return resultOf[R](c.server.Node.Submit(context.WithoutCancel(c.ctx), cmd))
}

// resultOf checks that the result of a command has the type that the command returns.
func resultOf[R queue.Result](reply cluster.Reply, err error) (r R, _ cluster.Reply, _ error) {
	if err == nil {
		r, err = service.ResultOf[R](reply.Result)
	}
	return r, reply, err
}

// end counts and logs the call.
func (c *call) end(err error) {
	c.Record.Duration, c.Record.Status = c.server.Now().Sub(c.started), http.StatusOK
	if err != nil {
		var denied *auth.Error
		c.Record.Unauthenticated = c.Identity.Account == "" && errors.As(err, &denied)
		of, _ := c.server.errorOf(err)
		c.Record.Code, c.Record.Status = of.Condition, int(statusOf(of.Condition))
	}
	c.server.Calls.Report(context.WithoutCancel(c.ctx), c.Record)
}
