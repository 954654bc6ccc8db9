package grpc

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// Send sends 1 to 10 messages.
func (q *queues) Send(ctx context.Context, in *seriatimpb.SendRequest) (*seriatimpb.SendResponse, error) {
	c := callOf(ctx)
	results, err := c.send(ctx, in.GetMessages())
	return &seriatimpb.SendResponse{Results: results}, err
}

// send sends messages, each of which is accepted or refused on its own.
func (c *call) send(ctx context.Context, messages []*seriatimpb.OutgoingMessage) ([]*seriatimpb.SendResult, error) {
	if refused := queue.CheckEntryCount(len(messages), "message"); refused != nil {
		return nil, c.refuse(ctx, refused)
	}
	entries := make([]queue.SendEntry, len(messages))
	for i, m := range messages {
		entries[i] = sendEntry(m)
	}
	c.Record.Trace.Batch(len(entries))
	c.Record.Trace.Sent(entries)
	sent, err := service.Submit[queue.MessagesSent](ctx, &c.Call, &queue.SendMessages{
		Queue: c.queue, SenderID: c.SenderID(), Batch: true, Entries: entries,
	})
	if err != nil {
		return nil, err
	}
	results := make([]*seriatimpb.SendResult, len(sent.Entries))
	for i := range sent.Entries {
		results[i] = sendResult(&sent.Entries[i], c.Repeated)
	}
	return results, nil
}

// waitOfQueue selects the queue's ReceiveMessageWaitTimeSeconds.
const waitOfQueue = time.Duration(-1)

// Receive receives up to 10 messages, waiting for the first if asked to.
func (q *queues) Receive(ctx context.Context, in *seriatimpb.ReceiveRequest) (*seriatimpb.ReceiveResponse, error) {
	c := callOf(ctx)
	wait := waitOfQueue
	if in.WaitSeconds != nil {
		if w := in.GetWaitSeconds(); w < 0 || w > limits.WaitSecondsMax {
			return nil, c.refuse(ctx, refusal.InvalidValue(strconv.Itoa(int(w)), "wait_seconds", "Must be >= 0 and <= 20, if provided."))
		}
		wait = time.Duration(in.GetWaitSeconds()) * time.Second
	}
	cmd := &queue.ReceiveMessages{
		Queue: c.queue, MaxMessages: domainInt(in.MaxMessages), VisibilityTimeout: domainInt(in.VisibilityTimeoutSeconds),
		ShortPoll: wait == 0,
	}
	var err error
	if cmd.Options, err = c.receiveOptions(ctx, in); err != nil {
		return nil, err
	}
	switch cmd.AttemptID, cmd.AttemptIDGiven = in.GetAttemptId(), in.AttemptId != nil; {
	case !isFIFO(c.queue):
		cmd.AttemptID, cmd.AttemptIDGiven = "", false
	case in.AttemptId == nil && !in.GetDeleteOnReceipt():
		if cmd.AttemptID, err = q.server.newAttemptID(); err != nil {
			return nil, err
		}
		cmd.AttemptIDGiven = true
	}
	received, err := c.receive(ctx, cmd, wait)
	if err != nil {
		return nil, err
	}
	c.Record.Trace.Received(received.Messages)
	out := &seriatimpb.ReceiveResponse{AttemptId: cmd.AttemptID, Replayed: received.Replayed}
	var size int64
	out.Messages, size = wireMessages(received.Messages)
	return out, c.acquireAnswer(ctx, size)
}

// acquireAnswer takes a large answer from the budget until the call is over.
func (c *call) acquireAnswer(ctx context.Context, size int64) error {
	if size > freeBytes && c.in.account.acquire(ctx, size) != nil {
		return errAnswer
	}
	return nil
}

// receiveOptions returns the options that SQS lacks, nil if the request has none.
func (c *call) receiveOptions(ctx context.Context, in *seriatimpb.ReceiveRequest) (*queue.ReceiveOptions, error) {
	if in.GetSession() == nil && !in.GetDeleteOnReceipt() {
		return nil, nil //nolint:nilnil // a receive without options has none
	}
	ref, err := c.session(ctx, in.GetSession())
	return &queue.ReceiveOptions{Session: ref, Delete: in.GetDeleteOnReceipt()}, err
}

// receive waits for messages until the client disconnects or the node stops.
func (c *call) receive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration) (queue.MessagesReceived, error) {
	return resultOf[queue.MessagesReceived](c.await(ctx, wait, func(ctx context.Context) (cluster.Reply, error) {
		return c.server.Node.Receive(ctx, cmd, wait)
	}))
}

// await executes a command that waits until the client disconnects or the node stops.
func (c *call) await(ctx context.Context, wait time.Duration, execute func(context.Context) (cluster.Reply, error)) (queue.Result, error) {
	waits := c.server.waits.Context()
	if wait != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(waits, cancel)()
	}
	reply, err := execute(ctx)
	c.Position = reply.Position
	// A command on its way into the log may still be executed.
	if errors.Is(err, context.Canceled) && waits.Err() != nil && !errors.Is(err, cluster.ErrOutcomeUnknown) {
		return nil, errDraining
	}
	return reply.Result, err
}

func (s *Server) newAttemptID() (string, error) { return service.NewAttemptID(s.Random) }

// isFIFO reports whether a name is that of a FIFO queue.
func isFIFO(name string) bool { return strings.HasSuffix(name, ".fifo") }

// Delete deletes 1 to 10 messages, each on its own.
func (q *queues) Delete(ctx context.Context, in *seriatimpb.DeleteRequest) (*seriatimpb.DeleteResponse, error) {
	c := callOf(ctx)
	if refused := queue.CheckEntryCount(len(in.GetReceiptHandles()), "receipt handle"); refused != nil {
		return nil, c.refuse(ctx, refused)
	}
	c.Record.Trace.Batch(len(in.GetReceiptHandles()))
	done, err := service.Submit[queue.EntriesDone](ctx, &c.Call,
		&queue.DeleteMessages{Queue: c.queue, Batch: true, Handles: in.GetReceiptHandles()})
	return &seriatimpb.DeleteResponse{Outcomes: outcomes(done)}, err
}

// ChangeVisibility sets visibility timeouts of 1 to 10 messages in flight, each on its own.
func (q *queues) ChangeVisibility(ctx context.Context, in *seriatimpb.ChangeVisibilityRequest) (*seriatimpb.ChangeVisibilityResponse,
	error) {
	c := callOf(ctx)
	if refused := queue.CheckEntryCount(len(in.GetEntries()), "entry"); refused != nil {
		return nil, c.refuse(ctx, refused)
	}
	entries := make([]queue.VisibilityEntry, len(in.GetEntries()))
	for i, e := range in.GetEntries() {
		entries[i] = queue.VisibilityEntry{Handle: e.GetReceiptHandle(), VisibilityTimeout: domainInt(e.VisibilityTimeoutSeconds)}
	}
	c.Record.Trace.Batch(len(entries))
	done, err := service.Submit[queue.EntriesDone](ctx, &c.Call,
		&queue.ChangeMessageVisibility{Queue: c.queue, Batch: true, Entries: entries})
	return &seriatimpb.ChangeVisibilityResponse{Outcomes: outcomes(done)}, err
}
