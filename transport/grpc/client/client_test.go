package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

func receive(t *testing.T, c *client.Client, name string) []*client.Delivery {
	t.Helper()
	out, err := c.Receive(t.Context(), &seriatimpb.ReceiveRequest{Queue: name, MaxMessages: new(int32(10)), WaitSeconds: new(int32(0))})
	clustertest.Must(t, err)
	return out.GetMessages()
}

func bodies(messages []*client.Delivery) []string {
	out := []string{}
	for _, m := range messages {
		out = append(out, m.GetBody())
	}
	return out
}

func TestUnary(t *testing.T) {
	c, _ := newClient(t, "n1")
	name := create(t, c, ".fifo")
	results, err := c.Send(t.Context(), name, &client.Message{Body: "a", GroupId: new("g")}, &client.Message{Body: "b", GroupId: new("g")})
	if err != nil || len(results) != 2 {
		t.Fatal(results, err)
	}
	got := receive(t, c, name)
	if !slices.Equal(bodies(got), []string{"a", "b"}) {
		t.Fatalf("%v", got)
	}
	clustertest.Check(t, c.Delete(t.Context(), name, got[0].GetReceiptHandle()))
	clustertest.Check(t, c.ChangeVisibility(t.Context(), name, 0, got[1].GetReceiptHandle()))
	if got = receive(t, c, name); !slices.Equal(bodies(got), []string{"b"}) {
		t.Errorf("%v", got)
	}
	clustertest.Check(t, c.PurgeQueue(t.Context(), name))
	attributes, err := c.QueueAttributes(t.Context(), name, "ApproximateNumberOfMessagesNotVisible")
	if err != nil || attributes["ApproximateNumberOfMessagesNotVisible"] != "0" {
		t.Errorf("%v %v", attributes, err)
	}
	clustertest.Check(t, c.DeleteQueue(t.Context(), name))
	err = c.DeleteQueue(t.Context(), name)
	if status.Code(err) != codes.NotFound || client.Reason(err) != "QueueDoesNotExist" {
		t.Errorf("%v", err)
	}
	var failed *client.FailureError
	name = create(t, c, ".fifo")
	if _, err := c.Send(t.Context(), name, &client.Message{Body: "a", GroupId: new("g")},
		&client.Message{Body: "\x01", GroupId: new("g")}); !errors.As(err, &failed) || failed.Reason != "InvalidMessageContents" {
		t.Errorf("%v", err)
	}
}

// TestAccount checks calls for another account, without a signature.
func TestAccount(t *testing.T) {
	const tenant = "123456789012"
	_, err := node.Submit(t.Context(), &access.CreateAccount{Account: tenant})
	if refused, ok := errors.AsType[*queue.Error](err); err != nil && (!ok || refused.Code != refusal.EntityAlreadyExists) {
		t.Fatal(err)
	}
	ours, fronts := newClient(t, "n1")
	theirs, err := client.Dial(client.Options{Account: tenant}, fronts[0].port.Addr().String())
	clustertest.Must(t, err)
	defer func() { _ = theirs.Close() }() // a failure changes no result
	name := create(t, theirs, ".fifo")
	if _, err := ours.QueueAttributes(t.Context(), name); client.Reason(err) != "QueueDoesNotExist" {
		t.Errorf("the queue of another account by its bare name: %v", err)
	}
	if _, err := ours.QueueAttributes(t.Context(), tenant+"/"+name); err != nil {
		t.Errorf("the queue of another account by its whole name: %v", err)
	}
	clustertest.Check(t, theirs.DeleteQueue(t.Context(), name))
}

