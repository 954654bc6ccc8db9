package amqp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"testing"
	"time"

	client "github.com/Azure/go-amqp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/budget"
)

const testBudget = 64 << 20

func random(n int) []byte {
	b := make([]byte, n)
	rand.New(rand.NewSource(int64(n))).Read(b) //nolint:gosec // a pattern
	return b
}

// Messages of all sizes come back as they were sent, with every maximum frame size.
func TestMessagesOfAllSizes(t *testing.T) {
	for _, frame := range []uint32{512, 1000, 65536, 1 << 20} {
		t.Run(fmt.Sprint(frame), func(t *testing.T) {
			s := serve(t, newBroker(), budget.New(testBudget))
			ses := session(t, s.dial(t, &client.ConnOptions{MaxFrameSize: frame}))
			out, in := sender(t, ses, "q", nil), receiver(t, ses, "q", nil)
			if most := out.MaxMessageSize(); most != 1<<20 {
				t.Errorf("the largest message has %d bytes", most)
			}
			for _, n := range []int{0, 1, 300, 440, 30_000, 65_536, 1<<20 - 100} {
				clustertest.Must(t, out.Send(t.Context(), client.NewMessage(random(n)), nil))
				m := receive(t, in)
				if !bytes.Equal(m.GetData(), random(n)) {
					t.Errorf("%d of %d bytes came back", len(m.GetData()), n)
				}
				clustertest.Must(t, in.AcceptMessage(t.Context(), m))
			}
		})
	}
}

// A message beyond the maximum of the link is rejected, and the link remains.
func TestTooLargeMessage(t *testing.T) {
	b := newBroker()
	b.largest = 60_000
	s := serve(t, b, budget.New(testBudget))
	p := dialRaw(t, s).open().begin(0)
	p.attach(0, 0, wire.Sender, "q").want(wire.CodeAttach, wire.CodeFlow)
	for id, n := range []int{61_000, 110_000} {
		p.message(0, 0, uint32(id), data(n))
		d := p.disposition()
		if d.First != uint32(id) || d.Last != uint32(id) || !d.Settled || d.Role != wire.Receiver {
			t.Errorf("%+v", d)
		}
		state, err := wire.ReadState(d.State)
		if err != nil || state.Code != wire.CodeRejected || state.Error.Condition != MessageSizeExceeded {
			t.Errorf("%+v: %v", state, err)
		}
	}
	p.message(0, 0, 2, data(10))
	if state, _ := wire.ReadState(p.disposition().State); state.Code != wire.CodeAccepted {
		t.Errorf("%+v", state)
	}
}

// A message that goes on after twice the maximum ends its link. Further parts of it end the connection.
func TestEndlessMessage(t *testing.T) {
	b := newBroker()
	b.largest = 1000
	s := serve(t, b, budget.New(testBudget))
	p := dialRaw(t, s).open().begin(0)
	p.attach(0, 0, wire.Sender, "q").want(wire.CodeAttach, wire.CodeFlow)
	part := make([]byte, 32_000)
	p.frame(0, &wire.Transfer{DeliveryID: wire.Some[uint32](0), DeliveryTag: []byte("x"), More: true}, part...)
	p.wantError(wire.CodeDetach, MessageSizeExceeded)
	for range idleFramesMax/(len(part)/idleBytes) + 1 {
		p.frame(0, &wire.Transfer{More: true}, part...)
	}
	p.wantError(wire.CodeClose, ResourceLimitExceeded)
}

