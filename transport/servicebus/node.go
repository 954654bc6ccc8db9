package servicebus

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/seriatimq/seriatim/transport/amqp"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

const (
	// requestsMax bounds the requests of a link without a sent response.
	requestsMax = 32
	// requestBytesMax bounds a request, which may schedule messages.
	requestBytesMax = 1<<20 + 64<<10
)

// service of a node answers a request. The context ends with the connection.
type nodeService func(ctx context.Context, r *request) *response

// request is a message to a node.
type request struct {
	message     wire.Message
	properties  wire.Properties
	transaction *transaction // nil: none
}

// property returns an application property.
func (r *request) property(name string) wire.Value {
	return r.message.ApplicationProperties.Lookup(name)
}

// body returns the value of the body, absent if it has another type.
func (r *request) body() wire.Value {
	if r.message.BodyCode != wire.CodeValue {
		return nil
	}
	for v := range r.message.BodySections() {
		return v
	}
	return nil
}

// response is the answer to a request.
type response struct {
	code      int32
	condition string // of an error
	text      string
	body      wire.Value // absent: null
}

func errorResponse(of *wire.Error) *response {
	return &response{code: statusOf(of.Condition), condition: of.Condition, text: of.Description}
}

// acceptNode accepts a link to a node: one for requests, or one for responses.
func (a *attachment) acceptNode(at *address, serve nodeService, clientSends bool) error {
	of := a.connection
	if clientSends {
		q := &requests{connection: of, node: at.key(), session: a.request.Session(), serve: serve}
		a.request.Receive(q, requestsMax, requestBytesMax, amqp.Answer{})
		return nil
	}
	p := &responder{connection: of, node: at.key(), session: a.request.Session(), replyTo: textOf(a.request.Target.Address)}
	of.mu.Lock()
	of.responders[p] = struct{}{}
	of.mu.Unlock()
	sender := a.request.Send(p, amqp.Answer{})
	if sender == nil {
		p.Ended(nil)
		return nil
	}
	p.Flow(sender)
	return nil
}

// requests handles a link whose client sends requests.
type requests struct {
	connection *connection
	node       string
	session    *amqp.Session
	serve      nodeService
}

// Received answers a request. Its credit is used until the response is sent, which bounds the requests
// in progress.
func (q *requests) Received(d *amqp.Delivery) {
	c := q.connection
	encoded := slices.Clone(d.Message)
	t, none := c.transactionOf(d.State)
	c.server.work.Go(func() {
		m, err := wire.ReadMessage(encoded)
		r := request{transaction: t}
		if err == nil {
			r.message = m
			r.properties, err = wire.ReadProperties(m.Properties)
		}
		if err != nil {
			d.Settle(rejected(failure(decodeError, err.Error())))
			return
		}
		to := c.responder(q, textOf(r.properties.ReplyTo))
		if to == nil {
			d.Settle(rejected(failure(notFound, "There is no link for the response.")))
			return
		}
		answer, outcome := q.answer(&r, none)
		to.send(answer.encode(&r), func() { d.Settle(outcome) })
	})
}

// answer serves a request, unless its transaction does not exist. Clients look at the response, some not at
// the outcome of the request.
func (q *requests) answer(r *request, noTransaction error) (answer *response, outcome wire.State) {
	c := q.connection
	if noTransaction != nil {
		of, _ := c.server.errorOf(noTransaction)
		return errorResponse(of), rejected(of)
	}
	answer, outcome = q.serve(c.ctx, r), wire.State{Code: wire.CodeAccepted}
	if t := r.transaction; t != nil {
		outcome = t.state(outcome)
		if answer.code >= 400 {
			t.fail(failure(answer.condition, answer.text))
		}
	}
	return answer, outcome
}

// Ended needs nothing.
func (q *requests) Ended(*wire.Error) {}

// responder finds the link for the responses to a link of requests: one of the same session whose target
// is the address of the request, or else the newest.
func (c *connection) responder(q *requests, replyTo string) (found *responder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	best := 0
	for p := range c.responders {
		if p.node != q.node {
			continue
		}
		score := 1
		if p.session == q.session {
			score += 2
		}
		if replyTo != "" && p.replyTo == replyTo {
			score += 4
		}
		if score > best {
			best, found = score, p
		}
	}
	return found
}

// responder handles a link whose client receives responses. Safe for concurrent use.
type responder struct {
	connection *connection
	node       string
	session    *amqp.Session
	replyTo    string

	mu      sync.Mutex
	sender  *amqp.Sender
	ended   bool
	waiting []waitingResponse
}

// waitingResponse is a response for which the client has given no credit yet.
type waitingResponse struct {
	payload []byte
	sent    func()
}

// send sends a response, when the client has given credit for it.
func (p *responder) send(payload []byte, sent func()) {
	p.mu.Lock()
	p.waiting = append(p.waiting, waitingResponse{payload, sent})
	p.mu.Unlock()
	p.flush()
}

// Flow sends responses that have waited.
func (p *responder) Flow(s *amqp.Sender) {
	p.mu.Lock()
	p.sender = s
	p.mu.Unlock()
	p.flush()
	if s.Draining() {
		s.Drained()
	}
}

func (p *responder) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.waiting) > 0 {
		next := &p.waiting[0]
		if !p.ended && (p.sender == nil || p.sender.Send(amqp.Message{Payload: next.payload, Tag: []byte{0}, Settled: true}) == nil) {
			return
		}
		next.sent()
		p.waiting = p.waiting[1:]
	}
}

// Disposition ends a response.
func (p *responder) Disposition(d *amqp.Sent, state *wire.State, settled bool) {
	if !settled {
		d.Settle(*state)
	}
}

// Ended drops the responses that have waited.
func (p *responder) Ended(*wire.Error) {
	c := p.connection
	c.mu.Lock()
	delete(c.responders, p)
	c.mu.Unlock()
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.flush()
}

// encode returns the message of a response.
func (a *response) encode(r *request) []byte {
	properties := wire.Properties{CorrelationID: r.properties.MessageID}
	b := properties.Append(nil)
	b, mark := wire.BeginMap(wire.AppendDescriptor(b, wire.CodeApplicationProperties))
	text := a.text
	if text == "" {
		text = "OK"
	}
	// Clients read one of two spellings.
	for _, name := range [...]string{"status-code", "statusCode"} {
		b = wire.AppendInt(wire.AppendString(b, name), a.code)
	}
	for _, name := range [...]string{"status-description", "statusDescription"} {
		b = wire.AppendString(wire.AppendString(b, name), strings.ToValidUTF8(text, ""))
	}
	if a.condition != "" {
		for _, name := range [...]string{"errorCondition", "error-condition"} {
			b = wire.AppendSymbol(wire.AppendString(b, name), a.condition)
		}
	}
	b = mark.End(b)
	return wire.AppendValue(wire.AppendDescriptor(b, wire.CodeValue), a.body)
}
