package servicebus

import (
	"slices"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/service"
)

const (
	// transactionsMax bounds the transactions of a connection that are not discharged.
	transactionsMax = 100
	// transactionTime is that of Service Bus.
	transactionTime = 2 * time.Minute
	// partBytes is the memory of a part beside its contents.
	partBytes = 512
)

// Conditions of transactions.
const (
	unknownTransaction  = "amqp:transaction:unknown-id"
	transactionTimedOut = "amqp:transaction:timeout"
)

var (
	errNoTransaction = failure(unknownTransaction, "The connection has no transaction with this id: it was rolled back, or its "+
		"outcome is unknown.")
	errTransactionTime = failure(transactionTimedOut, "The transaction was rolled back, because it took longer than two minutes.")
	errTransactionFull = failure(resourceLimitExceeded, "The transaction was rolled back, because it is too large.")
	// errTransactionUnknown must not look like a failure: the transaction may be committed.
	errTransactionUnknown = failure(detachForced, "The outcome of the transaction is unknown: it is committed as a whole or not at all.")
)

// transaction collects what a client does under a transaction id. The commit is one command. Safe for
// concurrent use.
type transaction struct {
	owner *coordinator
	id    string

	mu      sync.Mutex
	parts   []part
	entries int
	bytes   int64       // that the connection counts
	refused *wire.Error // set: it cannot be committed
	over    bool        // discharged, or being discharged
	late    *wire.Error // an error that came during a commit
	timer   *time.Timer // nil until the first part
}

// part is one operation of a transaction. It has entries, or a settlement.
type part struct {
	call    *call
	path    string // that a token must cover
	needs   permission
	entries []queue.SendEntry // to send
	in      queue.SessionRef  // of the settlement
	does    settlement
}

// size returns the bytes of a part.
func (p *part) size() int64 {
	n := int64(partBytes)
	for i := range p.entries {
		e := &p.entries[i]
		n += int64(len(e.Body)) + e.Encoded.Size() + partBytes
	}
	n += int64(len(p.does.token) + len(p.does.reason) + len(p.does.description) + len(p.in.SessionID))
	for _, c := range p.does.changes {
		n += int64(len(c.Name)+len(c.Value)) + partBytes
	}
	return n
}

// transactionOf finds the transaction of a delivery state, nil without a state.
func (c *connection) transactionOf(encoded wire.Value) (*transaction, error) {
	if len(encoded) == 0 {
		return nil, nil //nolint:nilnil // a delivery outside of transactions
	}
	state, err := wire.ReadState(encoded)
	if err != nil {
		return nil, failure(decodeError, err.Error())
	}
	if state.Code != wire.CodeTransactionalState {
		return nil, failure(notImplemented, "The state of a message is not that of a transaction.")
	}
	return c.transaction(state.TxnID)
}

// transaction finds a transaction by its id.
func (c *connection) transaction(id []byte) (*transaction, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.transactions[string(id)]; t != nil {
		return t, nil
	}
	return nil, errNoTransaction
}

// state returns the state of a delivery with an outcome in the transaction.
func (t *transaction) state(outcome wire.State) wire.State {
	return wire.State{Code: wire.CodeTransactionalState, TxnID: []byte(t.id), Outcome: outcome.Append(nil)}
}

// add adds a part, or says why the transaction cannot be committed any more.
func (t *transaction) add(p part) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.refused != nil:
		return t.refused
	case t.over:
		return errNoTransaction
	}
	size := p.size()
	more := max(len(p.entries), 1)
	if t.entries+more > limits.AtomicEntriesMax || t.bytes+size > 2*limits.BatchBytesMax || !t.owner.connection.conn.Keep(size) {
		t.refuse(errTransactionFull)
		return errTransactionFull
	}
	t.parts = append(t.parts, p)
	t.entries += more
	t.bytes += size
	if t.timer == nil {
		t.timer = time.AfterFunc(t.owner.connection.server.transactionTime, func() { t.fail(errTransactionTime) })
	}
	return nil
}

