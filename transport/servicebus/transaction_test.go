package servicebus

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/Azure/go-amqp"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/amqp/amqptest"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/auth/sas"
)

// transacting is a client with transactions.
type transacting struct {
	*amqptest.Client
	t *testing.T
}

func (f *fixture) transacting() transacting {
	f.t.Helper()
	return transacting{amqptest.Dial(f.t, f.port.Addr().String()), f.t}
}

// receive receives a message. before is the number of those that the link had before.
func (c transacting) receive(link, before uint32) wire.Transfer {
	c.t.Helper()
	c.Credit(link, before, 1)
	d, _ := c.Take()
	return d
}

// request makes a request with properties, names before values, to a node that has a link for responses.
func (c transacting) request(link uint32, state, body wire.Value, properties ...string) (status int64, answer wire.State) {
	c.t.Helper()
	b := (&wire.Properties{MessageID: wire.AppendUlong(nil, 1)}).Append(nil)
	b, mark := wire.BeginMap(wire.AppendDescriptor(b, wire.CodeApplicationProperties))
	for _, text := range properties {
		b = wire.AppendString(b, text)
	}
	c.Transfer(link, state, wire.AppendValue(wire.AppendDescriptor(mark.End(b), wire.CodeValue), body))
	answer, err := c.Answer()
	clustertest.Must(c.t, err)
	_, m := c.Take()
	status, _ = m.ApplicationProperties.Lookup("statusCode").Integer()
	return status, answer
}

// wantIn fails the test unless an operation is a part of the transaction.
func (c transacting) wantIn(txn []byte, got wire.State) {
	c.t.Helper()
	outcome, err := wire.ReadState(got.Outcome)
	if got.Code != wire.CodeTransactionalState || !bytes.Equal(got.TxnID, txn) || err != nil || outcome.Code == wire.CodeRejected {
		c.t.Fatalf("the answer in a transaction is %+v %v", got, got.Error)
	}
}

func (c transacting) wantRejected(condition string, got wire.State) {
	c.t.Helper()
	if got.Code != wire.CodeRejected || got.Error == nil || got.Error.Condition != condition {
		c.t.Fatalf("the answer is %+v %v, want %s", got, got.Error, condition)
	}
}

// wantNone fails the test unless the server has detached a link, because there is no such transaction.
func (c transacting) wantNone(link uint32, got wire.State) {
	c.t.Helper()
	if err := c.Detached[link]; got.Code != 0 || err == nil || err.Condition != detachForced ||
		!strings.Contains(err.Description, "no transaction with this id") {
		c.t.Fatalf("the answer is %+v, the link is detached with %v", got, err)
	}
}

// bodies returns the messages of a queue without receiving them.
func (f *fixture) bodies(name string) (texts []string) {
	f.t.Helper()
	_, err := node.Read(f.t.Context(), func(v queue.View) error {
		peeked, refused := v.Peek(name+".fifo", 0, "", 1000)
		if refused != nil {
			return refused
		}
		for i := range peeked {
			body, err := v.Bodies().Read(peeked[i].Body)
			if err != nil {
				return err
			}
			m, err := wire.ReadMessage([]byte(peeked[i].Encoded.Sections + body.String()))
			if err != nil {
				return err
			}
			for section := range m.BodySections() {
				content, _ := section.Binary()
				texts = append(texts, string(content))
			}
		}
		return nil
	})
	clustertest.Must(f.t, err)
	return texts
}

func (f *fixture) wantBodies(name string, want ...string) {
	f.t.Helper()
	if got := f.bodies(name); !slices.Equal(got, want) {
		f.t.Fatalf("%s has %q, want %q", name, got, want)
	}
}

