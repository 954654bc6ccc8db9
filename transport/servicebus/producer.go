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

// propertyTransfer of a link names the entity to which its messages go on (send via).
const propertyTransfer = "com.microsoft:transfer-destination-address"

// acceptSenderTo accepts a link whose client sends, perhaps by way of the entity of the link. Messages go to
// their destination at once, because a transaction can be about any entities.
func (a *attachment) acceptSenderTo(via *address, f found, caller auth.Identity) error {
	destination := a.request.Attach.Properties.Lookup(propertyTransfer)
	if destination.IsNull() {
		return a.acceptSender(via, f, caller)
	}
	if err := a.connection.permitVia(f, caller); err != nil {
		return err
	}
	at, ok := readAddress(destination)
	if !ok || at.tokens || at.management || at.deadLetter || at.subscription() {
		return failure(notAllowed, "Messages can go on to a queue or a topic.")
	}
	caller, known := a.connection.callerFor(at.claimed())
	if !known {
		return failure(unauthorizedAccess, "No token of the connection covers "+at.path+".")
	}
	to, err := a.find(&at, caller)
	if err != nil {
		return err
	}
	return a.acceptSender(&at, to, caller)
}

// permitVia refuses a caller who may not send to the entity of a link.
func (c *connection) permitVia(f found, caller auth.Identity) error {
	action, needs := f.sending()
	of := c.begin(c.ctx, action, needs, service.Changes, caller)
	err := of.on(f.resource, needs)
	of.end(err)
	return err
}

// sending returns the action of a link that sends to an entity, and its permission.
func (f *found) sending() (action string, needs permission) {
	if f.resource.Topic != "" {
		return "PublishLink", toPublish
	}
	return "SendLink", toSend
}

// acceptSender accepts a link whose client sends.
func (a *attachment) acceptSender(at *address, f found, caller auth.Identity) error {
	of := a.connection
	action, needs := f.sending()
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
	if len(d.State) > 0 {
		p.enlist(d)
		p.call.server.work.Done()
		return
	}
	entries, err := p.read(d)
	if err != nil || len(entries) == 0 {
		p.answer(d, err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, &outgoing{delivery: d, entries: entries, batch: d.Format == formatBatch, bytes: len(d.Message)})
	p.dispatch()
}

// read returns the messages of a transfer, if the client may send them.
func (p *producer) read(d *amqp.Delivery) ([]queue.SendEntry, error) {
	entries, err := p.content.readEntries(d.Message, d.Format, p.call.server.Now().UnixMilli())
	if err == nil {
		err = p.call.permits(p.needs)
	}
	if err == nil {
		err = p.call.charge()
	}
	return entries, err
}

// enlist makes the messages of a transfer a part of a transaction. The SDK for Java ignores the outcomes of
// such transfers: a refusal must fail the commit. Without a transaction only the end of the link is an error
// that it reports.
func (p *producer) enlist(d *amqp.Delivery) {
	p.mu.Lock()
	var state wire.State
	none := errUnknown
	if !p.broken { // the client sends the message again over another link
		state, none = p.addTo(d)
	}
	if none == nil {
		d.Settle(state) // before another goroutine detaches the link
	}
	p.mu.Unlock()
	if none != nil {
		p.abandon(failure(detachForced, none.Description))
		d.Settle(wire.State{Code: wire.CodeReleased}) // without effect on a detached link
	}
}

// addTo adds a part to a transaction, and returns the answer. An error says that there is no such transaction.
func (p *producer) addTo(d *amqp.Delivery) (answer wire.State, none *wire.Error) {
	t, err := p.link.connection.transactionOf(d.State)
	var entries []queue.SendEntry
	if err == nil {
		entries, err = p.read(d)
	}
	if err == nil && len(entries) > 0 {
		err = t.add(part{call: p.call, path: p.link.path, needs: p.needs, entries: entries})
	}
	if err == nil {
		return t.state(wire.State{Code: wire.CodeAccepted}), nil
	}
	of, _ := p.call.server.errorOf(err) // nothing was written
	if t != nil {
		t.fail(of)
	}
	if of == errNoTransaction {
		return answer, of
	}
	return rejected(of), nil
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
			p.abandon(errUnknown)
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
func (p *producer) abandon(err *wire.Error) {
	p.mu.Lock()
	p.broken = true
	p.mu.Unlock()
	p.ready.Wait()
	p.link.detach(err)
}
