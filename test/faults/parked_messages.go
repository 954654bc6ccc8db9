package faults

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// Sizes and numbers of parked messages, and of the calls that send them.
const (
	parkedBytes  = 1024
	parkedGroups = 1024
	connections  = 16
	batch        = 10       // of one call
	rateMost     = 24 << 20 // bytes of bodies in a second
	linesEvery   = 10 * time.Second
	pauseTime    = 100 * time.Millisecond // after a call that failed
)

// fill sends messages until so many bytes of bodies are acknowledged.
func (p *parked) fill(ctx context.Context, bytes int64) error {
	calls := int(bytes/parkedBytes+batch-1) / batch
	began := time.Now()
	defer p.follow(began)()
	return p.side(ctx, func(ctx context.Context, connection int) error {
		for i := connection; i < calls; i += connections {
			due := time.Duration(float64(i*batch*parkedBytes) / rateMost * float64(time.Second))
			if !pause(ctx, due-time.Since(began)) {
				return ctx.Err()
			}
			// Each connection has its own groups, which it sends one after the other.
			if err := p.send(ctx, i%parkedGroups); err != nil {
				return err
			}
		}
		return nil
	})
}

// side runs one function for each connection.
func (p *parked) side(ctx context.Context, run func(ctx context.Context, connection int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var working sync.WaitGroup
	for connection := range connections {
		working.Go(func() {
			if err := run(ctx, connection); err != nil {
				cancel(err)
			}
		})
	}
	working.Wait()
	return context.Cause(ctx)
}

// follow reports the progress now and then until the returned function is called.
func (p *parked) follow(began time.Time) (stop func()) {
	done := make(chan struct{})
	var following sync.WaitGroup
	line := func() {
		acked, deleted := p.account.totals()
		// A failure to write a progress line does not matter.
		_, _ = fmt.Fprintf(p.progress, "backlog: %d messages acknowledged, %d deleted, after %.0f s\n", acked, deleted,
			time.Since(began).Seconds())
	}
	following.Go(func() {
		tick := time.NewTicker(linesEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				line()
				return
			case <-tick.C:
				line()
			}
		}
	})
	return func() {
		close(done)
		following.Wait()
	}
}

// parkedEntry is a message of a batch.
type parkedEntry struct {
	ID     string `json:"Id"`
	Body   string `json:"MessageBody"`
	Group  string `json:"MessageGroupId"`
	Dedup  string `json:"MessageDeduplicationId"`
	number int
}

// parkedSent is the answer to a batch.
type parkedSent struct {
	Successful []struct {
		ID             string `json:"Id"`
		MessageID      string `json:"MessageId"`
		SequenceNumber string
		Digest         string `json:"MD5OfMessageBody"`
	}
}

// send sends the next messages of a group until all of them are acknowledged.
func (p *parked) send(ctx context.Context, group int) error {
	from, to := p.account.next(group, batch)
	var entries []parkedEntry
	for number := from; number < to; number++ {
		entries = append(entries, parkedEntry{
			ID: strconv.Itoa(number), Body: p.account.body(group, number), Group: groupName(group),
			Dedup: fmt.Sprintf("%d:%d", group, number), number: number,
		})
	}
	for {
		var out parkedSent
		err := p.call(ctx, nil, "SendMessageBatch", map[string]any{"QueueUrl": p.url, "Entries": entries}, &out)
		if err == nil && len(out.Successful) == len(entries) {
			p.acknowledge(group, entries, out)
			return nil
		}
		if !pause(ctx, pauseTime) {
			return fmt.Errorf("%s: the messages from %d on were not acknowledged (%w): %w", groupName(group), from, err, ctx.Err())
		}
	}
}

// acknowledge records an answer, whose entries may have any order.
func (p *parked) acknowledge(group int, entries []parkedEntry, out parkedSent) {
	for _, e := range entries {
		for _, s := range out.Successful {
			if s.ID != e.ID {
				continue
			}
			if s.Digest != history.BodyDigest(e.Body) {
				p.account.complain("%s:%d was acknowledged with the digest %s", e.Group, e.number, s.Digest)
			}
			p.account.acknowledged(group, e.number, s.MessageID, s.SequenceNumber)
		}
	}
}

