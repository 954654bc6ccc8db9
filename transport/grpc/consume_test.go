package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// consumerEnd is the client's end of a Consume.
type consumerEnd struct {
	t       *testing.T
	stream  grpc.BidiStreamingClient[seriatimpb.ConsumeRequest, seriatimpb.ConsumeResponse]
	attempt string // the last next_attempt_id
	number  uint64 // the last settlement
}

func (f *fixture) consume(ctx context.Context, open *seriatimpb.ConsumeOpen) *consumerEnd {
	f.t.Helper()
	stream, err := f.client.Consume(ctx)
	clustertest.Must(f.t, err)
	c := &consumerEnd{t: f.t, stream: stream}
	c.request(&seriatimpb.ConsumeRequest{Request: &seriatimpb.ConsumeRequest_Open{Open: open}})
	c.attempt = c.next().GetOpened().GetNextAttemptId()
	if c.attempt == "" {
		f.t.Fatal("no attempt id")
	}
	return c
}

func (c *consumerEnd) request(in *seriatimpb.ConsumeRequest) {
	c.t.Helper()
	clustertest.Must(c.t, c.stream.Send(in))
}

func (c *consumerEnd) next() *seriatimpb.ConsumeResponse {
	c.t.Helper()
	out, err := c.stream.Recv()
	clustertest.Must(c.t, err)
	return out
}

// messages returns the messages of the next deliveries, n in total.
func (c *consumerEnd) messages(n int) []*seriatimpb.Message {
	c.t.Helper()
	var messages []*seriatimpb.Message
	for len(messages) < n {
		out := c.next()
		d := out.GetDelivery()
		if d == nil {
			c.t.Fatalf("instead of a delivery: %v", out)
		}
		c.attempt = d.GetNextAttemptId()
		messages = append(messages, d.GetMessages()...)
	}
	return messages
}

// sendSettlement sends a settlement without waiting for the answer.
func (c *consumerEnd) sendSettlement(kind seriatimpb.SettlementKind, seconds int32, messages ...*seriatimpb.Message) {
	c.t.Helper()
	c.number++
	in := &seriatimpb.Settlement{Number: c.number, Kind: kind, VisibilityTimeoutSeconds: seconds}
	for _, m := range messages {
		in.ReceiptHandles = append(in.ReceiptHandles, m.GetReceiptHandle())
	}
	c.request(&seriatimpb.ConsumeRequest{Request: &seriatimpb.ConsumeRequest_Settlement{Settlement: in}})
}

// outcomes returns the outcomes of the last settlement.
func (c *consumerEnd) outcomes() []*seriatimpb.Outcome {
	c.t.Helper()
	out := c.next()
	if out.GetSettled().GetNumber() != c.number {
		c.t.Fatalf("instead of the answer to %d: %v", c.number, out)
	}
	return out.GetSettled().GetOutcomes()
}

// close ends the stream cleanly.
func (c *consumerEnd) close() {
	c.t.Helper()
	clustertest.Must(c.t, c.stream.CloseSend())
	for {
		if _, err := c.stream.Recv(); err != nil {
			if !errors.Is(err, io.EOF) {
				c.t.Errorf("ended with %v", err)
			}
			return
		}
	}
}

const (
	acknowledge = seriatimpb.SettlementKind_SETTLEMENT_KIND_ACKNOWLEDGE
	abandon     = seriatimpb.SettlementKind_SETTLEMENT_KIND_ABANDON
	extend      = seriatimpb.SettlementKind_SETTLEMENT_KIND_EXTEND
)

// The stream delivers as many messages as it has credit for, and settlements restore credit.
func TestConsume(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	f.send(name, "g", "m1", "m2", "m3", "m4")
	c := f.consume(t.Context(), &seriatimpb.ConsumeOpen{Queue: name, Credit: 2})
	got := c.messages(2)
	if !slices.Equal(bodies(got), []string{"m1", "m2"}) {
		t.Fatalf("%v", bodies(got))
	}
	c.sendSettlement(extend, 60, got[0])
	if out := c.outcomes(); out[0].GetFailure() != nil {
		t.Errorf("%v", out)
	}
	c.sendSettlement(acknowledge, 0, got...)
	if out := c.outcomes(); out[0].GetFailure() != nil || out[1].GetFailure() != nil {
		t.Errorf("%v", out)
	}
	got = c.messages(2)
	if !slices.Equal(bodies(got), []string{"m3", "m4"}) {
		t.Fatalf("%v", bodies(got))
	}
	c.sendSettlement(abandon, 0, got...)
	if out := c.outcomes(); out[0].GetFailure() != nil || out[1].GetFailure() != nil {
		t.Errorf("%v", out)
	}
	again := c.messages(2)
	if !slices.Equal(bodies(again), []string{"m3", "m4"}) || again[0].GetReceiveCount() != 2 {
		t.Errorf("%v", again)
	}
	c.sendSettlement(acknowledge, 0, &seriatimpb.Message{ReceiptHandle: "x"})
	if out := c.outcomes(); out[0].GetFailure().GetReason() != "ReceiptHandleIsInvalid" {
		t.Errorf("%v", out)
	}
	// After a clean end, the messages that the client held are visible at once.
	c.close()
	if got := f.receive(name).GetMessages(); !slices.Equal(bodies(got), []string{"m3", "m4"}) {
		t.Errorf("after the end: %v", bodies(got))
	}
}