// A transaction sends to several entities and completes a received message, and nothing happens before the
// commit.
func TestTransaction(t *testing.T) {
	f := newFixture(t, nil)
	from, to, topic := f.create(plain), f.create(plain), f.createTopic(plain)
	subscribed := f.subscribe(topic, "s", plain)
	c := f.transacting()
	o := c.Coordinator()
	intoFrom, intoTo, intoTopic, out := c.Sender(from), c.Sender(to), c.Sender(topic), c.Receiver(from)
	if got := c.Send(intoFrom, nil, amqptest.Text("1", "job")); got.Code != wire.CodeAccepted {
		t.Fatalf("%+v", got)
	}
	id := c.receive(out, 0)
	txn := c.Declare(o)
	c.wantIn(txn, c.Send(intoTo, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("2", "first")))
	c.wantIn(txn, c.Send(intoTopic, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("3", "news")))
	c.wantIn(txn, c.Send(intoTo, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("4", "second")))
	c.wantIn(txn, c.Dispose(id, txn, amqptest.Accepted))
	f.wantBodies(from, "job")
	f.wantBodies(to)
	c.Commit(o, txn)
	f.wantBodies(from)
	f.wantBodies(to, "first", "second")
	if m := f.receive(f.receiver(f.session(), subscribed, nil)); string(m.GetData()) != "news" {
		t.Fatalf("the subscription has %q", m.GetData())
	}
	c.wantRejected(unknownTransaction, c.Discharge(o, txn, false))

	// A repeated transaction stores nothing again.
	again := c.Declare(o)
	c.wantIn(again, c.Send(intoTo, amqptest.Within(again, amqptest.Accepted), amqptest.Text("2", "first")))
	c.Commit(o, again)
	f.wantBodies(to, "first", "second")
	empty := c.Declare(o)
	c.Commit(o, empty)
}

// Every outcome has a place in a transaction.
func TestOutcomesInTransaction(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(plain)
	c := f.transacting()
	o, into, out := c.Coordinator(), c.Sender(name), c.Receiver(name)
	txn := c.Declare(o)
	annotations, mark := wire.BeginMap(nil)
	annotations = mark.End(wire.AppendString(wire.AppendSymbol(annotations, "tried"), "yes"))
	info, mark := wire.BeginMap(nil)
	info = mark.End(wire.AppendString(wire.AppendSymbol(info, infoReason), "poison"))
	for i, outcome := range []wire.State{
		{Code: wire.CodeModified, DeliveryFailed: true, Annotations: annotations},
		{Code: wire.CodeReleased},
		{Code: wire.CodeModified, UndeliverableHere: true},
		{Code: wire.CodeRejected, Error: &wire.Error{Condition: "com.microsoft:dead-letter", Info: info}},
	} {
		c.Send(into, nil, amqptest.Text(string(rune('a'+i)), string(rune('a'+i))))
		id := c.receive(out, uint32(i))
		got := c.Dispose(id, txn, outcome)
		inner, err := wire.ReadState(got.Outcome)
		if got.Code != wire.CodeTransactionalState || err != nil || inner.Code != outcome.Code {
			t.Fatalf("the answer to %+v is %+v %v", outcome, got, err)
		}
	}
	c.Commit(o, txn)
	f.wantBodies(name, "a", "b", "c")
	r := f.receiver(f.session(), name, nil)
	if m := f.receive(r); m.ApplicationProperties["tried"] != "yes" || m.Header.DeliveryCount != 1 {
		t.Errorf("abandoned: %v %+v", m.ApplicationProperties, m.Header)
	}
	if m := f.receive(r); m.Header.DeliveryCount != 0 {
		t.Errorf("released: %+v", m.Header)
	}
	dead := f.receive(f.receiver(f.session(), name+"/$DeadLetterQueue", nil))
	if dead.ApplicationProperties[infoReason] != "poison" || string(dead.GetData()) != "d" {
		t.Errorf("dead-lettered: %v %q", dead.ApplicationProperties, dead.GetData())
	}
}

