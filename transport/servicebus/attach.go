package servicebus

import (
	"context"
	"errors"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/transport/amqp"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/servicebus/entity/lookup"
)

// attachment is a link that a client wants.
type attachment struct {
	connection *connection
	request    *amqp.Request
	ctx        context.Context // ends when the client gives up
}

// link is an attached link.
type link struct {
	call       *call
	connection *connection
	path       string // that a token must cover
	detach     func(*wire.Error)
	closed     bool // guarded by the mutex of the connection
}

// close ends the record of the link. The engine calls Ended once.
func (l *link) close(err *wire.Error) {
	l.connection.remove(l)
	if err != nil {
		l.call.end(err)
		return
	}
	l.call.end(nil)
}

// answer accepts or refuses the link.
func (a *attachment) answer() {
	r := a.request
	if err := a.accept(r.Attach.Role == wire.Sender); err != nil {
		of, _ := a.connection.server.errorOf(err)
		r.Refuse(of)
	}
}

func (a *attachment) accept(clientSends bool) error {
	r, of := a.request, a.connection
	if clientSends && r.Target.Coordinator {
		a.acceptCoordinator()
		return nil
	}
	node := r.Source.Address
	if clientSends {
		node = r.Target.Address
	}
	at, ok := readAddress(node)
	switch {
	case !ok:
		return errNoEntity
	case at.tokens:
		return a.acceptNode(&at, of.tokenNode(), clientSends)
	}
	caller, known := of.callerFor(at.claimed())
	if !known {
		return failure(unauthorizedAccess, "No token of the connection covers "+at.path+".")
	}
	found, err := a.find(&at, caller)
	switch {
	case err != nil:
		return err
	case at.management:
		return a.acceptNode(&at, of.managementNode(&at, found), clientSends)
	case clientSends && at.deadLetter:
		return failure(notAllowed, "Nothing can be sent to a dead-letter queue.")
	case clientSends && at.subscription():
		return failure(notAllowed, "Nothing can be sent to a subscription. Send to its topic.")
	case clientSends:
		return a.acceptSenderTo(&at, found, caller)
	case found.resource.Topic != "":
		return failure(notAllowed, "Nothing can be received from a topic. Receive from its subscriptions.")
	case found.forwards:
		return failure(notAllowed, "Cannot create a message receiver on an entity with auto-forwarding enabled.")
	}
	return a.acceptReceiver(&at, found, caller)
}

// found is an entity that exists.
type found struct {
	resource     service.Resource // the queue or the topic
	subscription string           // its path
	topic        string           // of the subscription
	needsSession bool             // of each message that is sent
	bytesMax     int64            // of such a message
	forwards     bool
}

// subject returns the resource of a permission. Rules are a matter of the topic.
func (f *found) subject(of permission) service.Resource {
	if of == toSetRules || of == toListRules {
		return service.Resource{Topic: f.topic}
	}
	return f.resource
}

// hasSessions reports whether receivers need a session. Those of a dead-letter queue need none.
func (f *found) hasSessions(at *address) bool { return f.needsSession && !at.deadLetter }

// find finds the entity of an address, first in the state of this node.
func (a *attachment) find(at *address, caller auth.Identity) (f found, err error) {
	s := a.connection.server
	scope := service.NewScope(s.Names, s.Node.Access(), s.Authorizer != nil, caller, "")
	s.Node.ReadLocal(func(v queue.View) { f, err = findIn(v, at, &scope) })
	if errors.Is(err, errNoEntity) { // perhaps it is new
		_, err = s.Node.Read(a.ctx, func(v queue.View) error {
			f, err = findIn(v, at, &scope)
			return err
		})
	}
	return f, err
}

func findIn(v queue.View, at *address, scope *service.Scope) (f found, err error) {
	e, ok := lookup.In{View: v, Owner: scope.Caller()}.Find(at.path)
	switch {
	case ok && at.transfer && e.Kind != lookup.Topic:
		e.Name = queue.TransferDeadLetterName(e.Name)
	case ok && at.deadLetter:
		e.Name = v.DeadLetterQueue(e.Name) // empty for a topic
	}
	if !ok || e.Name == "" {
		return found{}, errNoEntity
	}
	if e.Kind == lookup.Topic {
		attributes, refused := v.TypedTopic(e.Name)
		if refused != nil {
			return found{}, refusalOf(refused)
		}
		return found{
			resource: service.Resource{Topic: e.Name}, needsSession: !attributes.GroupOptional, bytesMax: limits.MessageBytesMax,
		}, nil
	}
	attributes, refused := v.Typed(e.Name)
	if refused != nil {
		return found{}, refusalOf(refused)
	}
	f = found{resource: service.Resource{Name: e.Name}, needsSession: !attributes.GroupOptional, bytesMax: attributes.MaximumMessageSize,
		forwards: attributes.ForwardTo != ""}
	if e.Kind == lookup.Subscription && !at.deadLetter {
		f.subscription, f.topic = e.Path, e.Topic
	}
	return f, nil
}
