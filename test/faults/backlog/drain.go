package backlog

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// The queue hides received messages for Visibility. A receive whose answer was lost is repeated
// with its attempt id for a shorter time.
const (
	Visibility  = 60 * time.Second
	repeatsMost = 20
)

// received is the answer to a receive.
type received struct {
	Messages []struct {
		ID         string `json:"MessageId"`
		Body       string
		Digest     string `json:"MD5OfBody"`
		Handle     string `json:"ReceiptHandle"`
		Attributes map[string]string
	}
}

// Drain receives and deletes until every acknowledged message is deleted, or the queue has been
// empty for longer than a message can be hidden. Then it closes the account.
func (b *Backlog) Drain(ctx context.Context) error {
	defer b.follow(time.Now())()
	err := b.side(ctx, b.drain)
	if err == nil {
		b.Account.close()
	}
	return err
}

func (b *Backlog) drain(ctx context.Context, connection int) error {
	empty := time.Now()
	for attempt := 0; ; attempt++ {
		out, err := b.receive(ctx, fmt.Sprintf("drain-%d-%d", connection, attempt))
		if err != nil {
			return err
		}
		if len(out.Messages) > 0 {
			if err := b.take(ctx, out); err != nil {
				return err
			}
			empty = time.Now()
			continue
		}
		// Messages in flight may return, but deleted ones do not.
		if acked, deleted := b.Account.totals(); acked == deleted && attempt > 0 || time.Since(empty) > Visibility+10*time.Second {
			return nil
		}
		if !pause(ctx, pauseTime) {
			return fmt.Errorf("the backlog was not drained: %w", ctx.Err())
		}
	}
}

// receive repeats the call until it is answered, or until its attempt id may have expired.
func (b *Backlog) receive(ctx context.Context, attempt string) (out received, err error) {
	in := map[string]any{"QueueUrl": b.URL, "MaxNumberOfMessages": batch, "ReceiveRequestAttemptId": attempt,
		"MessageSystemAttributeNames": []string{"All"}}
	for range repeatsMost {
		if err = b.Call(ctx, nil, "ReceiveMessage", in, &out); err == nil {
			return out, nil
		}
		if !pause(ctx, pauseTime) {
			return out, fmt.Errorf("the backlog was not drained (%w): %w", err, ctx.Err())
		}
	}
	return received{}, nil
}

// take checks and deletes the messages of an answer. A message whose handle has expired is received
// again.
func (b *Backlog) take(ctx context.Context, out received) error {
	var messages []Message
	var entries []map[string]string
	for i, m := range out.Messages {
		if m.Digest != history.BodyDigest(m.Body) {
			b.Account.Complain("%.40q came with the digest %s", m.Body, m.Digest)
		}
		messages = append(messages, Message{Group: m.Attributes["MessageGroupId"], Body: m.Body, ID: m.ID,
			Sequence: m.Attributes["SequenceNumber"]})
		entries = append(entries, map[string]string{"Id": strconv.Itoa(i), "ReceiptHandle": m.Handle})
	}
	b.Account.received(messages)
	until := time.Now().Add(Visibility)
	for time.Now().Before(until) {
		var done struct {
			Successful []struct {
				ID string `json:"Id"`
			}
		}
		err := b.Call(ctx, nil, "DeleteMessageBatch", map[string]any{"QueueUrl": b.URL, "Entries": entries}, &done)
		if err == nil {
			for _, s := range done.Successful {
				if i, err := strconv.Atoi(s.ID); err == nil && i >= 0 && i < len(messages) {
					b.Account.wasDeleted(messages[i].Body)
				}
			}
			return nil
		}
		if !pause(ctx, pauseTime) {
			return fmt.Errorf("the backlog was not drained (%w): %w", err, ctx.Err())
		}
	}
	return nil
}