// Every outcome of a client reaches the handler, in both settlement modes.
func TestOutcomes(t *testing.T) {
	for _, mode := range []client.ReceiverSettleMode{client.ReceiverSettleModeFirst, client.ReceiverSettleModeSecond} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			s := serve(t, newBroker(), budget.New(testBudget))
			ses := session(t, s.dial(t, nil))
			out := sender(t, ses, "q", nil)
			in := receiver(t, ses, "q", &client.ReceiverOptions{SettlementMode: &mode, Credit: -1})
			for _, c := range []struct {
				code   uint64
				settle func(ctx context.Context, m *client.Message) error
			}{
				{wire.CodeAccepted, in.AcceptMessage},
				{wire.CodeReleased, in.ReleaseMessage},
				{wire.CodeRejected, func(ctx context.Context, m *client.Message) error {
					return in.RejectMessage(ctx, m, &client.Error{Condition: "x:dead", Info: map[string]any{"reason": "r"}})
				}},
				{wire.CodeModified, func(ctx context.Context, m *client.Message) error {
					return in.ModifyMessage(ctx, m, &client.ModifyMessageOptions{
						DeliveryFailed: true, UndeliverableHere: true, Annotations: client.Annotations{"k": int64(7)},
					})
				}},
			} {
				clustertest.Must(t, out.Send(t.Context(), client.NewMessage([]byte("m")), nil))
				clustertest.Must(t, in.IssueCredit(1))
				err := c.settle(t.Context(), receive(t, in))
				if err != nil && !(c.code == wire.CodeRejected && isCondition(err, "x:dead")) { // the client shows its own error
					t.Fatal(err)
				}
				if c.code == wire.CodeReleased { // it comes again
					clustertest.Must(t, in.IssueCredit(1))
					clustertest.Must(t, in.AcceptMessage(t.Context(), receive(t, in)))
				}
			}
			clustertest.Must(t, in.Close(t.Context()))
			s.await(t, "q")
			got := s.outcomes("q")
			codes := fmt.Sprintf("%x", codesOf(got))
			if want := "[24 26 24 25 27]"; codes != want {
				t.Fatalf("outcomes %s, want %s", codes, want)
			}
			if e := got[3].Error; e.Condition != "x:dead" || !e.Info.Lookup("reason").Is("r") {
				t.Errorf("error %+v", e)
			}
			if n, _ := got[4].Annotations.Lookup("k").Signed(); n != 7 || !got[4].DeliveryFailed || !got[4].UndeliverableHere {
				t.Errorf("modified %+v", got[4])
			}
		})
	}
}

func codesOf(states []wire.State) (codes []uint64) {
	for _, s := range states {
		codes = append(codes, s.Code)
	}
	return codes
}

// Both settlement modes of senders work in both directions.
func TestSettledMessages(t *testing.T) {
	s := serve(t, newBroker(), budget.New(testBudget))
	ses := session(t, s.dial(t, nil))
	for _, mode := range []client.SenderSettleMode{
		client.SenderSettleModeSettled, client.SenderSettleModeUnsettled, client.SenderSettleModeMixed,
	} {
		name := "q" + fmt.Sprint(mode)
		out := sender(t, ses, name, &client.SenderOptions{SettlementMode: &mode})
		requested := mode
		in := receiver(t, ses, name, &client.ReceiverOptions{RequestedSenderSettleMode: &requested})
		for i := range 300 {
			clustertest.Must(t, out.Send(t.Context(), client.NewMessage([]byte{byte(i)}), nil))
		}
		for i := range 300 {
			m := receive(t, in)
			if m.GetData()[0] != byte(i) {
				t.Fatalf("message %d is %d", i, m.GetData()[0])
			}
			clustertest.Must(t, in.AcceptMessage(t.Context(), m))
		}
	}
}

// A client gets no more messages than it has given credit for, and a drain ends its credit.
func TestCreditAndDrain(t *testing.T) {
	s := serve(t, newBroker(), budget.New(testBudget))
	ses := session(t, s.dial(t, nil))
	out := sender(t, ses, "q", nil)
	in := receiver(t, ses, "q", &client.ReceiverOptions{Credit: -1})
	clustertest.Must(t, in.IssueCredit(10))
	for range 3 {
		clustertest.Must(t, out.Send(t.Context(), client.NewMessage([]byte("m")), nil))
	}
	for range 3 {
		clustertest.Must(t, in.AcceptMessage(t.Context(), receive(t, in)))
	}
	clustertest.Must(t, in.DrainCredit(t.Context(), nil))
	clustertest.Must(t, out.Send(t.Context(), client.NewMessage([]byte("m")), nil))
	clustertest.Must(t, in.DrainCredit(t.Context(), nil)) // without credit
	if m := in.Prefetched(); m != nil {
		t.Fatal("a message came without credit")
	}
	clustertest.Must(t, in.IssueCredit(1))
	clustertest.Must(t, in.AcceptMessage(t.Context(), receive(t, in)))
}

