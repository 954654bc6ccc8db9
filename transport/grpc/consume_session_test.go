package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// consumeSession opens a stream and returns the session that it consumes.
func (f *fixture) consumeSession(ctx context.Context, open *seriatimpb.ConsumeOpen) (*consumerEnd, *seriatimpb.SessionRef) {
	f.t.Helper()
	stream, err := f.client.Consume(ctx)
	clustertest.Must(f.t, err)
	c := &consumerEnd{t: f.t, stream: stream}
	c.request(&seriatimpb.ConsumeRequest{Request: &seriatimpb.ConsumeRequest_Open{Open: open}})
	opened := c.next().GetOpened()
	if opened.GetSession().GetToken() == "" || opened.GetLockedUntilMs() == 0 || opened.GetNextAttemptId() == "" ||
		opened.GetVisibilityTimeoutSeconds() != 0 {
		f.t.Fatalf("opened with %v", opened)
	}
	c.attempt = opened.GetNextAttemptId()
	return c, opened.GetSession()
}

// done checks that the last settlement succeeded.
func (c *consumerEnd) done() {
	c.t.Helper()
	for _, o := range c.outcomes() {
		if o.GetFailure() != nil {
			c.t.Errorf("settlement %d: %v", c.number, o)
		}
	}
}

// The stream locks the next session, delivers as many messages as it has credit for, in order, and
// releases the session when the client closes its side.
func TestConsumeSession(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	f.send(name, "a", "a1", "a2", "a3")
	f.send(name, "b", "b1")
	c, session := f.consumeSession(t.Context(), &seriatimpb.ConsumeOpen{Queue: name, Credit: 2, Session: &seriatimpb.ConsumeSession{}})
	if session.GetSessionId() != "a" {
		t.Fatalf("session %v", session)
	}
	got := c.messages(2)
	if !slices.Equal(bodies(got), []string{"a1", "a2"}) {
		t.Fatalf("%v", bodies(got))
	}
	if other := f.receive(name).GetMessages(); !slices.Equal(bodies(other), []string{"b1"}) {
		t.Errorf("another consumer receives %v", bodies(other))
	}
	_, err := f.sessions().AcceptSession(t.Context(), &seriatimpb.AcceptSessionRequest{Queue: name, SessionId: new("a")})
	wantStatus(t, err, codes.FailedPrecondition, "SessionCannotBeLocked")
	c.sendSettlement(acknowledge, 0, got[0])
	c.done()
	third := c.messages(1)
	if !slices.Equal(bodies(third), []string{"a3"}) {
		t.Fatalf("%v", bodies(third))
	}
	c.sendSettlement(abandon, 0, got[1], third[0])
	c.done()
	again := c.messages(2)
	if !slices.Equal(bodies(again), []string{"a2", "a3"}) || again[0].GetReceiveCount() != 2 {
		t.Errorf("after they were abandoned: %v", again)
	}
	c.sendSettlement(acknowledge, 0, again[0])
	c.done()
	f.send(name, "a", "a4")
	if got := c.messages(1); !slices.Equal(bodies(got), []string{"a4"}) {
		t.Errorf("%v", bodies(got))
	}
	c.close()
	rest := f.receive(name).GetMessages()
	if !slices.Equal(bodies(rest), []string{"a3", "a4"}) || rest[0].GetReceiveCount() != 2 || rest[1].GetReceiveCount() != 1 {
		t.Errorf("after the release: %v", rest)
	}
}

