package amqp

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/budget"
)

// transaction holds messages until it is discharged.
type transaction struct {
	conn     *Conn
	messages []transacted
	bytes    int64
}

type transacted struct {
	queue   *memoryQueue
	message []byte
}

// coordinator handles a link that declares and discharges transactions.
type coordinator struct {
	broker *broker
	conn   *Conn
	open   map[string]*transaction
}

var unknownTransaction = wire.State{Code: wire.CodeRejected, Error: failure("amqp:transaction:unknown-id", "There is no such transaction.")}

func (o *coordinator) Received(d *Delivery) {
	b := o.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	m, err := wire.ReadMessage(d.Message)
	var request wire.Value
	if err == nil && m.BodyCode == wire.CodeValue {
		for request = range m.BodySections() {
			break
		}
	}
	if code, _, _ := request.Descriptor(); code == wire.CodeDeclare {
		b.declared++
		id := binary.BigEndian.AppendUint64(nil, b.declared)
		o.open[string(id)] = &transaction{conn: o.conn}
		b.transactions[string(id)] = o.open[string(id)]
		d.Settle(wire.State{Code: wire.CodeDeclared, TxnID: id})
		return
	}
	discharge, err := wire.ReadDischarge(request)
	t := o.open[string(discharge.TxnID)]
	if err != nil || t == nil {
		d.Settle(unknownTransaction)
		return
	}
	o.end(string(discharge.TxnID))
	if !discharge.Fail {
		for _, one := range t.messages {
			one.queue.messages = append(one.queue.messages, one.message)
			one.queue.pump()
		}
	}
	d.Settle(wire.State{Code: wire.CodeAccepted})
}

// end needs the mutex of the broker.
func (o *coordinator) end(id string) {
	o.conn.Drop(o.open[id].bytes)
	delete(o.broker.transactions, id)
	delete(o.open, id)
}

func (o *coordinator) Ended(err *wire.Error) {
	o.broker.mu.Lock()
	for id := range o.open {
		o.end(id)
	}
	o.broker.mu.Unlock()
	o.broker.noteEnd("coordinator", err)
}

// enlist keeps a message of a transaction. It needs the mutex of the broker.
func (p *producer) enlist(d *Delivery) {
	state, err := wire.ReadState(d.State)
	t := p.broker.transactions[string(state.TxnID)]
	size := int64(len(d.Message))
	switch {
	case err != nil || t == nil || t.conn != p.conn:
		d.Settle(unknownTransaction)
	case !p.conn.Keep(size):
		d.Settle(wire.State{Code: wire.CodeRejected, Error: failure(ResourceLimitExceeded, "There is no memory for the transaction.")})
	default:
		t.messages = append(t.messages, transacted{p.queue, bytes.Clone(d.Message)})
		t.bytes += size
		d.Settle(within(state.TxnID, wire.CodeAccepted))
	}
}

// within returns the state of an outcome in a transaction.
func within(txn []byte, code uint64) wire.State {
	outcome := wire.State{Code: code}
	return wire.State{Code: wire.CodeTransactionalState, TxnID: txn, Outcome: outcome.Append(nil)}
}

// coordinatorLink is the attach of a link to the coordinator.
func coordinatorLink(handle uint32) *wire.Attach {
	a := attachment(handle, wire.Sender, "")
	a.Target = (&wire.Target{Coordinator: true, Capabilities: wire.AppendSymbol(nil, "amqp:multi-txns-per-ssn")}).Append(nil)
	return a
}

func value(described []byte) []byte {
	return append(wire.AppendDescriptor(nil, wire.CodeValue), described...)
}

// transfer is a transfer of a message within a transaction.
func transferWithin(handle, id uint32, txn []byte) *wire.Transfer {
	state := within(txn, wire.CodeAccepted)
	return &wire.Transfer{
		Handle: handle, DeliveryID: wire.Some(id), DeliveryTag: binary.BigEndian.AppendUint32(nil, id), State: state.Append(nil),
	}
}

// state reads frames up to a disposition, and its state.
func (p *raw) state(id uint32) wire.State {
	p.t.Helper()
	d := p.disposition()
	if d.First != id || !d.Settled {
		p.t.Fatalf("a disposition of %d, settled %v, want %d", d.First, d.Settled, id)
	}
	s, err := wire.ReadState(d.State)
	clustertest.Must(p.t, err)
	return s
}

