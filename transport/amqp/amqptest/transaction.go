package amqptest

import "github.com/seriatimq/seriatim/transport/amqp/wire"

// Accepted is the state of messages that a server has taken, or a client.
var Accepted = wire.State{Code: wire.CodeAccepted}

// Within returns the state of an outcome in a transaction.
func Within(txn []byte, outcome wire.State) wire.Value {
	return (&wire.State{Code: wire.CodeTransactionalState, TxnID: txn, Outcome: outcome.Append(nil)}).Append(nil)
}

// Declare returns the message that begins a transaction.
func Declare() []byte { return valueMessage(wire.AppendDeclare(nil)) }

// Discharge returns the message that commits a transaction, or rolls it back.
func Discharge(txn []byte, rollback bool) []byte {
	return valueMessage((&wire.Discharge{TxnID: txn, Fail: rollback}).Append(nil))
}

func valueMessage(described []byte) []byte {
	return append(wire.AppendDescriptor(nil, wire.CodeValue), described...)
}

// Text returns a message with an id.
func Text(id, text string) []byte {
	b := (&wire.Properties{MessageID: wire.AppendString(nil, id)}).Append(nil)
	return wire.AppendBinary(wire.AppendDescriptor(b, wire.CodeData), []byte(text))
}

// Declare begins a transaction.
func (c *Client) Declare(coordinator uint32) []byte {
	c.t.Helper()
	got := c.Send(coordinator, nil, Declare())
	if got.Code != wire.CodeDeclared {
		c.t.Fatalf("the answer to declare is %+v", got)
	}
	return got.TxnID
}

// Discharge ends a transaction.
func (c *Client) Discharge(coordinator uint32, txn []byte, rollback bool) wire.State {
	c.t.Helper()
	return c.Send(coordinator, nil, Discharge(txn, rollback))
}

// Commit commits a transaction, and fails the test if it does not succeed.
func (c *Client) Commit(coordinator uint32, txn []byte) {
	c.t.Helper()
	if got := c.Discharge(coordinator, txn, false); got.Code != wire.CodeAccepted {
		c.t.Fatalf("the answer to a commit is %+v %v", got, got.Error)
	}
}

// Dispose sends the outcome of a received message in a transaction, and returns the answer.
func (c *Client) Dispose(d wire.Transfer, txn []byte, outcome wire.State) wire.State {
	c.t.Helper()
	id := d.DeliveryID.Value
	c.Frame(&wire.Disposition{Role: wire.Receiver, First: id, Last: id, State: Within(txn, outcome)})
	return c.answer()
}