// Messages are deferred and dead-lettered on the stream, which frees credit.
func TestConsumeSessionSettles(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(map[string]string{"ImplicitDeadLetterQueue": "true"})
	f.send(name, "a", "a1", "a2", "a3")
	c, session := f.consumeSession(t.Context(), &seriatimpb.ConsumeOpen{Queue: name, Credit: 1,
		Session: &seriatimpb.ConsumeSession{SessionId: new("a")}})
	first := c.messages(1)
	c.sendSettlement(seriatimpb.SettlementKind_SETTLEMENT_KIND_DEFER, 0, first...)
	c.done()
	second := c.messages(1)
	c.number++
	c.request(&seriatimpb.ConsumeRequest{Request: &seriatimpb.ConsumeRequest_Settlement{Settlement: &seriatimpb.Settlement{
		Number: c.number, Kind: seriatimpb.SettlementKind_SETTLEMENT_KIND_DEAD_LETTER,
		ReceiptHandles: []string{second[0].GetReceiptHandle()},
		Reason:         "poison", Description: "it has no header",
	}}})
	c.done()
	if third := c.messages(1); !slices.Equal(bodies(third), []string{"a3"}) {
		t.Errorf("%v", bodies(third))
	}
	fetched, err := f.messages().ReceiveDeferred(t.Context(), &seriatimpb.ReceiveDeferredRequest{
		Queue: name, Session: session, SequenceNumbers: []uint64{first[0].GetSequenceNumber()},
	})
	if err != nil || !slices.Equal(bodies(fetched.GetMessages()), []string{"a1"}) {
		t.Errorf("%v %v", fetched, err)
	}
	c.close()
	dead := f.receive(name[:len(name)-len(".fifo")] + "-dlq.fifo").GetMessages()
	if !slices.Equal(bodies(dead), []string{"a2"}) || dead[0].GetAttributes()["DeadLetterReason"].GetText() != "poison" {
		t.Errorf("dead letters %v", dead)
	}
}

// Messages that an earlier stream received, but whose delivery was lost, are delivered again in
// order and with the same handles, also those received after the client was gone.
func TestConsumeSessionResumes(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	f.send(name, "a", "m1")
	accept := &seriatimpb.ConsumeSession{AttemptId: new("accept")}
	c, session := f.consumeSession(t.Context(), &seriatimpb.ConsumeOpen{Queue: name, Credit: 10, Session: accept, AttemptId: "consumer"})
	seen := c.messages(1)
	last := c.attempt // the last one that the client saw
	f.send(name, "a", "m2")
	lost := c.messages(1)
	f.send(name, "a", "m3")
	lost = append(lost, c.messages(1)...)
	f.send(name, "b", "other")

	// First by the attempt of the acceptance, then by the lock.
	for i, in := range []*seriatimpb.ConsumeSession{accept, {Locked: session}} {
		resumed, locked := f.consumeSession(t.Context(), &seriatimpb.ConsumeOpen{
			Queue: name, Credit: 10, Session: in, AttemptId: last, Held: []string{seen[0].GetReceiptHandle()},
		})
		if locked.GetToken() != session.GetToken() {
			t.Fatalf("%d: %v, and not %v", i, locked, session)
		}
		for _, m := range lost {
			out := resumed.next().GetDelivery()
			if !out.GetReplayed() || len(out.GetMessages()) != 1 || out.GetMessages()[0].GetReceiptHandle() != m.GetReceiptHandle() {
				t.Fatalf("%d: %v", i, out)
			}
			resumed.attempt = out.GetNextAttemptId()
		}
		if resumed.attempt != c.attempt {
			t.Errorf("%d: the next receive is %s, of the first stream it is %s", i, resumed.attempt, c.attempt)
		}
		if i == 1 {
			resumed.sendSettlement(acknowledge, 0, seen[0], lost[0], lost[1])
			resumed.done()
			resumed.close()
		}
	}
	// A lock that the client brought along stays after the stream.
	if got := f.receiveIn(name, session, 0); len(got) != 0 {
		t.Errorf("left over: %v", bodies(got))
	}
}

