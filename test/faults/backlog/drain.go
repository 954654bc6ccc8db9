package backlog

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// The queue hides what was received for Visibility. A receive whose answer was lost is
// repeated with its attempt id for shorter than that.
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

// Drain receives and deletes until every acknowledged message is deleted, or the queue
// has nothing for longer than a message can be hidden, and closes the account.
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
		// What others hold may yet come back; what is deleted does not.
		if acked, deleted := b.Account.totals(); acked == deleted && attempt > 0 || time.Since(empty) > Visibility+10*time.Second {
			return nil
		}
		if !pause(ctx, pauseTime) {
			return fmt.Errorf("the backlog was not drained: %w", ctx.Err())
		}
	}
}

// receive asks until it is answered, or an answer to its attempt id says nothing any more.
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

// take judges the messages of an answer and deletes them. A message whose handle ran out
// comes again.
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
