package servicebus

import (
	"errors"
	"slices"
	"sync"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/transport/amqp"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/service"
)

const (
	// creditOfSenders is the number of messages that a client may have on a link without an outcome.
	creditOfSenders = 1000
	// commandsMax bounds the commands of a link in progress. Messages that arrive meanwhile make the
	// next command larger.
	commandsMax = 4
	// linkBytesMin is the room of a link for messages, at least: the smallest limit of a queue is less
	// than the sections of a small message.
	linkBytesMin = 64 << 10
)

// acceptSender accepts a link whose client sends.
func (a *attachment) acceptSender(at *address, f found, caller auth.Identity) error {
	of := a.connection
	action, needs := "SendLink", toSend
	if f.resource.Topic != "" {
		action, needs = "PublishLink", toPublish
	}
	c := of.begin(of.ctx, action, needs, service.Changes, caller)
	p := &producer{call: c, needs: needs, content: content{needsSession: f.needsSession}}
	p.link = link{call: c, connection: of, path: at.claimed()}
	if err := c.on(f.resource, needs); err != nil {
		c.end(err)
		return err
	}
	most := max(uint64(f.bytesMax), linkBytesMin) //nolint:gosec // positive
	p.ready.Add(1)
	receiver := a.request.Receive(p, creditOfSenders, min(most, limits.MessageBytesMax), amqp.Answer{})
	if receiver == nil {
		c.end(nil)
		p.ready.Done()
		return nil
	}
	p.link.detach = receiver.Detach
	p.ready.Done()
	of.add(&p.link)
	return nil
}

// producer handles a link whose client sends. Safe for concurrent use.
type producer struct {
	link    link
	call    *call
	needs   permission
	content content
	ready   sync.WaitGroup // until detach is set

	mu      sync.Mutex
	waiting []*outgoing         // in the order of their arrival
	busy    map[string]struct{} // groups with a command in progress
	running int                 // commands in progress
	broken  bool                // the link is detached
}

// outgoing is one transfer that is not stored yet.
type outgoing struct {
	delivery *amqp.Delivery
	entries  []queue.SendEntry
	batch    bool // stored as a whole or not at all
	bytes    int
}