// A message in flight that the client does not hold is made visible, unless its attempt can be
// repeated.
func TestConsumeSessionGivesBack(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	f.send(name, "a", "m1", "m2", "m3")
	session := f.accept(name, "a")
	received := f.receiveIn(name, session, 0)
	if len(received) != 3 {
		t.Fatalf("%v", bodies(received))
	}
	f.send(name, "a", "m4")
	c, _ := f.consumeSession(t.Context(), &seriatimpb.ConsumeOpen{
		Queue: name, Credit: 10, Session: &seriatimpb.ConsumeSession{Locked: session}, AttemptId: "gone",
		Held: []string{received[1].GetReceiptHandle()},
	})
	if got := c.messages(3); !slices.Equal(bodies(got), []string{"m1", "m3", "m4"}) || got[0].GetReceiveCount() != 2 {
		t.Errorf("%v", got)
	}
	c.sendSettlement(acknowledge, 0, received[1])
	c.done()
	c.close()
	// An attempt of which one message was completed cannot be repeated.
	in := &seriatimpb.ReceiveRequest{Queue: name, Session: session, MaxMessages: new(int32(10)), AttemptId: new("part")}
	part, err := f.client.Receive(t.Context(), in)
	if err != nil || len(part.GetMessages()) != 3 {
		t.Fatal(part, err)
	}
	if _, err := f.messages().Complete(t.Context(), &seriatimpb.CompleteRequest{
		Queue: name, Session: session, ReceiptHandles: []string{part.GetMessages()[0].GetReceiptHandle()},
	}); err != nil {
		t.Fatal(err)
	}
	c, _ = f.consumeSession(t.Context(), &seriatimpb.ConsumeOpen{
		Queue: name, Credit: 10, Session: &seriatimpb.ConsumeSession{Locked: session}, AttemptId: "part",
	})
	if got := c.messages(2); !slices.Equal(bodies(got), []string{"m3", "m4"}) {
		t.Errorf("%v", bodies(got))
	}
	c.close()
}

// settlementOf returns the first settlement of a stream.
func settlementOf(kind seriatimpb.SettlementKind, messages ...*seriatimpb.Message) *seriatimpb.ConsumeRequest {
	in := &seriatimpb.Settlement{Number: 1, Kind: kind}
	for _, m := range messages {
		in.ReceiptHandles = append(in.ReceiptHandles, m.GetReceiptHandle())
	}
	return &seriatimpb.ConsumeRequest{Request: &seriatimpb.ConsumeRequest_Settlement{Settlement: in}}
}

// The server renews the lock and ends the stream when it is lost, whether a receive or a settlement
// notices this.
func TestConsumeSessionLock(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	f.send(name, "a", "a1")
	renewals := make(chan struct{}, 1000) // more than there can be
	count := func(next func() (cluster.Reply, error), cmd queue.Command) (cluster.Reply, error) {
		reply, err := next()
		if _, renews := cmd.(*queue.RenewSession); renews && err == nil {
			renewals <- struct{}{}
		}
		return reply, err
	}
	f.node.submit.Store(&count)
	open := &seriatimpb.ConsumeOpen{Queue: name, Credit: 2, Session: &seriatimpb.ConsumeSession{SessionId: new("a"),
		LockSeconds: new(int32(3))}}
	c, session := f.consumeSession(t.Context(), open)
	got := c.messages(1)
	for range 5 { // for longer than one lock period
		<-renewals
	}
	c.sendSettlement(extend, 60, got[0])
	_, err := c.stream.Recv()
	wantStatus(t, err, codes.FailedPrecondition, "UnsupportedOperation")

	c, _ = f.consumeSession(t.Context(), &seriatimpb.ConsumeOpen{Queue: name, Credit: 2,
		Session: &seriatimpb.ConsumeSession{Locked: session, LockSeconds: new(int32(3))}})
	c.messages(1)
	release := func(ref *seriatimpb.SessionRef) {
		t.Helper()
		if _, err := f.sessions().ReleaseSession(t.Context(), &seriatimpb.ReleaseSessionRequest{Queue: name, Session: ref}); err != nil {
			t.Fatal(err)
		}
	}
	release(session)
	for err = nil; err == nil; {
		_, err = c.stream.Recv()
	}
	wantStatus(t, err, codes.Aborted, "SessionLockLost")

	open.Session.LockSeconds = new(int32(600)) // no renewal is due, so that the settlement notices
	c, session = f.consumeSession(t.Context(), open)
	got = c.messages(1)
	stop := func(next func() (cluster.Reply, error), cmd queue.Command) (cluster.Reply, error) {
		if remove, settles := cmd.(*queue.DeleteMessages); settles {
			return f.node.Node.Submit(t.Context(), remove)
		}
		return next()
	}
	f.node.submit.Store(&stop)
	release(session)
	// The waiting receive may already have ended the stream.
	if err := c.stream.Send(settlementOf(acknowledge, got...)); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	failed := ""
	for err = nil; err == nil; {
		var out *seriatimpb.ConsumeResponse
		if out, err = c.stream.Recv(); err == nil {
			failed = out.GetSettled().GetOutcomes()[0].GetFailure().GetReason()
		}
	}
	wantStatus(t, err, codes.Aborted, "SessionLockLost")
	if failed != "SessionLockLost" && failed != "" { // the waiting receive may end the stream first
		t.Errorf("the settlement failed with %s", failed)
	}
	if got := f.receive(name).GetMessages(); !slices.Equal(bodies(got), []string{"a1"}) {
		t.Errorf("afterwards: %v", bodies(got))
	}
}

