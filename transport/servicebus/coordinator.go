package servicebus

import (
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/seriatimq/seriatim/transport/amqp"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

const (
	coordinatorCredit   = 100
	coordinatorBytesMax = 4 << 10
	transactionIDBytes  = 16
)

// coordinator handles a link that declares and discharges transactions. Its end rolls back those that are
// open. Safe for concurrent use.
type coordinator struct {
	connection *connection
	ready      sync.WaitGroup // until link is set
	link       *amqp.Receiver
}

// acceptCoordinator accepts a link to the coordinator. It needs no token, and the SDK for Java may attach it
// before it puts any: the links of the operations need them.
func (a *attachment) acceptCoordinator() {
	o := &coordinator{connection: a.connection}
	o.ready.Add(1)
	defer o.ready.Done()
	o.link = a.request.Receive(o, coordinatorCredit, coordinatorBytesMax, amqp.Answer{})
}

// Received declares or discharges a transaction.
func (o *coordinator) Received(d *amqp.Delivery) {
	m, err := wire.ReadMessage(d.Message)
	if err != nil {
		d.Settle(rejected(failure(decodeError, err.Error())))
		return
	}
	r := request{message: m}
	switch code, list, _ := r.body().Descriptor(); code {
	case wire.CodeDeclare:
		o.declare(d, list)
	case wire.CodeDischarge:
		discharge, err := wire.ReadDischarge(r.body())
		if err != nil {
			d.Settle(rejected(failure(decodeError, err.Error())))
			return
		}
		o.discharge(d, string(discharge.TxnID), discharge.Fail)
	default:
		d.Settle(rejected(failure(notImplemented, "The coordinator has the operations declare and discharge.")))
	}
}

func rejected(err *wire.Error) wire.State { return wire.State{Code: wire.CodeRejected, Error: err} }

// declare begins a transaction.
func (o *coordinator) declare(d *amqp.Delivery, fields wire.Value) {
	for global := range fields.List() {
		if !global.IsNull() {
			d.Settle(rejected(failure(notImplemented, "Global transactions are not supported.")))
			return
		}
	}
	id := make([]byte, transactionIDBytes)
	if _, err := io.ReadFull(o.connection.server.Random, id); err != nil {
		of, _ := o.connection.server.errorOf(err)
		d.Settle(rejected(of))
		return
	}
	if !o.connection.declare(&transaction{owner: o, id: string(id)}) {
		d.Settle(rejected(failure(resourceLimitExceeded, "The connection has too many transactions that are not discharged.")))
		return
	}
	d.Settle(wire.State{Code: wire.CodeDeclared, TxnID: id})
}

func (c *connection) declare(t *transaction) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.transactions) >= transactionsMax { // a client may forget those that failed
		maps.DeleteFunc(c.transactions, func(_ string, t *transaction) bool { return t.failed() })
	}
	if len(c.transactions) >= transactionsMax || c.ended {
		return false
	}
	if c.transactions == nil {
		c.transactions = make(map[string]*transaction)
	}
	c.transactions[t.id] = t
	return true
}

// discharge commits a transaction or rolls it back. Operations that arrived before are parts of it.
func (o *coordinator) discharge(d *amqp.Delivery, id string, rollback bool) {
	c := o.connection
	t, err := c.transaction([]byte(id))
	if err == nil && t.owner != o {
		err = errNoTransaction
	}
	if c.isUncertain(id) {
		o.unknown(d)
		return
	}
	if err == nil && rollback {
		c.forget(t)
		d.Settle(wire.State{Code: wire.CodeAccepted})
		return
	}
	var parts []part
	if err == nil {
		parts, err = t.begin()
	}
	if err != nil {
		of, _ := c.server.errorOf(err)
		if t != nil && of != errNoTransaction {
			c.forget(t)
		}
		d.Settle(rejected(of))
		return
	}
	c.server.work.Go(func() { o.finish(d, t, c.commit(parts)) })
}

// finish answers a commit.
func (o *coordinator) finish(d *amqp.Delivery, t *transaction, err error) {
	if err == nil {
		o.connection.forget(t)
		d.Settle(wire.State{Code: wire.CodeAccepted})
		return
	}
	of, certain := o.connection.server.errorOf(err)
	switch {
	case !certain:
		o.connection.note(t)
		o.unknown(d)
		return
	case of.Condition == serverBusy: // clients discharge it again
		t.again()
	default:
		o.connection.forget(t)
	}
	d.Settle(rejected(of))
}

// unknown detaches the link, because the outcome of a transaction is unknown.
func (o *coordinator) unknown(d *amqp.Delivery) {
	o.ready.Wait()
	if o.link != nil {
		o.link.Detach(errTransactionUnknown)
	}
	d.Settle(wire.State{Code: wire.CodeReleased}) // without effect on a detached link
}

// forget ends a transaction.
func (c *connection) forget(t *transaction) {
	c.mu.Lock()
	delete(c.transactions, t.id)
	c.mu.Unlock()
	t.end()
}

// note remembers a transaction with an unknown outcome, for a client that discharges it again.
func (c *connection) note(t *transaction) {
	c.forget(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.uncertain) >= transactionsMax {
		c.uncertain = slices.Delete(c.uncertain, 0, 1)
	}
	c.uncertain = append(c.uncertain, t.id)
}

func (c *connection) isUncertain(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.uncertain, id)
}

// Ended rolls back the transactions of the link. One that is being committed is not affected.
func (o *coordinator) Ended(*wire.Error) {
	var open []*transaction
	c := o.connection
	c.mu.Lock()
	for _, t := range c.transactions {
		if t.owner == o {
			open = append(open, t)
		}
	}
	c.mu.Unlock()
	for _, t := range open {
		c.forget(t)
	}
}
