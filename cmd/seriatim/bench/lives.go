package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/transport/grpc/client"
)

const (
	// lifeWait bounds a long poll, in seconds. The messages exist, so it is short.
	lifeWait = 1
	// credit bounds the unconfirmed messages of a stream. A node permits no more.
	credit = 1000
	// fillersMax bounds the clients that fill a queue.
	fillersMax = 64
)

// group is the known state of a message group. Its messages are numbered from 1.
type group struct {
	mu       sync.Mutex
	sent     int64
	received int64 // highest
	// open holds the received numbers whose deletion is not confirmed. Two clients may record their
	// confirmations in a different order than the node's, so a highest number would not suffice.
	open []int64
}

// lives implements the workloads fifo and consume.
type lives struct {
	run       *run
	filled    bool // consume: fill sends all messages before the measurement
	groups    []group
	consuming context.Context // consume: ends when all messages are deleted
	stop      context.CancelFunc

	sent, deleted, skipped, resurrected, redelivered, foreign, empty atomic.Int64
}

func newLives(r *run) job { return &lives{run: r, groups: make([]group, r.Groups)} }

func newConsumes(r *run) job { return &lives{run: r, groups: make([]group, r.Groups), filled: true} }

// life is a message that is received and not yet deleted.
type life struct {
	group, number int64
	began         time.Time
}

// fill sends the messages of consume.
func (l *lives) fill(ctx context.Context) error {
	if !l.filled {
		return nil
	}
	l.consuming, l.stop = context.WithCancel(ctx)
	fillers := min(fillersMax, l.run.Groups)
	failures := make([]error, fillers)
	var filling sync.WaitGroup
	for i := range fillers {
		w, err := l.run.newWorker(i, fillers)
		if err != nil {
			return err
		}
		share := l.run.Count / int64(fillers)
		if int64(i) < l.run.Count%int64(fillers) {
			share++
		}
		filling.Go(func() {
			defer w.close()
			for turn := int64(0); turn < share && failures[i] == nil; {
				messages := make([]message, min(share-turn, batchMax))
				for j := range messages {
					messages[j] = l.compose(w, turn, time.Time{})
					turn++
				}
				failures[i] = w.insist(ctx, func() error { _, err := w.send(ctx, messages); return err })
			}
		})
	}
	filling.Wait()
	l.sent.Store(l.run.Count)
	return explain(errors.Join(failures...))
}

// compose makes the next message of the group whose turn it is.
func (l *lives) compose(w *worker, turn int64, began time.Time) message {
	at := w.groupOf(turn)
	g := &l.groups[at]
	g.mu.Lock()
	g.sent++
	number := g.sent
	g.mu.Unlock()
	return w.compose(at, number, began)
}

func (l *lives) work(ctx context.Context, w *worker) {
	if l.run.Protocol == Stream {
		l.stream(w)
		return
	}
	ctx, cancel := context.WithDeadline(ctx, l.run.deadline.Add(finishTime))
	defer cancel()
	if l.filled {
		for ctx.Err() == nil && l.deleted.Load() < l.sent.Load() {
			if _, err := l.consume(ctx, w, l.run.Batch); err != nil {
				return
			}
		}
		return
	}
	messages := make([]message, l.run.Batch)
	for turn := int64(0); ctx.Err() == nil; {
		began := time.Now()
		if l.run.over(began, l.run.Batch) {
			return
		}
		for i := range messages {
			messages[i] = l.compose(w, turn, began)
			turn++
		}
		// Count the messages before they are sent. Otherwise a client that finds the queue empty
		// could end too early.
		l.sent.Add(int64(l.run.Batch))
		if err := w.insist(ctx, func() error {
			at := time.Now()
			_, err := w.send(ctx, messages)
			if err == nil {
				w.measured("send", at, time.Now(), 0)
			}
			return err
		}); err != nil {
			return
		}
		for owed := l.run.Batch; owed > 0 && ctx.Err() == nil; {
			ended, err := l.consume(ctx, w, owed)
			if err != nil {
				return
			}
			owed -= ended
		}
	}
}