// TestTransactions declares and discharges transactions, with transfers and outcomes in other sessions
// than that of the coordinator.
func TestTransactions(t *testing.T) {
	b := newBroker()
	s := serve(t, b, budget.New(testBudget))
	p := dialRaw(t, s).open().begin(0).begin(1)
	p.frame(0, coordinatorLink(0)).want(wire.CodeAttach)
	p.until(wire.CodeFlow)
	p.attach(1, 0, wire.Sender, "q").until(wire.CodeFlow)
	id := uint32(0)
	declare := func() []byte {
		t.Helper()
		p.message(0, 0, id, value(wire.AppendDeclare(nil)))
		declared := p.state(id)
		id++
		if declared.Code != wire.CodeDeclared || len(declared.TxnID) == 0 {
			t.Fatalf("the answer to declare is %+v", declared)
		}
		return declared.TxnID
	}
	discharge := func(txn []byte, fail bool) wire.State {
		t.Helper()
		p.message(0, 0, id, value((&wire.Discharge{TxnID: txn, Fail: fail}).Append(nil)))
		id++
		return p.state(id - 1)
	}
	first, second := declare(), declare()
	for i, txn := range [][]byte{first, second, first} {
		p.frame(1, transferWithin(0, uint32(i), txn), data(i+1)...)
		if got := p.state(uint32(i)); got.Code != wire.CodeTransactionalState || !bytes.Equal(got.TxnID, txn) {
			t.Fatalf("the answer in a transaction is %+v", got)
		}
	}
	if left := b.left("q"); left != 0 {
		t.Fatalf("%d messages before the discharge", left)
	}
	if got := discharge(second, true); got.Code != wire.CodeAccepted || b.left("q") != 0 {
		t.Fatalf("the answer to a rollback is %+v", got)
	}
	if got := discharge(first, false); got.Code != wire.CodeAccepted || b.left("q") != 2 {
		t.Fatalf("the answer to a commit is %+v, %d messages", got, b.left("q"))
	}
	if got := discharge(first, false); got.Code != wire.CodeRejected || got.Error.Condition != "amqp:transaction:unknown-id" {
		t.Fatalf("the answer to a second discharge is %+v", got)
	}

	// The outcome of a received message.
	third := declare()
	p.attach(1, 1, wire.Receiver, "q").until(wire.CodeAttach)
	p.flow(1, 1, 0, 1)
	transfer, err := wire.ReadTransfer(p.until(wire.CodeTransfer).list)
	clustertest.Must(t, err)
	outcome := within(third, wire.CodeReleased)
	at := transfer.DeliveryID.Value
	p.frame(1, &wire.Disposition{Role: wire.Receiver, First: at, Last: at, State: outcome.Append(nil)})
	if got := p.state(at); got.Code != wire.CodeTransactionalState || !bytes.Equal(got.TxnID, third) ||
		!bytes.Equal(got.Outcome, outcome.Outcome) {
		t.Fatalf("the answer to an outcome in a transaction is %+v", got)
	}
	if got := codesOf(b.outcomes("q")); !slices.Equal(got, []uint64{wire.CodeTransactionalState}) {
		t.Fatalf("the outcomes are %x", got)
	}

	// The end of the coordinator's link rolls back.
	p.frame(1, transferWithin(0, 3, third), data(1)...)
	if got := p.state(3); got.Code != wire.CodeTransactionalState {
		t.Fatalf("the answer in a transaction is %+v", got)
	}
	p.frame(0, &wire.Detach{Handle: 0, Closed: true}).until(wire.CodeDetach)
	b.await(t, "coordinator")
	p.frame(1, transferWithin(0, 4, third), data(1)...)
	if got := p.state(4); got.Code != wire.CodeRejected {
		t.Fatalf("the answer after the end of the coordinator is %+v", got)
	}
}

// TestLargeTransactions checks that what the handler keeps is bounded and given back.
func TestLargeTransactions(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, b *broker, _ *budget.Bytes) {
		p := pipe(t, s)
		p.open().begin(0)
		p.frame(0, coordinatorLink(0)).until(wire.CodeFlow)
		p.attach(0, 1, wire.Sender, "q").until(wire.CodeFlow)
		p.message(0, 0, 0, value(wire.AppendDeclare(nil)))
		txn := p.state(0).TxnID
		accepted := int64(0)
		for id := uint32(1); ; id++ {
			message := data(30_000)
			p.frame(0, transferWithin(1, id, txn), message...)
			if got := p.state(id); got.Code == wire.CodeRejected {
				break
			}
			accepted += int64(len(message))
		}
		if accepted > keptMax || accepted < keptMax-40_000 {
			t.Fatalf("%d bytes were kept", accepted)
		}
		c := <-b.conns
		if got := held(c)[kept]; got != accepted {
			t.Fatalf("%d bytes count, want %d", got, accepted)
		}
		p.conn.Close()
		b.await(t, "connection")
		if got := held(c)[kept]; got != 0 {
			t.Fatalf("%d bytes count at the end", got)
		}
	})
}