// countAt compares a node's counters of the queue with the account, and retries until they agree or
// ctx ends. No call may be under way meanwhile.
func (p *parked) countAt(ctx context.Context, node *harness.Node) error {
	kinds := []string{history.Visible, history.NotVisible, history.Delayed}
	for {
		var out struct{ Attributes map[string]string }
		err := p.call(ctx, node, "GetQueueAttributes", map[string]any{"QueueUrl": p.url, "AttributeNames": kinds}, &out)
		if err == nil {
			holds := 0
			for _, kind := range kinds {
				n, err := strconv.Atoi(out.Attributes[kind])
				if err != nil {
					return fmt.Errorf("count the backlog through %s: %w", node.Name, err)
				}
				holds += n
			}
			p.account.counted(node.Name, holds)
			return nil
		}
		if !pause(ctx, pauseTime) {
			return fmt.Errorf("count the backlog through %s: %w", node.Name, err)
		}
	}
}

// The queue hides received messages for parkedHidden. A receive whose answer was lost is repeated
// with its attempt id for a shorter time.
const (
	parkedHidden = 60 * time.Second
	repeatsMost  = 20
)

// parkedReceived is the answer to a receive.
type parkedReceived struct {
	Messages []struct {
		ID         string `json:"MessageId"`
		Body       string
		Digest     string `json:"MD5OfBody"`
		Handle     string `json:"ReceiptHandle"`
		Attributes map[string]string
	}
}

// drain receives and deletes until every acknowledged message is deleted, or the queue has been
// empty for longer than a message can be hidden. Then it closes the account.
func (p *parked) drain(ctx context.Context) error {
	defer p.follow(time.Now())()
	err := p.side(ctx, p.drainOne)
	if err == nil {
		p.account.close()
	}
	return err
}

func (p *parked) drainOne(ctx context.Context, connection int) error {
	empty := time.Now()
	for attempt := 0; ; attempt++ {
		out, err := p.receive(ctx, fmt.Sprintf("drain-%d-%d", connection, attempt))
		if err != nil {
			return err
		}
		if len(out.Messages) > 0 {
			if err := p.take(ctx, out); err != nil {
				return err
			}
			empty = time.Now()
			continue
		}
		// Messages in flight may return, but deleted ones do not.
		if acked, deleted := p.account.totals(); acked == deleted && attempt > 0 || time.Since(empty) > parkedHidden+10*time.Second {
			return nil
		}
		if !pause(ctx, pauseTime) {
			return fmt.Errorf("the backlog was not drained: %w", ctx.Err())
		}
	}
}

// receive repeats the call until it is answered, or until its attempt id may have expired.
func (p *parked) receive(ctx context.Context, attempt string) (out parkedReceived, err error) {
	in := map[string]any{"QueueUrl": p.url, "MaxNumberOfMessages": batch, "ReceiveRequestAttemptId": attempt,
		"MessageSystemAttributeNames": []string{"All"}}
	for range repeatsMost {
		if err = p.call(ctx, nil, "ReceiveMessage", in, &out); err == nil {
			return out, nil
		}
		if !pause(ctx, pauseTime) {
			return out, fmt.Errorf("the backlog was not drained (%w): %w", err, ctx.Err())
		}
	}
	return parkedReceived{}, nil
}

// take checks and deletes the messages of an answer. A message whose handle has expired is received
// again.
func (p *parked) take(ctx context.Context, out parkedReceived) error {
	var messages []parkedMessage
	var entries []map[string]string
	for i, m := range out.Messages {
		if m.Digest != history.BodyDigest(m.Body) {
			p.account.complain("%.40q came with the digest %s", m.Body, m.Digest)
		}
		messages = append(messages, parkedMessage{group: m.Attributes["MessageGroupId"], body: m.Body, id: m.ID,
			sequence: m.Attributes["SequenceNumber"]})
		entries = append(entries, map[string]string{"Id": strconv.Itoa(i), "ReceiptHandle": m.Handle})
	}
	for _, m := range messages {
		p.account.received(m)
	}
	until := time.Now().Add(parkedHidden)
	for time.Now().Before(until) {
		var done struct {
			Successful []struct {
				ID string `json:"Id"`
			}
		}
		err := p.call(ctx, nil, "DeleteMessageBatch", map[string]any{"QueueUrl": p.url, "Entries": entries}, &done)
		if err == nil {
			for _, s := range done.Successful {
				if i, err := strconv.Atoi(s.ID); err == nil && i >= 0 && i < len(messages) {
					p.account.wasDeleted(messages[i].body)
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
