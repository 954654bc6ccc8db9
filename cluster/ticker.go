package cluster

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/queue"
)

const (
	// tickSpacing separates two clock commands that nobody waits for, so that
	// thousands of deadlines in one second cost a hundred log entries.
	tickSpacing = 10 * time.Millisecond
	// ticksPerRound bounds the clock commands of one round: each handles a
	// bounded number of deadlines, and other rounds follow.
	ticksPerRound = 64
)

// ticker lets log time pass when nothing else does: it proposes AdvanceClock
// once a deadline of the state is due, and nothing else. deadlineIs and due are
// safe for concurrent use.
type ticker struct {
	tenure   *tenure
	deadline atomic.Int64  // Broker.NextDeadline; 0: none
	sooner   chan struct{} // capacity 1: a token says that deadline came closer
}

func newTicker(t *tenure) *ticker { return &ticker{tenure: t, sooner: make(chan struct{}, 1)} }

// deadlineIs notes the next deadline of the state.
func (k *ticker) deadlineIs(at queue.Timestamp) {
	before := k.deadline.Swap(int64(at))
	if at != 0 && (before == 0 || int64(at) < before) {
		select {
		case k.sooner <- struct{}{}:
		default:
		}
	}
}

// due reports whether a deadline has passed that no log entry has seen.
func (k *ticker) due() bool {
	at := k.deadline.Load()
	return at != 0 && queue.Timestamp(at) <= k.tenure.logTime.now()
}

// run proposes until ctx ends.
func (k *ticker) run(ctx context.Context) {
	// Stored while the state cannot change, so that it cannot overwrite what
	// a later entry says.
	k.tenure.replica.Inspect(func(b *queue.Broker) { k.deadlineIs(b.NextDeadline()) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.sooner:
		case <-timer.C:
		}
		pause := k.untilDeadline()
		if pause == 0 {
			if _, err := k.tenure.ticks.wait(ctx); err != nil {
				k.tenure.log.Debug("advancing the clock failed", "error", err)
			}
			pause = max(tickSpacing, k.untilDeadline())
		}
		if pause > 0 {
			timer.Reset(pause)
		}
	}
}

// untilDeadline is zero if a deadline is due, negative if there is none.
func (k *ticker) untilDeadline() time.Duration {
	at := k.deadline.Load()
	if at == 0 {
		return -1
	}
	left := queue.Timestamp(at).Sub(k.tenure.logTime.now())
	return time.Duration(max(left, 0)) * time.Millisecond
}

// advanceClock is one round: afterwards nothing is due that was due when it
// began.
func (t *tenure) advanceClock(ctx context.Context) (struct{}, error) {
	for range ticksPerRound {
		if !t.ticker.due() {
			break
		}
		t.counts.ticks.Add(1)
		if err := t.execute(ctx, &queue.AdvanceClock{}); err != nil {
			return struct{}{}, err
		}
	}
	return struct{}{}, nil
}
