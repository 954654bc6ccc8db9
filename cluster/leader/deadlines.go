package leader

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/queue"
)

const (
	// clockCommandSpacing separates two clock commands without a waiting caller: thousands of
	// deadlines in one second cost at most a hundred log entries.
	clockCommandSpacing = 10 * time.Millisecond
	// clockCommandsMax bounds the clock commands of one call of advanceClock. Each handles a
	// bounded number of deadlines.
	clockCommandsMax = 64
)

// deadlines proposes AdvanceClock once a deadline of the state is due that no other entry has
// passed. next and due are safe for concurrent use.
type deadlines struct {
	term   *Term
	at     atomic.Int64  // Broker.NextDeadline; 0: none
	sooner wakeup.Signal // notified when at falls
}

func newDeadlines(t *Term) *deadlines { return &deadlines{term: t, sooner: wakeup.NewSignal()} }

// next records the next deadline of the state.
func (d *deadlines) next(at queue.Timestamp) {
	before := d.at.Swap(int64(at))
	if at != 0 && (before == 0 || int64(at) < before) {
		d.sooner.Notify()
	}
}

// due reports whether a deadline has passed without a log entry at or after it.
func (d *deadlines) due() bool {
	at := d.at.Load()
	return at != 0 && queue.Timestamp(at) <= d.term.logTime.now()
}

// run proposes clock commands until ctx ends.
func (d *deadlines) run(ctx context.Context) {
	// Inspect keeps the state from changing, so this cannot overwrite the deadline of a later
	// entry.
	d.term.options.Replica.Inspect(func(b *queue.Broker) { d.next(b.NextDeadline()) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.sooner:
		case <-timer.C:
		}
		pause := d.untilNext()
		if pause == 0 {
			if _, err := d.term.pastDue.wait(ctx); err != nil {
				d.term.options.Log.Debug("advancing the clock failed", "error", err)
			}
			pause = max(clockCommandSpacing, d.untilNext())
		}
		if pause > 0 {
			timer.Reset(pause)
		}
	}
}

// untilNext returns 0 if a deadline is due, and a negative duration if there is none.
func (d *deadlines) untilNext() time.Duration {
	at := d.at.Load()
	if at == 0 {
		return -1
	}
	left := queue.Timestamp(at).Sub(d.term.logTime.now())
	return time.Duration(max(left, 0)) * time.Millisecond
}

// advanceClock proposes clock commands until no deadline is due, up to clockCommandsMax.
func (t *Term) advanceClock(ctx context.Context) (struct{}, error) {
	for range clockCommandsMax {
		if !t.deadlines.due() {
			break
		}
		t.options.Counters.ClockCommands.Add(1)
		if err := t.Execute(ctx, &queue.AdvanceClock{LeadingSince: t.since}); err != nil {
			return struct{}{}, err
		}
	}
	return struct{}{}, nil
}