// A stream waits for a session until its own end, or for a given time.
func TestConsumeSessionWaits(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	stream, err := f.client.Consume(t.Context())
	clustertest.Must(t, err)
	c := &consumerEnd{t: t, stream: stream}
	open := func(s *seriatimpb.ConsumeSession) *seriatimpb.ConsumeRequest {
		return &seriatimpb.ConsumeRequest{Request: &seriatimpb.ConsumeRequest_Open{Open: &seriatimpb.ConsumeOpen{Queue: name, Credit: 1,
			Session: s}}}
	}
	c.request(open(&seriatimpb.ConsumeSession{}))
	f.send(name, "g", "m1")
	if s := c.next().GetOpened().GetSession(); s.GetSessionId() != "g" {
		t.Errorf("session %v", s)
	}
	other, err := f.client.Consume(t.Context())
	clustertest.Must(t, err)
	clustertest.Must(t, other.Send(open(&seriatimpb.ConsumeSession{WaitSeconds: new(int32(0))})))
	_, err = other.Recv()
	wantStatus(t, err, codes.DeadlineExceeded, "NoSessionAvailable")
	c.close()
}

func TestConsumeSessionBadRequests(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	f.send(name, "s", "a")
	session := f.accept(name, "s")
	long := string(make([]byte, attemptIDMax+1))
	for i, tc := range []struct {
		open   *seriatimpb.ConsumeOpen
		code   codes.Code
		reason string
	}{
		{&seriatimpb.ConsumeOpen{VisibilityTimeoutSeconds: new(int32(5)), Session: &seriatimpb.ConsumeSession{}},
			codes.FailedPrecondition, "UnsupportedOperation"},
		{&seriatimpb.ConsumeOpen{AttemptId: long, Session: &seriatimpb.ConsumeSession{}}, codes.InvalidArgument, "InvalidParameterValue"},
		{&seriatimpb.ConsumeOpen{Session: &seriatimpb.ConsumeSession{WaitSeconds: new(int32(21))}}, codes.InvalidArgument,
			"InvalidParameterValue"},
		{&seriatimpb.ConsumeOpen{Session: &seriatimpb.ConsumeSession{LockSeconds: new(int32(0))}}, codes.InvalidArgument,
			"InvalidParameterValue"},
		{&seriatimpb.ConsumeOpen{Session: &seriatimpb.ConsumeSession{LockSeconds: new(int32(43_201))}}, codes.InvalidArgument,
			"InvalidParameterValue"},
		{&seriatimpb.ConsumeOpen{Session: &seriatimpb.ConsumeSession{Locked: session, SessionId: new("s")}}, codes.InvalidArgument,
			"InvalidParameterValue"},
		{&seriatimpb.ConsumeOpen{Session: &seriatimpb.ConsumeSession{Locked: &seriatimpb.SessionRef{}}}, codes.InvalidArgument,
			"MissingParameter"},
		{&seriatimpb.ConsumeOpen{Session: &seriatimpb.ConsumeSession{Locked: &seriatimpb.SessionRef{SessionId: "t",
			Token: session.GetToken()}}}, codes.Aborted, "SessionLockLost"},
		{&seriatimpb.ConsumeOpen{Session: &seriatimpb.ConsumeSession{SessionId: new("s")}}, codes.FailedPrecondition,
			"SessionCannotBeLocked"},
		{&seriatimpb.ConsumeOpen{Queue: f.create(map[string]string{"MessageGroupIdMode": "Optional"}),
			Session: &seriatimpb.ConsumeSession{}}, codes.FailedPrecondition, "UnsupportedOperation"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if tc.open.Credit = 1; tc.open.GetQueue() == "" {
				tc.open.Queue = name
			}
			stream, err := f.client.Consume(t.Context())
			clustertest.Must(t, err)
			clustertest.Must(t, stream.Send(&seriatimpb.ConsumeRequest{Request: &seriatimpb.ConsumeRequest_Open{Open: tc.open}}))
			_, err = stream.Recv()
			wantStatus(t, err, tc.code, tc.reason)
		})
	}
}

