package grpc

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

func (f *fixture) sessions() seriatimpb.SessionsClient { return seriatimpb.NewSessionsClient(f.conn) }

func (f *fixture) messages() seriatimpb.MessagesClient { return seriatimpb.NewMessagesClient(f.conn) }

// accept locks a session by its id, or the next one if the id is empty.
func (f *fixture) accept(queue, id string) *seriatimpb.SessionRef {
	f.t.Helper()
	in := &seriatimpb.AcceptSessionRequest{Queue: queue}
	if id != "" {
		in.SessionId = &id
	}
	out, err := f.sessions().AcceptSession(f.t.Context(), in)
	clustertest.Must(f.t, err)
	return out.GetSession()
}

// receiveIn receives up to ten messages of a session, waiting up to a time.
func (f *fixture) receiveIn(queue string, session *seriatimpb.SessionRef, wait int32) []*seriatimpb.Message {
	f.t.Helper()
	out, err := f.client.Receive(f.t.Context(), &seriatimpb.ReceiveRequest{Queue: queue, Session: session, MaxMessages: new(int32(10)),
		WaitSeconds: &wait})
	clustertest.Must(f.t, err)
	return out.GetMessages()
}

func TestSession(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	name := f.create(nil)
	f.send(name, "s", "a", "b", "c")
	held := f.accept(name, "")
	if held.GetSessionId() != "s" {
		t.Fatalf("accepted %v", held)
	}
	_, err := f.sessions().AcceptSession(ctx, &seriatimpb.AcceptSessionRequest{Queue: name, SessionId: new("s")})
	wantStatus(t, err, codes.FailedPrecondition, "SessionCannotBeLocked")
	if got := f.receive(name).GetMessages(); len(got) != 0 {
		t.Errorf("outside of the session: %v", bodies(got))
	}
	got := f.receiveIn(name, held, 0)
	if !slices.Equal(bodies(got), []string{"a", "b", "c"}) {
		t.Fatalf("in the session: %v", bodies(got))
	}
	done, err := f.messages().Complete(ctx, &seriatimpb.CompleteRequest{Queue: name, Session: held,
		ReceiptHandles: []string{got[0].GetReceiptHandle()}})
	if err != nil || done.GetOutcomes()[0].GetFailure() != nil {
		t.Errorf("complete: %v %v", done, err)
	}
	done, err = f.messages().Complete(ctx, &seriatimpb.CompleteRequest{Queue: name, Session: held,
		ReceiptHandles: []string{got[0].GetReceiptHandle()}})
	if err != nil || done.GetOutcomes()[0].GetFailure().GetReason() != "MessageLockLost" ||
		done.GetOutcomes()[0].GetFailure().GetCode() != int32(codes.Aborted) {
		t.Errorf("complete again: %v %v", done, err)
	}
	if _, err := f.messages().Abandon(ctx, &seriatimpb.AbandonRequest{Queue: name, Session: held,
		ReceiptHandles: []string{got[1].GetReceiptHandle()}}); err != nil {
		t.Error(err)
	}
	if got := f.receiveIn(name, held, 0); !slices.Equal(bodies(got), []string{"b"}) || got[0].GetReceiveCount() != 2 {
		t.Errorf("after the abandonment: %v", got)
	}
	renewed, err := f.sessions().RenewSession(ctx, &seriatimpb.RenewSessionRequest{Queue: name, Session: held,
		LockSeconds: new(int32(100))})
	if err != nil || renewed.GetSession().GetToken() != held.GetToken() || renewed.GetLockedUntilMs() < time.Now().UnixMilli()+50_000 {
		t.Errorf("renewed: %v %v", renewed, err)
	}
	clustertest.Check(t, clustertest.Err(f.sessions().ReleaseSession(ctx, &seriatimpb.ReleaseSessionRequest{Queue: name, Session: held})))
	_, err = f.sessions().RenewSession(ctx, &seriatimpb.RenewSessionRequest{Queue: name, Session: held})
	wantStatus(t, err, codes.Aborted, "SessionLockLost")
	_, err = f.messages().Complete(ctx, &seriatimpb.CompleteRequest{Queue: name, Session: held,
		ReceiptHandles: []string{got[2].GetReceiptHandle()}})
	wantStatus(t, err, codes.Aborted, "SessionLockLost")
	if got := f.receive(name).GetMessages(); !slices.Equal(bodies(got), []string{"b", "c"}) || got[0].GetReceiveCount() != 2 ||
		got[1].GetReceiveCount() != 1 {
		t.Errorf("after the release: %v", got)
	}
}