// A rollback, by the client or by the end of the link or of the connection, leaves everything as it was: the
// message is still locked, and a management request can complete it.
func TestRollback(t *testing.T) {
	for _, how := range []string{"discharge", "detach", "close"} {
		t.Run(how, func(t *testing.T) {
			f := newFixture(t, nil)
			name := f.create(plain, queue.Attribute{Name: "VisibilityTimeout", Value: "300"})
			c := f.transacting()
			o, into := c.Coordinator(), c.Sender(name)
			c.Send(into, nil, amqptest.Text("1", "job"))
			c.Send(into, nil, amqptest.Text("2", "other"))
			out := c.Receiver(name)
			got := c.receive(out, 0)
			txn := c.Declare(o)
			c.wantIn(txn, c.Send(into, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("3", "never")))
			c.wantIn(txn, c.Dispose(got, txn, amqptest.Accepted))
			switch how {
			case "discharge":
				if got := c.Discharge(o, txn, true); got.Code != wire.CodeAccepted {
					t.Fatalf("%+v", got)
				}
			case "detach":
				c.Detach(o)
				c.wantNone(into, c.Send(into, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("4", "never")))
			case "close":
				clustertest.Must(t, c.Conn.Close())
			}
			f.wantBodies(name, "job", "other")
			var lock client.UUID
			copy(lock[:], swapped(got.DeliveryTag))
			f.manage(f.session(), name+"/$management").want(200, "update-disposition",
				map[string]any{"disposition-status": "completed", "lock-tokens": []client.UUID{lock}})
			f.wantBodies(name, "other")
		})
	}
}

// swapped returns the lock token of a delivery tag.
func swapped(tag []byte) []byte { return deliveryTag([16]byte(tag)) }

// A lost lock refuses the whole transaction.
func TestLostLockInTransaction(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(plain)
	c := f.transacting()
	o, into, out := c.Coordinator(), c.Sender(name), c.Receiver(name)
	c.Send(into, nil, amqptest.Text("1", "job"))
	id := c.receive(out, 0)
	txn := c.Declare(o)
	c.wantIn(txn, c.Send(into, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("2", "never")))
	c.wantIn(txn, c.Dispose(id, txn, amqptest.Accepted))
	clustertest.Must(t, clustertest.Err(node.Submit(t.Context(), &queue.PurgeQueue{Queue: name + ".fifo"})))
	c.wantRejected(messageLockLost, c.Discharge(o, txn, false))
	f.wantBodies(name)
	c.wantRejected(unknownTransaction, c.Discharge(o, txn, false))
}

// An operation that is refused, too much in a transaction, and too long a time roll it back.
func TestRefusedTransaction(t *testing.T) {
	f := newFixture(t, nil)
	name, grouped := f.create(plain), f.create(withSessions)
	c := f.transacting()
	o, into, wrong := c.Coordinator(), c.Sender(name), c.Sender(grouped)
	txn := c.Declare(o)
	c.wantRejected(notAllowed, c.Send(wrong, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("1", "without a session")))
	c.wantRejected(notAllowed, c.Send(into, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("2", "never")))
	c.wantRejected(notAllowed, c.Discharge(o, txn, false))

	f.server.transactionTime = time.Nanosecond // from the first part
	slow := c.Declare(o)
	c.wantIn(slow, c.Send(into, amqptest.Within(slow, amqptest.Accepted), amqptest.Text("3", "never")))
	for {
		got := c.Send(into, amqptest.Within(slow, amqptest.Accepted), amqptest.Text("4", "never"))
		if got.Code == wire.CodeRejected {
			c.wantRejected(transactionTimedOut, got)
			break
		}
	}
	c.wantRejected(transactionTimedOut, c.Discharge(o, slow, false))

	f.server.transactionTime = time.Hour
	large := c.Declare(o)
	c.fill(large, into)
	c.wantRejected(resourceLimitExceeded, c.Discharge(o, large, false))
	f.wantBodies(name)

	// Only transactions that failed make room for others.
	failed := c.Declare(o)
	c.fill(failed, into)
	for range transactionsMax {
		c.Declare(o)
	}
	c.wantRejected(resourceLimitExceeded, c.Send(o, nil, amqptest.Declare()))
	c.wantRejected(unknownTransaction, c.Discharge(o, failed, false))
}