// A thousand links work beside each other, in one session and in sessions of their own.
func TestThousandLinks(t *testing.T) {
	const links = 1000
	for name, own := range map[string]bool{"one session": false, "own sessions": true} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, newBroker(), budget.New(testBudget))
			c := s.dial(t, nil)
			shared := session(t, c)
			all := make([]*client.Sender, links)
			var each sync.WaitGroup
			for i := range all {
				ses := shared
				if own {
					ses = session(t, c)
				}
				all[i] = sender(t, ses, "q", nil)
			}
			in := receiver(t, shared, "q", &client.ReceiverOptions{Credit: 100})
			for _, out := range all {
				each.Go(func() { clustertest.Check(t, out.Send(t.Context(), client.NewMessage([]byte("m")), nil)) })
			}
			for range all {
				clustertest.Must(t, in.AcceptMessage(t.Context(), receive(t, in)))
			}
			each.Wait()
			for _, out := range all {
				clustertest.Must(t, out.Close(t.Context()))
			}
			for range all {
				s.await(t, "q")
			}
		})
	}
}

// A refused link brings its error to the client, and the session goes on.
func TestRefusedLinks(t *testing.T) {
	s := serve(t, newBroker(), budget.New(testBudget))
	ses := session(t, s.dial(t, nil))
	var refused *client.LinkError
	_, err := ses.NewSender(t.Context(), "missing", nil)
	if !errors.As(err, &refused) && !isCondition(err, "amqp:not-found") {
		t.Errorf("sender: %v", err)
	}
	_, err = ses.NewReceiver(t.Context(), "missing", nil)
	if !isCondition(err, "amqp:not-found") {
		t.Errorf("receiver: %v", err)
	}
	clustertest.Must(t, sender(t, ses, "q", nil).Send(t.Context(), client.NewMessage([]byte("m")), nil))
}

// isCondition reports whether an error of the client has a condition.
func isCondition(err error, condition string) bool {
	var plain *client.Error
	var ofLink *client.LinkError
	var ofConn *client.ConnError
	switch {
	case errors.As(err, &ofLink) && ofLink.RemoteErr != nil:
		plain = ofLink.RemoteErr
	case errors.As(err, &ofConn) && ofConn.RemoteErr != nil:
		plain = ofConn.RemoteErr
	case !errors.As(err, &plain):
		return false
	}
	return string(plain.Condition) == condition
}

// The handler answers a link later, or never because the client gives up or leaves.
func TestLateAnswers(t *testing.T) {
	s := serve(t, newBroker(), budget.New(testBudget))
	ses := session(t, s.dial(t, nil))
	clustertest.Must(t, sender(t, ses, "q", nil).Send(t.Context(), client.NewMessage([]byte("m")), nil))
	got := make(chan *client.Receiver)
	go func() {
		in, err := ses.NewReceiver(t.Context(), "later", nil)
		clustertest.Check(t, err)
		got <- in
	}()
	r := <-s.requests
	s.accept(r, "q")
	m := receive(t, <-got)
	if string(m.GetData()) != "m" {
		t.Errorf("got %q", m.GetData())
	}
	if v, o := s.accept(r, "q"); v != nil || o != nil {
		t.Error("a link was accepted twice")
	}

	ctx, giveUp := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := ses.NewReceiver(ctx, "later", nil)
		failed <- err
	}()
	r = <-s.requests
	giveUp()
	if err := <-failed; err == nil {
		t.Error("the link was accepted")
	}
	// The client ends the link once it is attached.
	r.Refuse(failure("amqp:not-found", "Too late."))

	other := s.dial(t, nil)
	another := session(t, other)
	go func() {
		_, err := another.NewSender(t.Context(), "later", nil)
		failed <- err
	}()
	r = <-s.requests
	clustertest.Must(t, other.Close())
	if err := <-failed; err == nil {
		t.Error("the link was accepted")
	}
	if gone := <-s.gone; gone != r {
		t.Error("another request was abandoned")
	}
	r.Refuse(nil)
	if v, o := s.accept(r, "q"); v != nil || o != nil {
		t.Error("an abandoned link was accepted")
	}
}

