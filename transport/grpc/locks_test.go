package grpc

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

func TestDeferral(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	name := f.create(nil)
	f.send(name, "g", "a", "b")
	got := f.receive(name).GetMessages()
	if _, err := f.messages().Defer(ctx, &seriatimpb.DeferRequest{Queue: name,
		ReceiptHandles: []string{got[0].GetReceiptHandle()}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.messages().Complete(ctx, &seriatimpb.CompleteRequest{Queue: name,
		ReceiptHandles: []string{got[1].GetReceiptHandle()}}); err != nil {
		t.Fatal(err)
	}
	f.send(name, "g", "c")
	if got := f.receive(name).GetMessages(); !slices.Equal(bodies(got), []string{"c"}) {
		t.Errorf("a deferred message blocks its group: %v", bodies(got))
	}
	again, err := f.messages().ReceiveDeferred(ctx, &seriatimpb.ReceiveDeferredRequest{Queue: name,
		SequenceNumbers: []uint64{got[0].GetSequenceNumber()}})
	if err != nil || !slices.Equal(bodies(again.GetMessages()), []string{"a"}) {
		t.Fatalf("%v %v", again, err)
	}
	_, err = f.messages().ReceiveDeferred(ctx, &seriatimpb.ReceiveDeferredRequest{Queue: name,
		SequenceNumbers: []uint64{got[0].GetSequenceNumber()}})
	wantStatus(t, err, codes.NotFound, "MessageNotFound")
	if _, err := f.messages().Complete(ctx, &seriatimpb.CompleteRequest{Queue: name,
		ReceiptHandles: []string{again.GetMessages()[0].GetReceiptHandle()}}); err != nil {
		t.Error(err)
	}
}

func TestDeadLetter(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	name := f.create(map[string]string{"ImplicitDeadLetterQueue": "true"})
	f.send(name, "g", "bad")
	got := f.receive(name).GetMessages()
	done, err := f.messages().DeadLetter(ctx, &seriatimpb.DeadLetterRequest{Queue: name, Entries: []*seriatimpb.DeadLetterEntry{
		{ReceiptHandle: got[0].GetReceiptHandle(), Reason: "Unreadable", Description: "no JSON"},
	}})
	if err != nil || done.GetOutcomes()[0].GetFailure() != nil {
		t.Fatal(done, err)
	}
	moved := f.receive(name[:len(name)-len(".fifo")] + "-dlq.fifo").GetMessages()
	if len(moved) != 1 || moved[0].GetAttributes()["DeadLetterReason"].GetText() != "Unreadable" ||
		moved[0].GetAttributes()["DeadLetterErrorDescription"].GetText() != "no JSON" || moved[0].GetDeadLetterSource() != name {
		t.Errorf("%v", moved)
	}
	_, err = f.messages().DeadLetter(ctx, &seriatimpb.DeadLetterRequest{Queue: f.create(nil), Entries: []*seriatimpb.DeadLetterEntry{
		{ReceiptHandle: got[0].GetReceiptHandle()},
	}})
	wantStatus(t, err, codes.FailedPrecondition, "UnsupportedOperation")
}

func TestRenewLocks(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	name := f.create(nil)
	f.send(name, "g", "a")
	got := f.receive(name).GetMessages()
	handles := []string{got[0].GetReceiptHandle()}
	for _, seconds := range []*int32{nil, new(int32(100))} {
		done, err := f.messages().Renew(ctx, &seriatimpb.RenewRequest{Queue: name, ReceiptHandles: handles, LockSeconds: seconds})
		if err != nil || done.GetOutcomes()[0].GetFailure() != nil {
			t.Errorf("%v %v", done, err)
		}
	}
	clustertest.Check(t, clustertest.Err(f.messages().Abandon(ctx, &seriatimpb.AbandonRequest{Queue: name, ReceiptHandles: handles})))
	done, err := f.messages().Renew(ctx, &seriatimpb.RenewRequest{Queue: name, ReceiptHandles: handles})
	if err != nil || done.GetOutcomes()[0].GetFailure().GetReason() != "MessageLockLost" {
		t.Errorf("%v %v", done, err)
	}
	_, err = f.messages().Renew(ctx, &seriatimpb.RenewRequest{Queue: "none.fifo", ReceiptHandles: handles})
	wantStatus(t, err, codes.NotFound, "QueueDoesNotExist")
	_, err = f.messages().Complete(ctx, &seriatimpb.CompleteRequest{Queue: name, Session: &seriatimpb.SessionRef{},
		ReceiptHandles: handles})
	wantStatus(t, err, codes.InvalidArgument, "MissingParameter")
}

func TestDeleteOnReceipt(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	f.send(name, "g", "a", "b")
	out, err := f.client.Receive(t.Context(), &seriatimpb.ReceiveRequest{Queue: name, DeleteOnReceipt: true})
	if err != nil || !slices.Equal(bodies(out.GetMessages()), []string{"a"}) || out.GetMessages()[0].GetReceiptHandle() != "" ||
		out.GetAttemptId() != "" {
		t.Errorf("%v %v", out, err)
	}
	if got := f.receive(name).GetMessages(); !slices.Equal(bodies(got), []string{"b"}) {
		t.Errorf("left: %v", bodies(got))
	}
	_, err = f.client.Receive(t.Context(), &seriatimpb.ReceiveRequest{Queue: name, DeleteOnReceipt: true, AttemptId: new("x")})
	wantStatus(t, err, codes.FailedPrecondition, "UnsupportedOperation")
}