// fill sends in a transaction until it is too large.
func (c transacting) fill(txn []byte, into uint32) {
	c.t.Helper()
	for {
		got := c.Send(into, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("5", strings.Repeat("x", 500_000)))
		if got.Code == wire.CodeRejected {
			c.wantRejected(resourceLimitExceeded, got)
			return
		}
	}
}

// An operation in a transaction that does not exist is an error that every client sees: a send detaches its
// link.
func TestNoTransaction(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(plain)
	c, other := f.transacting(), f.transacting()
	o, into, out, foreign := c.Coordinator(), c.Sender(name), c.Receiver(name), other.Sender(name)
	c.Send(into, nil, amqptest.Text("1", "job"))
	got := c.receive(out, 0)
	txn := c.Declare(o)
	other.wantNone(foreign, other.Send(foreign, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("2", "of another connection")))
	c.Commit(o, txn)
	c.wantRejected(unknownTransaction, c.Dispose(got, txn, amqptest.Accepted))
	c.wantNone(into, c.Send(into, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("3", "late")))
	f.wantBodies(name, "job")
}

// A transaction completes messages by requests to the management node. Others are refused, and fail it.
func TestManagementInTransaction(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(plain)
	c := f.transacting()
	o, into, out := c.Coordinator(), c.Sender(name), c.Receiver(name)
	requests, responses := c.Sender(name+"/$management"), c.Receiver(name+"/$management")
	c.Credit(responses, 0, 10)
	request := func(txn []byte, operation string, body wire.Value) (status int64, answer wire.State) {
		t.Helper()
		return c.request(requests, amqptest.Within(txn, amqptest.Accepted), body, "operation", vendor+operation)
	}
	c.Send(into, nil, amqptest.Text("1", "job"))
	got := c.receive(out, 0)
	completion, mark := wire.BeginMap(nil)
	completion = wire.AppendString(wire.AppendString(completion, "disposition-status"), "completed")
	tokens, all := wire.BeginArray(wire.AppendString(completion, "lock-tokens"), wire.UUID)
	completion = mark.End(all.End(wire.AppendUUIDItem(tokens, [16]byte(swapped(got.DeliveryTag)))))

	txn := c.Declare(o)
	if status, answer := request(txn, "peek-message", emptyMap()); status != 501 || answer.Code != wire.CodeTransactionalState {
		t.Errorf("peek: %d, %+v", status, answer)
	}
	c.wantRejected(notImplemented, c.Discharge(o, txn, false))
	if status, answer := request(txn, "update-disposition", completion); status != 400 || answer.Code != wire.CodeRejected {
		t.Errorf("without a transaction: %d, %+v", status, answer)
	}
	f.wantBodies(name, "job")

	txn = c.Declare(o)
	if status, answer := request(txn, "update-disposition", completion); status != 200 || answer.Code != wire.CodeTransactionalState {
		t.Errorf("complete: %d, %+v", status, answer)
	}
	f.wantBodies(name, "job")
	c.Commit(o, txn)
	f.wantBodies(name)
}

// A commit with an unknown outcome detaches the coordinator, also when it is tried again. One that wrote
// nothing can be tried again.
func TestUnknownTransaction(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(plain)
	c := f.transacting()
	o, into := c.Coordinator(), c.Sender(name)
	fails := func(err error) {
		submit := func(next func() (cluster.Reply, error), cmd queue.Command) (cluster.Reply, error) {
			if _, commits := cmd.(*queue.CommitTransaction); commits {
				return cluster.Reply{}, err
			}
			return next()
		}
		f.node.submit.Store(&submit)
	}
	txn := c.Declare(o)
	c.wantIn(txn, c.Send(into, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("1", "sent")))
	fails(cluster.ErrOverloaded)
	c.wantRejected(serverBusy, c.Discharge(o, txn, false))
	f.node.submit.Store(nil)
	c.Commit(o, txn)
	f.wantBodies(name, "sent")

	txn = c.Declare(o)
	c.wantIn(txn, c.Send(into, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("2", "perhaps")))
	fails(cluster.ErrOutcomeUnknown)
	for range 2 {
		if got := c.Discharge(o, txn, false); got.Code != 0 || c.Detached[o] == nil || c.Detached[o].Condition != detachForced {
			t.Fatalf("the answer is %+v, the link is detached with %v", got, c.Detached[o])
		}
		c.Detach(o)
		o = c.Coordinator()
	}
	f.node.submit.Store(nil)
}