// consume receives up to n messages, deletes them, and returns the number of ended lives.
func (l *lives) consume(ctx context.Context, w *worker, n int) (int, error) {
	at := time.Now()
	w.calls++
	deliveries, err := w.receive(ctx, n, lifeWait)
	if err != nil {
		if ctx.Err() == nil {
			w.failed(err)
			pause(ctx, failurePause)
		}
		return 0, nil
	}
	now := time.Now()
	if len(deliveries) == 0 {
		l.empty.Add(1)
		// The receive was empty, so other clients may have deleted everything.
		if !at.Before(l.run.deadline) && l.deleted.Load() >= l.sent.Load() {
			return n, nil
		}
		return 0, nil
	}
	w.measured("receive", at, now, 0)
	var own []life // an existing queue may hold messages of others
	var handles []string
	for _, d := range deliveries {
		if one, ok := l.arrived(d.Body, now); ok {
			own, handles = append(own, one), append(handles, d.ReceiptHandle)
		}
	}
	if len(own) == 0 {
		return 0, nil
	}
	if err := w.insist(ctx, func() error {
		at := time.Now()
		err := w.remove(ctx, handles)
		if err == nil {
			w.measured("delete", at, time.Now(), 0)
		}
		return err
	}); err != nil {
		return 0, err
	}
	ended, now := 0, time.Now()
	for _, one := range own {
		if l.ended(one) {
			w.measured("life", one.began, now, 1)
			ended++
		}
	}
	return ended, nil
}

// stream consumes until all messages are deleted. Consume returns after all confirmations.
func (l *lives) stream(w *worker) {
	ctx, cancel := context.WithDeadline(l.consuming, l.run.deadline.Add(finishTime))
	defer cancel()
	options := client.ConsumeOptions{Credit: credit, NotSettled: func(_ *client.Delivery, err error) { w.failed(err) }}
	err := w.caller.(*nativeCaller).client.Consume(ctx, l.run.Queue, options, func(_ context.Context, m *client.Delivery) error {
		now := time.Now()
		one, ok := l.arrived(m.GetBody(), now)
		if !ok || !l.ended(one) {
			return nil
		}
		w.count(now)
		if l.deleted.Load() >= l.sent.Load() {
			l.stop()
		}
		return nil
	})
	if err != nil && l.consuming.Err() == nil {
		w.failed(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
}

// arrived compares a message with the state of its group.
func (l *lives) arrived(body string, now time.Time) (life, bool) {
	one, ok := l.run.parse(body)
	if !ok || one.group < 0 || one.group >= int64(len(l.groups)) {
		l.foreign.Add(1)
		return one, false
	}
	if l.filled {
		one.began = now
	}
	g := &l.groups[one.group]
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case slices.Contains(g.open, one.number):
		l.redelivered.Add(1)
		return one, true
	case one.number <= g.received:
		l.resurrected.Add(1)
		return one, true
	case one.number > g.received+1:
		l.skipped.Add(one.number - g.received - 1)
	}
	g.received = one.number
	g.open = append(g.open, one.number)
	return one, true
}

// ended records a confirmed deletion. A redelivered message counts once.
func (l *lives) ended(one life) bool {
	g := &l.groups[one.group]
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.open, one.number)
	if at < 0 {
		return false
	}
	g.open = slices.Delete(g.open, at, at+1)
	l.deleted.Add(1)
	return true
}

// parse reads group, number and time at the beginning of a body.
func (r *run) parse(body string) (one life, ok bool) {
	parts := strings.SplitN(body, " ", 4)
	var numbers [3]int64
	for i := range numbers {
		var err error
		if len(parts) < 4 {
			return one, false
		}
		if numbers[i], err = strconv.ParseInt(parts[i], 10, 64); err != nil {
			return one, false
		}
	}
	return life{group: numbers[0], number: numbers[1], began: r.started.Add(time.Duration(numbers[2]))}, true
}

func (l *lives) finish(ctx context.Context, report *Report) error {
	lost, left := l.sent.Load()-l.deleted.Load(), int64(0)
	if lost > 0 {
		held, err := l.run.held(ctx)
		if err != nil {
			return err
		}
		left = min(lost, held)
	}
	report.check("messages sent", l.sent.Load(), false)
	report.check("lost: sent and confirmed, never received", max(lost-left, 0), true)
	// Clients whose node did not answer may leave messages.
	report.check(fmt.Sprintf("left in the queue %v after the end", finishTime), left, len(report.Errors) == 0)
	report.check("out of order", l.skipped.Load(), true)
	report.check("received after their deletion was confirmed", l.resurrected.Load(), true)
	report.check("received that this run did not send", l.foreign.Load(), !l.run.Existing) // else others may have sent it
	report.check("redelivered", l.redelivered.Load(), false)
	report.check("empty receives", l.empty.Load(), false)
	return nil
}