func TestSessionState(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	name := f.create(nil)
	held := f.accept(name, "s")
	state := func() []byte {
		t.Helper()
		out, err := f.sessions().GetSessionState(ctx, &seriatimpb.GetSessionStateRequest{Queue: name, Session: held})
		clustertest.Must(t, err)
		return out.State
	}
	set := func(value []byte) error {
		_, err := f.sessions().SetSessionState(ctx, &seriatimpb.SetSessionStateRequest{Queue: name, Session: held, State: value})
		return err
	}
	if got := state(); got != nil {
		t.Errorf("never set: %q", got)
	}
	for _, value := range [][]byte{{}, {0, 0xff}} {
		if err := set(value); err != nil || string(state()) != string(value) || state() == nil {
			t.Errorf("set %q: %v, read %q", value, err, state())
		}
	}
	wantStatus(t, set(make([]byte, 1<<20+1)), codes.InvalidArgument, "InvalidParameterValue")
	other := f.accept(name, "t")
	if _, err := f.sessions().SetSessionState(ctx, &seriatimpb.SetSessionStateRequest{Queue: name, Session: other,
		State: []byte("x")}); err != nil {
		t.Error(err)
	}
	var listed []string
	in := &seriatimpb.ListSessionsRequest{Queue: name, PageSize: 1}
	var last int64
	for {
		out, err := f.sessions().ListSessions(ctx, in)
		clustertest.Must(t, err)
		for _, s := range out.GetSessions() {
			listed, last = append(listed, s.GetSessionId()), s.GetStateSetAtMs()
		}
		if in.PageToken = out.GetNextPageToken(); in.GetPageToken() == "" {
			break
		}
	}
	if !slices.Equal(listed, []string{"s", "t"}) {
		t.Errorf("listed %v", listed)
	}
	since, err := f.sessions().ListSessions(ctx, &seriatimpb.ListSessionsRequest{Queue: name, UpdatedSinceMs: last + 1})
	if err != nil || len(since.GetSessions()) != 0 {
		t.Errorf("set after the last one: %v %v", since, err)
	}
	if err := set(nil); err != nil || state() != nil {
		t.Errorf("cleared: %v, %q", err, state())
	}
	_, err = f.sessions().ListSessions(ctx, &seriatimpb.ListSessionsRequest{Queue: name, PageToken: service.PageToken("short")})
	wantStatus(t, err, codes.InvalidArgument, "InvalidParameterValue")
	_, err = f.sessions().GetSessionState(ctx, &seriatimpb.GetSessionStateRequest{Queue: name})
	wantStatus(t, err, codes.InvalidArgument, "MissingParameter")
}

// awaitWaiting waits until exactly so many calls wait at the leader.
func awaitWaiting(t *testing.T, want float64) {
	t.Helper()
	for {
		for _, m := range node.Metrics() {
			if m.Name == "seriatim_longpoll_waiters" && m.Value == want {
				return
			}
		}
		if t.Context().Err() != nil {
			t.Fatalf("there are never %v that wait", want)
		}
		time.Sleep(5 * time.Millisecond) // no event to wait for
	}
}

