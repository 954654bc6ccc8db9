package migrate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/transfer"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

const (
	// moversMax bounds the receivers of one queue. Messages of one group still arrive in order: a
	// FIFO queue hands out no message of a group while an earlier one is in flight.
	moversMax = 16
	// idleWait is the long poll of a receive. A queue is empty after one poll without a message.
	idleWait   = 2 * time.Second
	batchSize  = 10
	batchBytes = 1 << 20
	// Hidden is the visibility timeout at the source. It must exceed the time of a send.
	Hidden = 2 * time.Minute
)

// Move describes the messages of a queue to move.
type Move struct {
	From   Queue
	To     string
	Pace   *transfer.Pace
	Report func(int64) // called with the number of moved messages
}

// received is a message of the source.
type received struct {
	MessageID         string `json:"MessageId"`
	ReceiptHandle     string
	Body              string
	Attributes        map[string]string
	MessageAttributes map[string]struct {
		DataType    string
		StringValue string
		BinaryValue []byte
	}
}

// Count returns the number of messages of a queue in any state.
func (s *Source) Count(ctx context.Context, q Queue) (available, hidden int64, err error) {
	listed, err := s.attributes(ctx, q)
	if err != nil {
		return 0, 0, err
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(listed[name], 10, 64) // a service may leave it out
		return n
	}
	return number("ApproximateNumberOfMessages"),
		number("ApproximateNumberOfMessagesNotVisible") + number("ApproximateNumberOfMessagesDelayed"), nil
}

// Move moves the available messages of a queue, and returns how many. A message is deleted from the
// source after the cluster has stored it.
func (s *Source) Move(ctx context.Context, n *native.Conn, m Move) (int64, error) {
	var moved atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range m.Pace.AtOnce(moversMax, batchSize) {
		g.Go(func() error {
			for {
				count, err := s.moveBatch(ctx, n, &m)
				m.Report(moved.Add(count))
				if err != nil || count == 0 {
					return err
				}
				if err := m.Pace.Wait(ctx, count); err != nil {
					return err
				}
			}
		})
	}
	err := g.Wait()
	return moved.Load(), err
}

// moveBatch moves up to batchSize messages.
func (s *Source) moveBatch(ctx context.Context, n *native.Conn, m *Move) (int64, error) {
	var out struct{ Messages []received }
	err := s.call(ctx, "ReceiveMessage", map[string]any{
		"QueueUrl": m.From.URL, "MaxNumberOfMessages": batchSize, "WaitTimeSeconds": int(idleWait / time.Second),
		"VisibilityTimeout": int(Hidden / time.Second), "AttributeNames": []string{"All"}, "MessageAttributeNames": []string{"All"},
	}, &out, idleWait)
	if err != nil {
		return 0, err
	}
	var moved int64
	for rest := out.Messages; len(rest) > 0; {
		size := fitting(rest)
		// An interruption must not leave messages that are stored here and not deleted there.
		count, err := s.store(context.WithoutCancel(ctx), n, m, rest[:size])
		moved += count
		if err != nil {
			return moved, err
		}
		rest = rest[size:]
	}
	return moved, nil
}

// fitting returns how many of the messages fit into one request.
func fitting(list []received) int {
	size := 0
	for i := range list {
		if size += len(list[i].Body); i > 0 && size > batchBytes {
			return i
		}
	}
	return len(list)
}

// store sends messages and deletes those that were accepted from the source.
func (s *Source) store(ctx context.Context, n *native.Conn, m *Move, list []received) (int64, error) {
	messages := make([]*api.Message, len(list))
	for i := range list {
		messages[i] = list[i].message(transfer.IsFIFO(m.To))
	}
	var results []*api.Result
	sent := n.Do(ctx, 0, func(ctx context.Context, c *api.Client) (err error) {
		results, err = c.Send(ctx, m.To, messages...)
		return err
	})
	var entries []map[string]string
	for i, r := range results {
		if r.GetFailure() == nil {
			entries = append(entries, map[string]string{"Id": strconv.Itoa(i), "ReceiptHandle": list[i].ReceiptHandle})
		}
	}
	if sent != nil {
		text := fmt.Errorf("%s: a message was not stored and stays at the source: %w", m.To, sent)
		sent = exit.New(exit.CodeOf(sent), text, exit.HintOf(sent))
	}
	if len(entries) == 0 {
		return 0, sent
	}
	var deleted struct {
		Failed []struct{ Code, Message string }
	}
	err := s.call(ctx, "DeleteMessageBatch", map[string]any{"QueueUrl": m.From.URL, "Entries": entries}, &deleted, 0)
	if err == nil && len(deleted.Failed) > 0 {
		err = exit.New(exit.Failed, fmt.Errorf("the source did not delete a message of %s that was stored: %s: %s", m.From.Name,
			deleted.Failed[0].Code, deleted.Failed[0].Message), "run the same command again: a FIFO queue stores the message once")
	}
	return int64(len(entries)), errors.Join(sent, err)
}

// message returns the message to send. Its deduplication id is the message id at the source: a
// repeated move stores it once, and two messages with one deduplication id are both moved.
func (r *received) message(fifo bool) *api.Message {
	m := &api.Message{Body: r.Body, TraceHeader: r.Attributes["AWSTraceHeader"]}
	if group := r.Attributes["MessageGroupId"]; group != "" {
		m.GroupId = &group
	}
	if fifo {
		m.DeduplicationId = &r.MessageID
	}
	for name, a := range r.MessageAttributes {
		if m.Attributes == nil {
			m.Attributes = make(map[string]*api.Attribute, len(r.MessageAttributes))
		}
		if strings.HasPrefix(a.DataType, "Binary") {
			m.Attributes[name] = api.BinaryAttribute(a.DataType, a.BinaryValue)
		} else {
			m.Attributes[name] = api.TextAttribute(a.DataType, a.StringValue)
		}
	}
	return m
}