func TestNextAttempt(t *testing.T) {
	for id, want := range map[string]string{"a": "a.1", "a.1": "a.2", "a.9": "a.10", "a.b": "a.b.1", ".": "..1", "7": "7.1",
		"a.4294967296": "a.4294967296.1"} {
		if got := nextAttempt(id); got != want {
			t.Errorf("after %s comes %s, want %s", id, got, want)
		}
	}
}

// If a message is abandoned, all messages delivered after it are abandoned with it and follow it
// again in order.
func TestConsumeSessionAbandons(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	f.send(name, "a", "m1")
	c, _ := f.consumeSession(t.Context(), &seriatimpb.ConsumeOpen{Queue: name, Credit: 10, Session: &seriatimpb.ConsumeSession{}})
	first := c.messages(1)
	f.send(name, "a", "m2")
	behind := c.messages(1)
	f.send(name, "a", "m3")
	behind = append(behind, c.messages(1)...)
	c.sendSettlement(abandon, 0, first...)
	var got []*seriatimpb.Message
	var lost []string
	for settled := false; !settled || len(got) < 3; {
		out := c.next()
		if l := out.GetLost(); l != nil {
			if settled {
				t.Error("lost after the abandonment was answered")
			}
			lost = append(lost, l.GetReceiptHandles()...)
		}
		settled = settled || out.GetSettled() != nil
		got = append(got, out.GetDelivery().GetMessages()...)
	}
	slices.Sort(lost)
	want := []string{behind[0].GetReceiptHandle(), behind[1].GetReceiptHandle()}
	slices.Sort(want)
	if !slices.Equal(lost, want) || !slices.Equal(bodies(got), []string{"m1", "m2", "m3"}) {
		t.Errorf("lost %v, want %v; then %v", lost, want, bodies(got))
	}
	c.sendSettlement(acknowledge, 0, got...)
	c.done()
	c.close()
}

// Messages that come after an abandoned one are given back, unless they were received after the
// abandonment.
func TestAbandonments(t *testing.T) {
	message := func(numbers ...queue.SequenceNumber) (list []queue.ReceivedMessage) {
		for _, n := range numbers {
			list = append(list, queue.ReceivedMessage{Sequence: n})
		}
		return list
	}
	for i, tc := range []struct {
		done    []abandonment
		index   uint64
		numbers []queue.SequenceNumber
		kept    int
	}{
		{nil, 5, []queue.SequenceNumber{4, 5}, 2},
		{[]abandonment{{index: 4, lowest: 3}}, 5, []queue.SequenceNumber{4, 5}, 2},
		{[]abandonment{{index: 6, lowest: 3}}, 5, []queue.SequenceNumber{4, 5}, 0},
		{[]abandonment{{index: 6, lowest: 4}}, 5, []queue.SequenceNumber{3, 5}, 1},
		{[]abandonment{{index: 5, lowest: 3}}, 5, []queue.SequenceNumber{4, 5}, 0},
		{[]abandonment{{index: 5, lowest: 3}}, 5, []queue.SequenceNumber{3, 4, 5}, 3},
		{[]abandonment{{index: 4, lowest: 3}}, 0, []queue.SequenceNumber{4}, 0},
		{[]abandonment{{index: 6, lowest: 0}}, 5, []queue.SequenceNumber{1}, 0},
		{[]abandonment{{index: 4, lowest: 1}, {index: 6, lowest: 9}}, 5, []queue.SequenceNumber{2, 3}, 2},
	} {
		a := abandonments{list: tc.done}
		kept := -1
		back := a.passed(tc.index, message(tc.numbers...), func(keep []queue.ReceivedMessage) { kept = len(keep) })
		if kept != tc.kept || kept+len(back) != len(tc.numbers) || len(a.list) != 0 {
			t.Errorf("%d: kept %d, gave back %d", i, kept, len(back))
		}
	}
}