// The client finds the leader among its endpoints and continues to use it.
func TestFollowsLeader(t *testing.T) {
	c, fronts := newClient(t, "n1", "n2", "n3")
	for _, f := range fronts {
		f.face.leader.Store(new("n3"))
	}
	name := create(t, c, ".fifo")
	for range 3 { // each other endpoint gets at most one call
		receive(t, c, name)
	}
	before := fronts[2].face.calls.Load()
	for range 5 {
		receive(t, c, name)
	}
	if n := fronts[2].face.calls.Load() - before; n != 5 {
		t.Errorf("%d of 5 calls went to the leader", n)
	}
	fronts[2].face.leader.Store(new("n1"))
	receive(t, c, name)
	before = fronts[0].face.calls.Load()
	receive(t, c, name)
	if n := fronts[0].face.calls.Load() - before; n != 1 {
		t.Error("the client did not follow to the new leader")
	}
}

// A send whose answer is lost is repeated under the same ids, and stored once.
func TestSendIsRepeated(t *testing.T) {
	c, fronts := newClient(t, "n1", "n2")
	name := create(t, c, ".fifo")
	lost := func(cmd queue.Command) error {
		if _, sends := cmd.(*queue.SendMessages); sends {
			return cluster.ErrOutcomeUnknown
		}
		return nil
	}
	fronts[0].face.broken.Store(&lost)
	results, err := c.Send(t.Context(), name, &client.Message{Body: "a", GroupId: new("g")})
	if err != nil || results[0].Duplicate != nil { // it may be its own duplicate
		t.Errorf("%v %v", results, err)
	}
	if got := bodies(receive(t, c, name)); !slices.Equal(got, []string{"a"}) {
		t.Errorf("stored %v", got)
	}
	// A standard queue does not detect the repetition, so the caller has to decide.
	standard := create(t, c, "")
	fronts[1].face.broken.Store(&lost)
	if _, err := c.Send(t.Context(), standard, &client.Message{Body: "a"}); client.Reason(err) != "OutcomeUnknown" {
		t.Errorf("%v", err)
	}
}

// A receive whose answer is lost is repeated under the same attempt id.
func TestReceiveIsRepeated(t *testing.T) {
	c, fronts := newClient(t, "n1", "n2")
	name := create(t, c, ".fifo")
	clustertest.Must(t, clustertest.Err(c.Send(t.Context(), name, &client.Message{Body: "a", GroupId: new("g")})))
	lost := func(queue.Command) error { return cluster.ErrOutcomeUnknown }
	fronts[0].face.broken.Store(&lost)
	got := receive(t, c, name)
	if !slices.Equal(bodies(got), []string{"a"}) || got[0].GetReceiveCount() != 1 {
		t.Errorf("%v", got)
	}
}

// A call tries the next endpoint if it cannot connect, also a call that must not be repeated.
func TestDeadEndpoint(t *testing.T) {
	_, fronts := newClient(t, "n1")
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	clustertest.Must(t, err)
	clustertest.Must(t, dead.Close())
	c, err := client.Dial(client.Options{}, dead.Addr().String(), fronts[0].port.Addr().String())
	clustertest.Must(t, err)
	defer c.Close()
	standard := fmt.Sprintf("c%d", queueNumber.Add(1))
	in := &seriatimpb.CreateQueueRequest{Queue: standard}
	if _, err := client.Call(t.Context(), c, false, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.CreateQueue, in); err != nil {
		t.Fatal(err)
	}
	clustertest.Check(t, clustertest.Err(c.Send(t.Context(), standard, &client.Message{Body: "a"})))
}