// A broken stream is resumed with its attempt id: the same messages come with the same handles,
// although their first delivery was lost.
func TestConsumeResumes(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	f.send(name, "g", "m1", "m2")
	ctx, cut := context.WithCancel(t.Context())
	c := f.consume(ctx, &seriatimpb.ConsumeOpen{Queue: name, Credit: 1})
	attempt := c.attempt
	first := c.messages(1) // the client acts as if these were lost
	cut()
	resumed := f.consume(t.Context(), &seriatimpb.ConsumeOpen{Queue: name, Credit: 1, AttemptId: attempt})
	out := resumed.next().GetDelivery()
	if !out.GetReplayed() || len(out.GetMessages()) != 1 || out.GetMessages()[0].GetReceiptHandle() != first[0].GetReceiptHandle() {
		t.Fatalf("%v", out)
	}
	resumed.sendSettlement(acknowledge, 0, first...)
	if out := resumed.outcomes(); out[0].GetFailure() != nil {
		t.Errorf("%v", out)
	}
	if got := resumed.messages(1); !slices.Equal(bodies(got), []string{"m2"}) {
		t.Errorf("%v", bodies(got))
	}
	resumed.close()
}

// An acknowledgement whose answer was lost can be repeated on another stream, which also takes over
// the messages that the client holds.
func TestConsumeHoldsOn(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	f.send(name, "g", "m1", "m2")
	ctx, cut := context.WithCancel(t.Context())
	c := f.consume(ctx, &seriatimpb.ConsumeOpen{Queue: name, Credit: 2, VisibilityTimeoutSeconds: new(int32(2))})
	got := c.messages(2)
	c.sendSettlement(acknowledge, 0, got[0])
	c.outcomes()
	f.send(name, "h", "m3") // delivered on the first stream, on the second, or on both
	cut()
	resumed := f.consume(t.Context(), &seriatimpb.ConsumeOpen{
		Queue: name, Credit: 3, VisibilityTimeoutSeconds: new(int32(2)), AttemptId: c.attempt, Held: []string{got[1].GetReceiptHandle()},
	})
	resumed.sendSettlement(acknowledge, 0, got[0])
	var outcomes []*seriatimpb.Outcome
	var third []*seriatimpb.Message
	for outcomes == nil || third == nil { // in either order
		out := resumed.next()
		if s := out.GetSettled(); s != nil {
			outcomes = s.GetOutcomes()
		}
		if d := out.GetDelivery(); len(d.GetMessages()) > 0 {
			third = d.GetMessages()
		}
	}
	if outcomes[0].GetFailure() != nil || !slices.Equal(bodies(third), []string{"m3"}) {
		t.Errorf("%v, %v", outcomes, bodies(third))
	}
	resumed.sendSettlement(acknowledge, 0, got[1], third[0])
	if out := resumed.outcomes(); out[0].GetFailure() != nil || out[1].GetFailure() != nil {
		t.Errorf("%v", out)
	}
	resumed.close()
}

// The server renews messages that the client holds before their timeout, and reports when one is
// lost.
func TestConsumeRenews(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	f.send(name, "g", "m1")
	renewals := make(chan error, 100) // more than there can be
	count := func(next func() (cluster.Reply, error), cmd queue.Command) (cluster.Reply, error) {
		reply, err := next()
		if _, renews := cmd.(*queue.ChangeMessageVisibility); renews && err == nil {
			renewals <- nil
		}
		return reply, err
	}
	f.node.submit.Store(&count)
	c := f.consume(t.Context(), &seriatimpb.ConsumeOpen{Queue: name, Credit: 1, VisibilityTimeoutSeconds: new(int32(3))})
	got := c.messages(1)
	<-renewals
	clustertest.Must(t, clustertest.Err(f.client.PurgeQueue(t.Context(), &seriatimpb.PurgeQueueRequest{Queue: name})))
	if lost := c.next().GetLost().GetReceiptHandles(); !slices.Equal(lost, []string{got[0].GetReceiptHandle()}) {
		t.Errorf("lost %v", lost)
	}
	c.close()
}

