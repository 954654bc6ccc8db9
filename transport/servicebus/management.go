package servicebus

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/service"
)

// operation is one request to the management node of an entity.
type operation struct {
	action string // in the access log
	needs  permission
	effect service.Effect
	serve  func(m *managed) (wire.Value, error)
}

// operations has a row for each operation.
var operations = map[string]operation{
	"schedule-message":           {"ScheduleMessages", toSend, service.Changes, (*managed).schedule},
	"cancel-scheduled-message":   {"CancelScheduled", toDelete, service.Changes, (*managed).cancel},
	"peek-message":               {"Peek", toReceive, service.Reads, (*managed).peek},
	"receive-by-sequence-number": {"ReceiveDeferred", toReceive, service.Changes, (*managed).receiveDeferred},
	"update-disposition":         {"UpdateDisposition", toReceive, service.Changes, (*managed).updateDisposition},
	"renew-lock":                 {"Renew", toChange, service.Changes, (*managed).renew},
	"renew-session-lock":         {"RenewSession", toChange, service.Changes, (*managed).renewSession},
	"get-session-state":          {"GetSessionState", toReceive, service.Reads, (*managed).sessionState},
	"set-session-state":          {"SetSessionState", toReceive, service.Changes, (*managed).setSessionState},
	"get-message-sessions":       {"ListSessions", toReceive, service.Reads, (*managed).sessions},
	"batch-delete-messages":      {"DeleteMessages", toDelete, service.Changes, (*managed).deleteOld},
}

// topicOperations has those that a topic has.
var topicOperations = map[string]operation{
	"schedule-message":         {"Publish", toPublish, service.Changes, (*managed).schedulePublishes},
	"cancel-scheduled-message": {"CancelScheduledPublishes", toPublish, service.Changes, (*managed).cancel},
}

// operationOf finds an operation of an entity.
func (f *found) operationOf(name string) (op operation, refused *response) {
	op, ofQueue := operations[name]
	rule, ofRules := ruleOperations[name]
	missing := func(kind string) *response {
		return &response{code: 400, condition: notAllowed, text: kind + " does not have the operation " + vendor + name + "."}
	}
	switch {
	case !ofQueue && !ofRules:
		return op, &response{code: 501, condition: notImplemented, text: "There is no operation " + vendor + name + "."}
	case f.resource.Topic != "":
		if op, known := topicOperations[name]; known {
			return op, nil
		}
		return op, missing("A topic")
	case ofQueue:
		return op, nil
	case f.subscription == "":
		return op, missing("A queue")
	}
	return rule, nil
}

// serverTimeoutMax bounds the time that a client gives to a request.
const serverTimeoutMax = 5 * time.Minute

// managed is a request to the management node of an entity.
type managed struct {
	call       *call
	connection *connection
	body       wire.Value
	operation  string
	entity     found
	link       string // the receiver that the client calls for, empty if it does not say

	transaction *transaction // of an update-disposition; nil: none
	path        string       // that a token must cover
}

// errNothing is the answer 204: there is nothing to return.
var errNothing = failure("", "There is nothing to return.")

// managementNode returns the service of the management node of an entity.
func (c *connection) managementNode(at *address, f found) nodeService {
	path := at.claimed()
	return func(ctx context.Context, r *request) *response {
		caller, known := c.callerFor(path)
		if !known {
			return &response{code: 401, condition: unauthorizedAccess, text: "The token of the link has expired."}
		}
		name, _ := cutPrefix(textOf(r.property("operation")), vendor)
		op, refused := f.operationOf(name)
		if refused != nil {
			return refused
		}
		ctx, cancel := context.WithTimeout(ctx, serverTimeout(r))
		defer cancel()
		m := &managed{call: c.begin(ctx, op.action, op.needs, op.effect, caller), connection: c, body: r.body(), operation: name,
			entity: f, link: textOf(r.property("associated-link-name")), path: path}
		err := m.call.on(f.subject(op.needs), op.needs)
		if err == nil {
			err = m.join(r.transaction)
		}
		var body wire.Value
		if err == nil {
			body, err = op.serve(m)
		}
		if err == errNothing { //nolint:errorlint // the value itself
			m.call.end(nil)
			return &response{code: 204, text: "No content", body: emptyMap()}
		}
		m.call.end(err)
		if err != nil {
			of, _ := c.server.errorOf(err)
			return errorResponse(of)
		}
		return &response{code: 200, body: body}
	}
}