// A sender that goes on to another entity sends to that one, in a transaction or not.
func TestSendVia(t *testing.T) {
	f := newFixture(t, nil)
	via, to := f.create(plain), f.create(plain)
	c := f.transacting()
	o := c.Coordinator()
	properties, mark := wire.BeginMap(nil)
	properties = mark.End(wire.AppendString(wire.AppendSymbol(properties, propertyTransfer), to))
	into := c.Attach(wire.Sender, &wire.Target{Address: wire.AppendString(nil, via)}, "", properties)
	if got := c.Send(into, nil, amqptest.Text("1", "plain")); got.Code != wire.CodeAccepted {
		t.Fatalf("%+v", got)
	}
	txn := c.Declare(o)
	c.wantIn(txn, c.Send(into, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("2", "transacted")))
	c.Commit(o, txn)
	f.wantBodies(to, "plain", "transacted")
	f.wantBodies(via)
}

// A commit needs the permissions of all parts at that time. The coordinator needs no token, but the parts do.
func TestPermissionsOfTransactions(t *testing.T) {
	f := guardedFixture(t)
	from, to := f.create(plain), f.create(plain)
	c := f.transacting()
	o := c.Coordinator()
	empty := c.Declare(o)
	if into := c.Sender(to); c.Detached[into] == nil || c.Detached[into].Condition != unauthorizedAccess {
		t.Fatalf("without a token: %v", c.Detached[into])
	}
	c.Commit(o, empty)
	tokens, responses := c.Sender("$cbs"), c.Receiver("$cbs")
	c.Credit(responses, 0, 10)
	for _, path := range []string{from, to} {
		audience := "sb://host:1/" + path
		token := wire.AppendString(nil, sas.Sign(audience, annaKey, secret, time.Now().Add(time.Minute)))
		if status, _ := c.request(tokens, nil, token, "operation", "put-token", "type", "jwt", "name", audience); status != 202 {
			t.Fatalf("status %d", status)
		}
	}
	permit := func(actions string) {
		t.Helper()
		policy := `{"Statement":{"Effect":"Allow","Action":[` + actions + `],"Resource":"*"}}`
		clustertest.Must(t, clustertest.Err(node.Submit(t.Context(), &access.PutUserPolicy{
			Account: "000000000000", User: "anna", Policy: policy})))
	}
	permit(`"sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage"`)
	intoFrom, intoTo, out := c.Sender(from), c.Sender(to), c.Receiver(from)
	c.Send(intoFrom, nil, amqptest.Text("1", "job"))
	got := c.receive(out, 0)
	txn := c.Declare(o)
	c.wantIn(txn, c.Send(intoTo, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("2", "result")))
	c.wantRejected(unauthorizedAccess, c.Dispose(got, txn, wire.State{Code: wire.CodeReleased})) // needs another permission
	c.wantRejected(unauthorizedAccess, c.Discharge(o, txn, false))

	c.Send(intoFrom, nil, amqptest.Text("3", "other"))
	got = c.receive(out, 1)
	txn = c.Declare(o)
	c.wantIn(txn, c.Send(intoTo, amqptest.Within(txn, amqptest.Accepted), amqptest.Text("4", "result")))
	c.wantIn(txn, c.Dispose(got, txn, amqptest.Accepted))
	permit(`"sqs:SendMessage", "sqs:ReceiveMessage"`)
	c.wantRejected(unauthorizedAccess, c.Discharge(o, txn, false))
	f.wantBodies(from, "job", "other")
	f.wantBodies(to)
}
