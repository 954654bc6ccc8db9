package backlog

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// Call makes one call of the JSON protocol to a node, or to any node if it is nil, and decodes the
// answer. It is called concurrently.
type Call func(ctx context.Context, node Node, action string, in, out any) error

// Node is a value of the caller that identifies a node.
type Node any

// Backlog is messages that are parked in a queue.
type Backlog struct {
	Account *Account
	URL     string // of the queue
	Call    Call
	// Progress receives a line about the work done, at intervals.
	Progress io.Writer
}

// Sizes and numbers of what is parked, and how.
const (
	BodyBytes   = 1024
	groups      = 1024
	connections = 16
	batch       = 10       // of one call
	rateMost    = 24 << 20 // bytes of bodies in a second
	linesEvery  = 10 * time.Second
	pauseTime   = 100 * time.Millisecond // after a call that failed
)

// New is an empty backlog of a queue with this URL.
func New(url string, call Call, progress io.Writer) *Backlog {
	return &Backlog{Account: NewAccount(groups, BodyBytes), URL: url, Call: call, Progress: progress}
}

// Fill sends messages until so many bytes of bodies are acknowledged.
func (b *Backlog) Fill(ctx context.Context, bytes int64) error {
	calls := int(bytes/BodyBytes+batch-1) / batch
	began := time.Now()
	defer b.follow(began)()
	return b.side(ctx, func(ctx context.Context, connection int) error {
		for i := connection; i < calls; i += connections {
			due := time.Duration(float64(i*batch*BodyBytes) / rateMost * float64(time.Second))
			if !pause(ctx, due-time.Since(began)) {
				return ctx.Err()
			}
			// Each connection has its own groups, which it sends one after the other.
			if err := b.send(ctx, i%groups); err != nil {
				return err
			}
		}
		return nil
	})
}

// side runs one function for each connection.
func (b *Backlog) side(ctx context.Context, run func(ctx context.Context, connection int) error) error {
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
func (b *Backlog) follow(began time.Time) (stop func()) {
	done := make(chan struct{})
	var following sync.WaitGroup
	line := func() {
		acked, deleted := b.Account.totals()
		// A failure to write a progress line does not matter.
		_, _ = fmt.Fprintf(b.Progress, "backlog: %d messages acknowledged, %d deleted, after %.0f s\n", acked, deleted,
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

// outgoing is a message of a batch.
type outgoing struct {
	ID     string `json:"Id"`
	Body   string `json:"MessageBody"`
	Group  string `json:"MessageGroupId"`
	Dedup  string `json:"MessageDeduplicationId"`
	number int
}

// sent is the answer to a batch.
type sent struct {
	Successful []struct {
		ID             string `json:"Id"`
		MessageID      string `json:"MessageId"`
		SequenceNumber string
		Digest         string `json:"MD5OfMessageBody"`
	}
}

// send sends the next messages of a group until all of them are acknowledged.
func (b *Backlog) send(ctx context.Context, group int) error {
	from, to := b.Account.next(group, batch)
	var entries []outgoing
	for number := from; number < to; number++ {
		entries = append(entries, outgoing{
			ID: strconv.Itoa(number), Body: b.Account.body(group, number), Group: groupName(group),
			Dedup: fmt.Sprintf("%d:%d", group, number), number: number,
		})
	}
	for {
		var out sent
		err := b.Call(ctx, nil, "SendMessageBatch", map[string]any{"QueueUrl": b.URL, "Entries": entries}, &out)
		if err == nil && len(out.Successful) == len(entries) {
			b.acknowledge(group, entries, out)
			return nil
		}
		if !pause(ctx, pauseTime) {
			return fmt.Errorf("%s: the messages from %d on were not acknowledged (%w): %w", groupName(group), from, err, ctx.Err())
		}
	}
}

// acknowledge notes an answer, whose entries may have any order.
func (b *Backlog) acknowledge(group int, entries []outgoing, out sent) {
	for _, e := range entries {
		for _, s := range out.Successful {
			if s.ID != e.ID {
				continue
			}
			if s.Digest != history.BodyDigest(e.Body) {
				b.Account.Complain("%s:%d was acknowledged with the digest %s", e.Group, e.number, s.Digest)
			}
			b.Account.acknowledged(group, e.number, s.MessageID, s.SequenceNumber)
		}
	}
}

// Count compares a node's counters of the queue with the account, and retries until they agree or
// ctx ends. No client may send, receive or delete meanwhile.
func (b *Backlog) Count(ctx context.Context, node Node, name string) error {
	kinds := []string{history.Visible, history.NotVisible, history.Delayed}
	for {
		var out struct{ Attributes map[string]string }
		err := b.Call(ctx, node, "GetQueueAttributes", map[string]any{"QueueUrl": b.URL, "AttributeNames": kinds}, &out)
		if err == nil {
			holds := 0
			for _, kind := range kinds {
				n, err := strconv.Atoi(out.Attributes[kind])
				if err != nil {
					return fmt.Errorf("count the backlog through %s: %w", name, err)
				}
				holds += n
			}
			b.Account.counted(name, holds)
			return nil
		}
		if !pause(ctx, pauseTime) {
			return fmt.Errorf("count the backlog through %s: %w", name, err)
		}
	}
}

// pause waits, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