// join makes the request a part of a transaction. A lock is renewed at once. The answer to any other request
// would depend on the commit.
func (m *managed) join(t *transaction) error {
	if t == nil || m.operation == "renew-lock" || m.operation == "renew-session-lock" {
		return nil
	}
	if m.transaction = t; m.operation != "update-disposition" {
		return failure(notImplemented, "The operation "+vendor+m.operation+" cannot be a part of a transaction.")
	}
	return nil
}

func cutPrefix(text, prefix string) (rest string, found bool) {
	if len(text) >= len(prefix) && text[:len(prefix)] == prefix {
		return text[len(prefix):], true
	}
	return text, false
}

// serverTimeout returns the time for a request.
func serverTimeout(r *request) time.Duration {
	for _, name := range [...]string{vendor + "server-timeout", "server-timeout"} {
		if ms, ok := r.property(name).Integer(); ok && ms > 0 {
			return min(time.Duration(min(ms, int64(serverTimeoutMax/time.Millisecond)))*time.Millisecond, serverTimeoutMax)
		}
	}
	return time.Minute
}

// statuses has the status codes of conditions in responses. Any other condition is 400.
var statuses = map[string]int32{
	unauthorizedAccess: 401, authFailed: 401, notFound: 404, messageNotFound: 404, sessionNotFound: 404, timedOut: 408,
	entityAlreadyExists: 409, messageLockLost: 410, sessionLockLost: 410, sessionCannotBeLocked: 410, serverBusy: 503, internalError: 500,
	notImplemented: 501, notAllowed: 400, entityDisabled: 403, resourceLimitExceeded: 403, messageSizeExceeded: 413, detachForced: 503,
}

func statusOf(condition string) int32 {
	if code, known := statuses[condition]; known {
		return code
	}
	return 400
}

// emptyMap returns the body of a response without values.
func emptyMap() wire.Value {
	b, mark := wire.BeginMap(nil)
	return mark.End(b)
}

// mapOf returns a map with one entry.
func mapOf(name string, value wire.Value) wire.Value {
	b, mark := wire.BeginMap(nil)
	b = wire.AppendValue(wire.AppendString(b, name), value)
	return mark.End(b)
}

// field returns a value of the body.
func (m *managed) field(name string) wire.Value { return m.body.Lookup(name) }

// integer returns a number of the body, or a default.
func (m *managed) integer(name string, absent int64) int64 {
	if n, ok := m.field(name).Integer(); ok {
		return n
	}
	return absent
}

// items returns the items of an array or a list of the body.
func (m *managed) items(name string) (items []wire.Value) {
	v := m.field(name)
	if v.Kind() == wire.List {
		for item := range v.List() {
			items = append(items, item)
		}
		return items
	}
	return v.Multiple()
}

// sessionRef returns the session that the body names, or that of the link if it names none, as the SDK for
// Go. A link of the connection has locked it. A link that has lost the session cannot use the lock that a
// later link of the same connection has.
func (m *managed) sessionRef() (ref queue.SessionRef, held *heldSession, err error) {
	id, given := m.field("session-id").Text()
	if !given {
		if held = m.connection.sessionOf(m.call.queue, m.link); held != nil {
			ref = held.ref
		}
		return ref, held, nil
	}
	held = m.connection.session(sessionKey{m.call.queue, groupOf(id)})
	if held == nil || m.link != "" && m.link != held.link {
		return queue.SessionRef{}, nil, failure(sessionLockLost,
			"The receiver has no lock of the session "+id+". Accept the session again.")
	}
	return held.ref, held, nil
}

// settlementSession returns the session of messages, which the body names where the entity has sessions.
func (m *managed) settlementSession() (queue.SessionRef, error) {
	if !m.entity.needsSession {
		return queue.SessionRef{}, nil
	}
	ref, _, err := m.sessionRef()
	return ref, err
}

// argument refuses a request with a wrong value.
func argument(name, problem string) error {
	return failure(argumentError, "The value of "+name+" is wrong: "+problem)
}