// After a failure, a stream of sends continues at another node, in order and without loss.
func TestSender(t *testing.T) {
	c, fronts := newClient(t, "n1", "n2")
	name := create(t, c, ".fifo")
	var commands atomic.Int64
	unknown := func(cmd queue.Command) error {
		if _, sends := cmd.(*queue.SendMessages); sends && commands.Add(1)%5 == 0 {
			return cluster.ErrOutcomeUnknown
		}
		return nil
	}
	fronts[0].face.broken.Store(&unknown)
	fronts[1].face.broken.Store(&unknown)
	s := c.NewSender(t.Context(), name)
	const messages, groups = 300, 3
	var sent []*client.Sent
	for i := range messages {
		m, err := s.Send(t.Context(), &client.Message{Body: fmt.Sprintf("%03d", i), GroupId: new(fmt.Sprint(i % groups))})
		clustertest.Must(t, err)
		sent = append(sent, m)
		if i == messages/2 {
			fronts[0].server.Drain()
		}
	}
	s.Close()
	for i, m := range sent {
		if r, err := m.Wait(t.Context()); err != nil || r.GetMessageId() == "" {
			t.Fatalf("message %d: %v %v", i, r, err)
		}
	}
	if _, err := s.Send(t.Context(), &client.Message{Body: "late", GroupId: new("g")}); !errors.Is(err, client.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	got, total := map[string][]string{}, 0
	for {
		batch := receive(t, c, name)
		if len(batch) == 0 {
			break
		}
		var handles []string
		for _, m := range batch {
			got[m.GetGroupId()] = append(got[m.GetGroupId()], m.GetBody())
			handles = append(handles, m.GetReceiptHandle())
			total++
		}
		clustertest.Must(t, c.Delete(t.Context(), name, handles...))
	}
	for group, bodies := range got {
		if !slices.IsSorted(bodies) {
			t.Errorf("group %s: %v", group, bodies)
		}
	}
	if total != messages {
		t.Errorf("%d messages stored, want %d", total, messages)
	}
}

// A refused message fails alone. If the queue does not exist, all messages fail.
func TestSenderRefusals(t *testing.T) {
	c, _ := newClient(t, "n1")
	name := create(t, c, ".fifo")
	s := c.NewSender(t.Context(), name)
	bad, err := s.Send(t.Context(), &client.Message{Body: "\x01", GroupId: new("g")})
	clustertest.Must(t, err)
	good, err := s.Send(t.Context(), &client.Message{Body: "a", GroupId: new("g")})
	clustertest.Must(t, err)
	s.Close()
	var failed *client.FailureError
	if _, err := bad.Wait(t.Context()); !errors.As(err, &failed) || failed.Reason != "InvalidMessageContents" {
		t.Errorf("%v", err)
	}
	clustertest.Check(t, clustertest.Err(good.Wait(t.Context())))
	s = c.NewSender(t.Context(), "none.fifo")
	nowhere, err := s.Send(t.Context(), &client.Message{Body: "a", GroupId: new("g")})
	clustertest.Must(t, err)
	s.Close()
	if _, err := nowhere.Wait(t.Context()); client.Reason(err) != "QueueDoesNotExist" {
		t.Errorf("%v", err)
	}
}

// seen collects the messages that handlers got. Safe for concurrent use.
type seen struct {
	mu     sync.Mutex
	bodies map[string][]string // by group
	total  int
}

func (s *seen) add(m *client.Delivery) (total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bodies == nil {
		s.bodies = map[string][]string{}
	}
	s.bodies[m.GetGroupId()] = append(s.bodies[m.GetGroupId()], m.GetBody())
	s.total++
	return s.total
}

// Handlers get each message once and each group in order, although streams break again and again.
// If a handler fails, it gets the same message again first.
func TestConsume(t *testing.T) {
	c, fronts := newClient(t, "n1", "n2")
	name := create(t, c, ".fifo")
	const each, groups = 20, 4
	for i := range each {
		var batch []*client.Message
		for g := range groups {
			batch = append(batch, &client.Message{Body: fmt.Sprintf("%03d", i), GroupId: new(fmt.Sprint(g))})
		}
		clustertest.Must(t, clustertest.Err(c.Send(t.Context(), name, batch...)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got seen
	var failed atomic.Bool
	err := c.Consume(ctx, name, client.ConsumeOptions{Credit: 20}, func(_ context.Context, m *client.Delivery) error {
		if m.GetBody() == "005" && m.GetGroupId() == "1" && !failed.Swap(true) {
			return errors.New("not now")
		}
		total := got.add(m)
		if total%15 == 0 { // drains the two nodes in turn
			at := total / 15 % 2
			fronts[at].server.Drain()
			fronts[1-at].server.Undrain(t.Context())
		}
		if total == each*groups {
			cancel()
		}
		return nil
	})
	clustertest.Must(t, err)
	for group, bodies := range got.bodies {
		if len(bodies) != each || !slices.IsSorted(bodies) {
			t.Errorf("group %s: %v", group, bodies)
		}
	}
	attributes, err := c.QueueAttributes(t.Context(), name)
	if err != nil || attributes["ApproximateNumberOfMessages"] != "0" || attributes["ApproximateNumberOfMessagesNotVisible"] != "0" {
		t.Errorf("left: %v %v", attributes, err)
	}
}

// An acknowledgement whose answer is lost is repeated.
func TestConsumeLostAcknowledgement(t *testing.T) {
	c, fronts := newClient(t, "n1", "n2")
	name := create(t, c, ".fifo")
	clustertest.Must(t, clustertest.Err(c.Send(t.Context(), name, &client.Message{Body: "a", GroupId: new("g")})))
	var lost atomic.Bool
	once := func(cmd queue.Command) error {
		if _, deletes := cmd.(*queue.DeleteMessages); deletes && !lost.Swap(true) {
			return cluster.ErrOutcomeUnknown
		}
		return nil
	}
	fronts[0].face.broken.Store(&once)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calls atomic.Int64
	err := c.Consume(ctx, name, client.ConsumeOptions{
		NotSettled: func(m *client.Delivery, err error) { t.Errorf("%s: %v", m.GetBody(), err) },
	}, func(context.Context, *client.Delivery) error {
		calls.Add(1)
		cancel()
		return nil
	})
	if err != nil || calls.Load() != 1 || !lost.Load() {
		t.Errorf("%v, %d calls, lost: %v", err, calls.Load(), lost.Load())
	}
	if got := receive(t, c, name); len(got) != 0 {
		t.Errorf("left: %v", bodies(got))
	}
}

func TestConsumeRefused(t *testing.T) {
	c, _ := newClient(t, "n1")
	err := c.Consume(t.Context(), "none.fifo", client.ConsumeOptions{}, func(context.Context, *client.Delivery) error { return nil })
	if client.Reason(err) != "QueueDoesNotExist" {
		t.Errorf("%v", err)
	}
	if _, err := client.Dial(client.Options{}); err == nil {
		t.Error("a client without addresses")
	}
}

// countedStream counts the frames with messages that a client sends.
type countedStream struct {
	grpc.ClientStream
	frames *atomic.Int64
}

func (s *countedStream) SendMsg(m any) error {
	if in, ok := m.(*seriatimpb.SendStreamRequest); ok && len(in.GetMessages()) > 0 {
		s.frames.Add(1)
	}
	return s.ClientStream.SendMsg(m)
}

// TestFramesTakeAllWaitingMessages sends 250 messages before the stream opens: frames of 100
// take three.
func TestFramesTakeAllWaitingMessages(t *testing.T) {
	plain, fronts := newClient(t, "n1")
	name := create(t, plain, ".fifo")
	opening := make(chan struct{})
	var frames atomic.Int64
	count := func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
		o ...grpc.CallOption) (grpc.ClientStream, error) {
		<-opening
		stream, err := open(ctx, desc, conn, method, o...)
		return &countedStream{stream, &frames}, err
	}
	c, err := client.Dial(client.Options{Dial: []grpc.DialOption{grpc.WithChainStreamInterceptor(count)}}, fronts[0].port.Addr().String())
	clustertest.Must(t, err)
	defer c.Close()
	sender := c.NewSender(t.Context(), name)
	var sent []*client.Sent
	for i := range 250 {
		one, err := sender.Send(t.Context(), &client.Message{Body: fmt.Sprint(i), GroupId: new("g")})
		clustertest.Must(t, err)
		sent = append(sent, one)
	}
	close(opening)
	sender.Close()
	for i, one := range sent {
		if _, err := one.Wait(t.Context()); err != nil {
			t.Errorf("message %d: %v", i, err)
		}
	}
	if n := frames.Load(); n != 3 {
		t.Errorf("sent 250 messages in %d frames, want 3", n)
	}
}