// A call that waits in a session or for a session ends when its message or session is available.
func TestWaitingForSessions(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	name := f.create(nil)
	held := f.accept(name, "s")
	received := make(chan []*seriatimpb.Message, 1)
	go func() { received <- f.receiveIn(name, held, 20) }()
	accepted := make(chan *seriatimpb.Session, 1)
	failed := make(chan error, 1)
	go func() {
		out, err := f.sessions().AcceptSession(ctx, &seriatimpb.AcceptSessionRequest{Queue: name, WaitSeconds: 20})
		accepted <- out
		failed <- err
	}()
	awaitWaiting(t, 2)
	f.send(name, "s", "held")
	if got := <-received; !slices.Equal(bodies(got), []string{"held"}) {
		t.Errorf("the holder received %v", bodies(got))
	}
	f.send(name, "free", "a")
	if out, err := <-accepted, <-failed; err != nil || out.GetSession().GetSessionId() != "free" {
		t.Errorf("accepted %v, %v", out, err)
	}
	go func() {
		_, err := f.client.Receive(context.WithoutCancel(ctx),
			&seriatimpb.ReceiveRequest{Queue: name, Session: held, WaitSeconds: new(int32(20))})
		failed <- err
	}()
	awaitWaiting(t, 1)
	clustertest.Check(t, clustertest.Err(f.sessions().ReleaseSession(ctx, &seriatimpb.ReleaseSessionRequest{Queue: name, Session: held})))
	wantStatus(t, <-failed, codes.Aborted, "SessionLockLost")
	_, err := f.sessions().AcceptSession(ctx, &seriatimpb.AcceptSessionRequest{Queue: f.create(nil), WaitSeconds: 1})
	wantStatus(t, err, codes.DeadlineExceeded, "NoSessionAvailable")
	_, err = f.sessions().AcceptSession(ctx, &seriatimpb.AcceptSessionRequest{Queue: name, WaitSeconds: 21})
	wantStatus(t, err, codes.InvalidArgument, "InvalidParameterValue")
	optional := f.create(map[string]string{"MessageGroupIdMode": "Optional"})
	_, err = f.sessions().AcceptSession(ctx, &seriatimpb.AcceptSessionRequest{Queue: optional, WaitSeconds: 20})
	wantStatus(t, err, codes.FailedPrecondition, "UnsupportedOperation")
}

// A repeated attempt id returns the same lock or messages, and an attempt id with other parameters
// is refused.
func TestSessionAttempts(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	name := f.create(nil)
	f.send(name, "s", "a")
	f.send(name, "t", "c")
	accept := func(attempt string, id *string) (*seriatimpb.Session, error) {
		return f.sessions().AcceptSession(ctx, &seriatimpb.AcceptSessionRequest{Queue: name, SessionId: id, AttemptId: &attempt,
			WaitSeconds: 20})
	}
	first, err := accept("1", nil)
	clustertest.Must(t, err)
	for _, id := range []*string{nil, new(first.GetSession().GetSessionId())} {
		again, err := accept("1", id)
		if err != nil || again.GetSession().GetToken() != first.GetSession().GetToken() ||
			again.GetLockedUntilMs() < first.GetLockedUntilMs() {
			t.Errorf("again: %v %v, first %v", again, err, first)
		}
	}
	_, err = accept("1", new("t"))
	wantStatus(t, err, codes.InvalidArgument, "InvalidParameterValue")
	_, err = accept("no id", nil)
	wantStatus(t, err, codes.InvalidArgument, "InvalidParameterValue")
	if other, err := accept("2", nil); err != nil || other.GetSession().GetSessionId() != "t" {
		t.Errorf("%v %v", other, err)
	}
	// No session is free now, and a repeated attempt does not wait for one.
	if again, err := accept("1", nil); err != nil || again.GetSession().GetToken() != first.GetSession().GetToken() {
		t.Errorf("while none is free: %v %v", again, err)
	}
	in := &seriatimpb.ReceiveRequest{Queue: name, Session: first.GetSession(), WaitSeconds: new(int32(20))}
	got, err := f.client.Receive(ctx, in)
	if err != nil || !slices.Equal(bodies(got.GetMessages()), []string{"a"}) || got.GetAttemptId() == "" || got.GetReplayed() {
		t.Fatal(got, err)
	}
	in.AttemptId = new(got.GetAttemptId())
	again, err := f.client.Receive(ctx, in)
	if err != nil || !again.GetReplayed() || len(again.GetMessages()) != 1 ||
		again.GetMessages()[0].GetReceiptHandle() != got.GetMessages()[0].GetReceiptHandle() {
		t.Errorf("%v %v", again, err)
	}
	in.DeleteOnReceipt = true
	_, err = f.client.Receive(ctx, in)
	wantStatus(t, err, codes.FailedPrecondition, "UnsupportedOperation")
}