// Received stores the message of a transfer.
func (p *producer) Received(d *amqp.Delivery) {
	p.call.server.work.Add(1) // Done with the settlement
	entries, err := p.content.readEntries(d.Message, d.Format, p.call.server.Now().UnixMilli())
	switch {
	case len(d.State) > 0:
		err = failure(notImplemented, "Transactions are not supported.")
	case err == nil:
		if err = p.call.permits(p.needs); err == nil {
			err = p.call.charge()
		}
	}
	if err != nil || len(entries) == 0 {
		p.answer(d, err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, &outgoing{delivery: d, entries: entries, batch: d.Format == formatBatch, bytes: len(d.Message)})
	p.dispatch()
}

// Ended ends the link. Messages that wait are stored, also if the client is gone.
func (p *producer) Ended(err *wire.Error) { p.link.close(err) }

// dispatch starts commands with the waiting messages. It needs the mutex.
func (p *producer) dispatch() {
	for p.running < commandsMax {
		batch := p.take()
		if len(batch) == 0 {
			return
		}
		p.running++
		go p.execute(batch)
	}
}

// take takes messages for one command, and marks their groups. Messages of a group in progress wait, so
// that the order within a group is that of the link. It needs the mutex.
func (p *producer) take() (batch []*outgoing) {
	if p.busy == nil {
		p.busy = make(map[string]struct{})
	}
	var kept []*outgoing
	blocked := make(map[string]struct{}) // groups of messages that stay
	entries, bytes, full := 0, 0, false
	for i, o := range p.waiting {
		full = full || len(batch) > 0 && (o.batch || batch[0].batch || entries+len(o.entries) > limits.StreamEntriesMax ||
			bytes+o.bytes > limits.BatchBytesMax)
		if full {
			kept = append(kept, p.waiting[i:]...)
			break
		}
		if p.mustWait(o, blocked) {
			kept = append(kept, o)
			continue
		}
		batch = append(batch, o)
		entries += len(o.entries)
		bytes += o.bytes
	}
	p.waiting = kept
	for _, o := range batch {
		o.eachGroup(func(g string) { p.busy[g] = struct{}{} })
	}
	return batch
}

// mustWait reports whether an earlier message of a group of o is not stored yet.
func (p *producer) mustWait(o *outgoing, blocked map[string]struct{}) (wait bool) {
	o.eachGroup(func(g string) {
		_, busy := p.busy[g]
		_, behind := blocked[g]
		wait = wait || busy || behind
	})
	if wait {
		o.eachGroup(func(g string) { blocked[g] = struct{}{} })
	}
	return wait
}

func (o *outgoing) eachGroup(visit func(string)) {
	for i := range o.entries {
		if e := &o.entries[i]; e.GroupIDGiven {
			visit(e.GroupID)
		}
	}
}

// execute stores messages and answers them.
func (p *producer) execute(batch []*outgoing) {
	p.store(batch)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	for _, o := range batch {
		o.eachGroup(func(g string) { delete(p.busy, g) })
	}
	p.dispatch()
}

// store executes one command. If a rule refuses several messages as a whole, each is tried alone.
func (p *producer) store(batch []*outgoing) {
	var entries []queue.SendEntry
	for _, o := range batch {
		entries = append(entries, o.entries...)
	}
	if p.isBroken() {
		for _, o := range batch {
			p.forget(o.delivery)
		}
		return
	}
	refusals, err := p.submit(entries, batch[0].batch, len(batch) > 1)
	if refused, ok := errors.AsType[*queue.Error](err); ok && len(batch) > 1 && refused != nil {
		for one := range slices.Chunk(batch, 1) {
			p.store(one)
		}
		return
	}
	for i, o := range batch {
		outcome := err
		if err == nil && !o.batch && i < len(refusals) && refusals[i] != nil {
			outcome = refusals[i]
		}
		p.answer(o.delivery, outcome)
	}
}

// submit stores messages in the queue, or publishes them. It returns the refusals of single messages,
// which a topic has none of: one refuses all.
func (p *producer) submit(entries []queue.SendEntry, atomic, several bool) (refusals []*queue.Error, err error) {
	if p.call.Resource.Topic != "" {
		_, _, err := submit[queue.Published](p.call, p.call.publish(entries))
		return nil, err
	}
	sent, _, err := submit[queue.MessagesSent](p.call, &queue.SendMessages{
		Queue: p.call.queue, SenderID: p.call.SenderID(), Batch: atomic || several, Atomic: atomic, Entries: entries,
		Streamed: !atomic && len(entries) > limits.BatchEntriesMax,
	})
	for i := range sent.Entries {
		refusals = append(refusals, sent.Entries[i].Err)
	}
	return refusals, err
}

// publish returns the command that publishes messages.
func (c *call) publish(entries []queue.SendEntry) *queue.Publish {
	cmd := &queue.Publish{Topic: c.Resource.Topic, SenderID: c.SenderID(), Batch: true, Large: true}
	for i := range entries {
		e := &entries[i]
		cmd.Entries = append(cmd.Entries, queue.PublishEntry{
			Message: e.Body, Encoded: e.Encoded, Native: true, Options: e.Options, GroupID: e.GroupID, GroupIDGiven: e.GroupIDGiven,
			DeduplicationID: e.DeduplicationID, DeduplicationIDGiven: e.DeduplicationIDGiven,
		})
	}
	return cmd
}

func (p *producer) isBroken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}

// answer gives the client the outcome of a message, or detaches the link if it is unknown.
func (p *producer) answer(d *amqp.Delivery, err error) {
	state := wire.State{Code: wire.CodeAccepted}
	if err != nil {
		of, certain := p.call.server.errorOf(err)
		if !certain {
			p.abandon()
		}
		if of.Condition == argumentError { // the SDK for Go does not know it, and sends the message again
			of = failure(notAllowed, of.Description)
		}
		state = wire.State{Code: wire.CodeRejected, Error: of}
	}
	d.Settle(state) // without effect on a detached link
	p.call.server.work.Done()
}

// forget drops a message of a detached link, which was not stored.
func (p *producer) forget(d *amqp.Delivery) {
	d.Settle(wire.State{Code: wire.CodeReleased})
	p.call.server.work.Done()
}

// abandon detaches the link. Clients send the messages without an outcome again.
func (p *producer) abandon() {
	p.mu.Lock()
	p.broken = true
	p.mu.Unlock()
	p.ready.Wait()
	p.link.detach(errUnknown)
}