// fail makes the commit of the transaction an error, because its time is over or an operation was refused:
// a client that does not look at the refusal must not commit the others.
func (t *transaction) fail(err *wire.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over:
		t.late = err
	case t.refused == nil:
		t.refuse(err)
	}
}

// refuse needs the mutex.
func (t *transaction) refuse(err *wire.Error) {
	t.refused = err
	t.drop()
}

// drop forgets the parts. It needs the mutex.
func (t *transaction) drop() {
	t.owner.connection.conn.Drop(t.bytes)
	t.parts, t.entries, t.bytes = nil, 0, 0
	if t.timer != nil {
		t.timer.Stop()
	}
}

// failed reports whether the transaction can only be rolled back.
func (t *transaction) failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused != nil
}

// begin begins the commit, and returns the parts.
func (t *transaction) begin() ([]part, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.refused != nil:
		return nil, t.refused
	case t.over:
		return nil, errNoTransaction
	}
	t.over = true
	return t.parts, nil
}

// again lets the client discharge the transaction again, after a commit that wrote nothing.
func (t *transaction) again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over = false; t.late != nil {
		t.refuse(t.late)
	}
}

// end rolls the transaction back, unless it is committed already.
func (t *transaction) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	t.drop()
}

// commit executes the parts as one command.
func (c *connection) commit(parts []part) error {
	if len(parts) == 0 {
		return nil
	}
	first := &parts[0]
	of := c.begin(c.ctx, "CommitTransaction", first.needs, service.Changes, first.call.Identity)
	of.queue, of.Resource = first.call.queue, first.call.Resource
	of.Record.Queue, of.Record.Topic = of.Resource.Name, of.Resource.Topic
	of.Record.Announce()
	err := c.permitParts(parts)
	if err == nil {
		_, _, err = submit[queue.TransactionCommitted](of, command(parts))
	}
	of.end(err)
	return err
}

// permitParts checks the permissions of all parts again.
func (c *connection) permitParts(parts []part) error {
	for i := range parts {
		p := &parts[i]
		if _, known := c.callerFor(p.path); !known {
			return failure(unauthorizedAccess, "The token of a link of the transaction has expired.")
		}
		if err := p.call.permits(p.needs); err != nil {
			return err
		}
	}
	return nil
}

// actions has the settlements of the state machine.
var actions = [...]queue.SettlementAction{
	complete: queue.CompleteMessage, release: queue.GiveBackMessage, abandon: queue.AbandonMessage, postpone: queue.DeferMessage,
	deadLetter: queue.DeadLetterMessage,
}

// command returns the command for parts. Messages of one entity keep their order.
func command(parts []part) *queue.CommitTransaction {
	cmd := &queue.CommitTransaction{}
	for i := range parts {
		p := &parts[i]
		switch {
		case p.entries == nil:
			cmd.Settlements = append(cmd.Settlements, queue.Settlement{
				Queue: p.call.queue, Session: p.in, Action: actions[p.does.kind], Changes: p.does.changes,
				DeadLetterEntry: queue.DeadLetterEntry{Handle: p.does.token, Reason: p.does.reason, Description: p.does.description},
			})
		case p.call.Resource.Topic != "":
			publish := p.call.publish(p.entries)
			at := slices.IndexFunc(cmd.Publishes, func(o queue.Publish) bool { return o.Topic == publish.Topic })
			if at < 0 {
				cmd.Publishes = append(cmd.Publishes, *publish)
			} else {
				cmd.Publishes[at].Entries = append(cmd.Publishes[at].Entries, publish.Entries...)
			}
		default:
			at := slices.IndexFunc(cmd.Sends, func(o queue.SendMessages) bool { return o.Queue == p.call.queue })
			if at < 0 {
				at = len(cmd.Sends)
				cmd.Sends = append(cmd.Sends, queue.SendMessages{
					Queue: p.call.queue, SenderID: p.call.SenderID(), Batch: true, Atomic: true,
				})
			}
			cmd.Sends[at].Entries = append(cmd.Sends[at].Entries, p.entries...)
		}
	}
	return cmd
}