// Messages that the client holds from an earlier stream are renewed at once. An unknown handle is
// reported as lost.
func TestConsumeRenewsAtOnce(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	f.send(name, "g", "m1")
	handle := f.receive(name).GetMessages()[0].GetReceiptHandle()
	c := f.consume(t.Context(), &seriatimpb.ConsumeOpen{Queue: name, Credit: 3, Held: []string{handle, "x"}})
	if lost := c.next().GetLost().GetReceiptHandles(); !slices.Equal(lost, []string{"x"}) {
		t.Errorf("lost %v", lost)
	}
	c.close()
	if got := f.receive(name).GetMessages(); len(got) != 1 {
		t.Errorf("%d messages were given back", len(got))
	}
}

// Credit can be set to zero and restored.
func TestConsumeCredit(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	f.send(name, "g", "m1")
	c := f.consume(t.Context(), &seriatimpb.ConsumeOpen{Queue: name, Credit: 1})
	got := c.messages(1)
	credit := func(n uint32) {
		c.request(&seriatimpb.ConsumeRequest{Request: &seriatimpb.ConsumeRequest_Credit{Credit: n}})
	}
	credit(0)
	f.send(name, "g", "m2")
	c.sendSettlement(acknowledge, 0, got...)
	c.outcomes() // no message came in between, as this answer shows
	c.sendSettlement(acknowledge, 0, got...)
	c.outcomes()
	credit(1)
	if got := c.messages(1); !slices.Equal(bodies(got), []string{"m2"}) {
		t.Errorf("%v", bodies(got))
	}
	c.close()
}

func TestConsumeDrain(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	f.send(name, "g", "m1")
	c := f.consume(t.Context(), &seriatimpb.ConsumeOpen{Queue: name, Credit: 2})
	c.messages(1)
	f.server.Drain()
	_, err := c.stream.Recv()
	wantStatus(t, err, codes.Unavailable, reasonDraining)
	if got := f.receive(name).GetMessages(); len(got) != 0 {
		t.Errorf("visible after the drain: %v", bodies(got))
	}
}

func TestConsumeBadRequests(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	open := func(o *seriatimpb.ConsumeOpen) *seriatimpb.ConsumeRequest {
		return &seriatimpb.ConsumeRequest{Request: &seriatimpb.ConsumeRequest_Open{Open: o}}
	}
	good := open(&seriatimpb.ConsumeOpen{Queue: name, Credit: 1})
	settlement := func(s *seriatimpb.Settlement) *seriatimpb.ConsumeRequest {
		return &seriatimpb.ConsumeRequest{Request: &seriatimpb.ConsumeRequest_Settlement{Settlement: s}}
	}
	for i, tc := range []struct {
		requests []*seriatimpb.ConsumeRequest
		code     codes.Code
		reason   string
	}{
		{[]*seriatimpb.ConsumeRequest{{}}, codes.InvalidArgument, "MissingParameter"},
		{[]*seriatimpb.ConsumeRequest{open(&seriatimpb.ConsumeOpen{Queue: "none", Credit: 1})}, codes.NotFound, "QueueDoesNotExist"},
		{[]*seriatimpb.ConsumeRequest{open(&seriatimpb.ConsumeOpen{Queue: name})}, codes.InvalidArgument, "InvalidParameterValue"},
		{[]*seriatimpb.ConsumeRequest{open(&seriatimpb.ConsumeOpen{Queue: name, Credit: 1001})}, codes.InvalidArgument,
			"InvalidParameterValue"},
		{
			[]*seriatimpb.ConsumeRequest{open(&seriatimpb.ConsumeOpen{Queue: name, Credit: 1, VisibilityTimeoutSeconds: new(int32(0))})},
			codes.InvalidArgument, "InvalidParameterValue",
		},
		{[]*seriatimpb.ConsumeRequest{good, good}, codes.InvalidArgument, "InvalidParameterValue"},
		{[]*seriatimpb.ConsumeRequest{good, settlement(&seriatimpb.Settlement{Kind: acknowledge})}, codes.InvalidArgument,
			"EmptyBatchRequest"},
		{[]*seriatimpb.ConsumeRequest{good, settlement(&seriatimpb.Settlement{ReceiptHandles: []string{"x"}})}, codes.InvalidArgument,
			"InvalidParameterValue"},
		{[]*seriatimpb.ConsumeRequest{good, settlement(&seriatimpb.Settlement{Kind: extend, ReceiptHandles: []string{"x"}})},
			codes.InvalidArgument, "InvalidParameterValue"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			stream, err := f.client.Consume(t.Context())
			clustertest.Must(t, err)
			for _, in := range tc.requests {
				clustertest.Must(t, stream.Send(in))
			}
			for err == nil {
				_, err = stream.Recv()
			}
			wantStatus(t, err, tc.code, tc.reason)
		})
	}
}
