package servicebus

import (
	"context"
	"errors"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/amqp"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
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
	if r.Target.Coordinator {
		return failure(notImplemented, "Transactions are not supported.")
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
	case clientSends:
		return a.acceptSender(&at, found, caller)
	}
	return a.acceptReceiver(&at, found, caller)
}

// found is an entity that exists.
type found struct {
	queue      string // qualified by its account
	attributes queue.QueueAttributes
}

// hasSessions reports whether receivers need a session. Those of a dead-letter queue need none.
func (f *found) hasSessions(at *address) bool { return !f.attributes.GroupOptional && !at.deadLetter }

// find finds the queue of an address, first in the state of this node.
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

// listMax bounds the names of one step of a search without letter case.
const listMax = 1000

func findIn(v queue.View, at *address, scope *service.Scope) (f found, err error) {
	name, ok := entity.Find(at.path, func(name string) bool { return v.QueueExists(scope.Own(name)) }, func(after string) []string {
		if after != "" {
			after = scope.Own(after)
		}
		names := v.QueuesOf(scope.Caller(), "", after, listMax)
		for i := range names {
			names[i] = access.PlainName(names[i])
		}
		return names
	})
	if !ok {
		return found{}, errNoEntity
	}
	f.queue = scope.Own(name)
	if at.deadLetter {
		if f.queue = v.DeadLetterQueue(f.queue); f.queue == "" {
			return found{}, errNoEntity
		}
	}
	attributes, refused := v.Typed(f.queue)
	if refused != nil {
		if refused.Code == refusal.QueueDoesNotExist {
			return found{}, errNoEntity
		}
		return found{}, refused
	}
	f.attributes = attributes
	return f, nil
}