// The server ends links, and connections when it shuts down. Messages that the handler has are
// settled first.
func TestEndsByServer(t *testing.T) {
	s := serve(t, newBroker(), budget.New(testBudget))
	ses := session(t, s.dial(t, nil))
	accepted := make(chan *Receiver, 1)
	go func() {
		v, _ := s.accept(<-s.requests, "held")
		accepted <- v
	}()
	out := sender(t, ses, "later", nil)
	sent := make(chan error)
	go func() { sent <- out.Send(t.Context(), client.NewMessage([]byte("m")), nil) }()
	d := <-s.held
	d.Settle(wire.State{Code: wire.CodeRejected, Error: failure("x:no", "No.")})
	if err := <-sent; !isCondition(err, "x:no") {
		t.Errorf("rejected: %v", err)
	}
	d.Settle(wire.State{Code: wire.CodeAccepted}) // without effect
	go func() { sent <- out.Send(t.Context(), client.NewMessage([]byte("m")), nil) }()
	d = <-s.held
	(<-accepted).Detach(failure(DetachForced, "Go away."))
	if err := <-sent; !isCondition(err, DetachForced) {
		t.Errorf("detached: %v", err)
	}
	s.await(t, "held")
	d.Settle(wire.State{Code: wire.CodeAccepted}) // without effect

	out = sender(t, ses, "held", nil)
	go func() { sent <- out.Send(t.Context(), client.NewMessage([]byte("m")), nil) }()
	d = <-s.held
	down := make(chan error)
	go func() { down <- s.Shutdown(t.Context()) }()
	for <-s.conns; ; { // until the connection leaves
		d.receiver.session.conn.mu.Lock()
		at := d.receiver.session.conn.stage
		d.receiver.session.conn.mu.Unlock()
		if at == leaving {
			break
		}
		time.Sleep(time.Millisecond)
	}
	d.Settle(wire.State{Code: wire.CodeAccepted})
	clustertest.Check(t, <-sent)
	clustertest.Check(t, <-down)
	if err := out.Send(t.Context(), client.NewMessage([]byte("m")), nil); !isCondition(err, ConnectionForced) {
		t.Errorf("after the shutdown: %v", err)
	}
	s.await(t, "held")
	s.await(t, "session")
	s.await(t, "connection")
}

// Every way to authenticate.
func TestSASL(t *testing.T) {
	s := serve(t, newBroker(), budget.New(testBudget))
	for name, c := range map[string]struct {
		how client.SASLType
		ok  bool
	}{
		"none":      {nil, true},
		"anonymous": {client.SASLTypeAnonymous(), true},
		"plain":     {client.SASLTypePlain("key", "secret"), true},
		"wrong":     {client.SASLTypePlain("key", "wrong"), false},
		"external":  {client.SASLTypeExternal("key"), false},
	} {
		conn, err := client.Dial(t.Context(), "amqp://"+s.address, &client.ConnOptions{SASLType: c.how})
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			session(t, conn)
			clustertest.Must(t, conn.Close())
		}
	}
	_, err := client.Dial(t.Context(), "amqp://"+s.address, &client.ConnOptions{HostName: "refused"})
	if err != nil { // the open was answered before the close
		t.Logf("refused: %v", err)
	}
}

// Clients that send, receive, open links and leave at the same time lose no message.
func TestManyClients(t *testing.T) {
	const clients, messages = 8, 200
	s := serve(t, newBroker(), budget.New(testBudget))
	var all sync.WaitGroup
	var got sync.Map
	for i := range clients {
		all.Go(func() {
			ses := session(t, s.dial(t, nil))
			out := sender(t, ses, "q", nil)
			for n := range messages {
				m := client.NewMessage(random(n * 97 % 5000))
				m.ApplicationProperties = map[string]any{"id": int64(i*messages + n)}
				clustertest.Check(t, out.Send(t.Context(), m, nil))
				clustertest.Check(t, sender(t, ses, "other", nil).Close(t.Context()))
			}
		})
		all.Go(func() {
			in := receiver(t, session(t, s.dial(t, nil)), "q", &client.ReceiverOptions{Credit: int32(1 + i)})
			for range messages {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				m, err := in.Receive(ctx, nil)
				cancel()
				if err != nil {
					t.Error(err)
					return
				}
				got.Store(m.ApplicationProperties["id"], true)
				clustertest.Check(t, in.AcceptMessage(t.Context(), m))
			}
			clustertest.Check(t, in.Close(t.Context())) // others get what it has not taken
		})
	}
	all.Wait()
	n := 0
	got.Range(func(any, any) bool { n++; return true })
	if n != clients*messages {
		t.Errorf("%d messages of %d", n, clients*messages)
	}
}
