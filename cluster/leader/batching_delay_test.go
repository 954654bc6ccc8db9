package leader

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

// timedLog is a log whose entries each take the same time, in parallel.
type timedLog struct {
	mu       sync.Mutex
	duration time.Duration
	began    time.Time
	entries  []timedEntry
}

type timedEntry struct {
	at       time.Duration
	commands int
}

func (l *timedLog) propose(entry []byte) (func() (fsm.EntryResult, error), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var result fsm.EntryResult
	if _, err := codec.DecodeEntry(entry, func([]byte) error {
		result.Responses = append(result.Responses, codec.Response{Result: queue.Done{}})
		return nil
	}); err != nil {
		return nil, err
	}
	l.entries = append(l.entries, timedEntry{time.Since(l.began), len(result.Responses)})
	applied := time.After(l.duration)
	return func() (fsm.EntryResult, error) { <-applied; return result, nil }, nil
}

// batchingDelayTest runs a group committer in a bubble with its own clock. Its first entry holds a
// command from each caller. They then make further calls, each after a different pause.
func batchingDelayTest(t *testing.T, duration time.Duration, callers, further int, after func(c *groupCommitter, log *timedLog)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := &timedLog{duration: duration, began: time.Now()}
		c := newGroupCommitter(groupCommitterOptions{
			propose: log.propose, writing: func(func()) bool { return false },
			stamp: func() queue.Timestamp { return 1000 }, monotonic: func() time.Duration { return time.Since(log.began) },
			formatVersion: func() uint32 { return format.CurrentVersion }, limits: Limits{}.WithDefaults(), counters: NewCounters(0),
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running, calling sync.WaitGroup
		running.Go(func() { c.run(ctx) })
		for i := range callers {
			calling.Go(func() {
				call(t, c, 0)
				for range further {
					call(t, c, time.Duration(i+1)*10*time.Microsecond)
				}
			})
		}
		synctest.Wait()
		c.open()
		calling.Wait()
		after(c, log)
		cancel()
		running.Wait()
	})
}

// call makes a call after a pause and awaits its answer.
func call(t *testing.T, c *groupCommitter, pause time.Duration) {
	time.Sleep(pause)
	_, done := submitTo(c, tickFrame(t))
	if o := <-done; o.Verdict != Answered {
		t.Errorf("verdict %d", o.Verdict)
	}
}

// Callers that call again as soon as they are answered share an entry, although they return at
// different times.
func TestBatchingDelayAwaitsReturningCallers(t *testing.T) {
	const callers, further = 8, 20
	batchingDelayTest(t, time.Millisecond, callers, further, func(_ *groupCommitter, log *timedLog) {
		if len(log.entries) != 1+further {
			t.Errorf("%d callers with %d calls each made %d entries: %v", callers, 1+further, len(log.entries), log.entries)
		}
	})
}

// A caller that is left alone waits for the others once, for a bounded time.
func TestBatchingDelayIsBounded(t *testing.T) {
	const entry = time.Millisecond
	for _, test := range []struct {
		name        string
		entry       time.Duration
		pause, want time.Duration // after the entry with the others is applied
	}{
		{"back at once", entry, entry / 4, delayFlights * entry},
		{"back later", entry, 3 * entry, 3 * entry},
		{"after a disk that hung", time.Second, entry, delayMax},
	} {
		t.Run(test.name, func(t *testing.T) {
			batchingDelayTest(t, test.entry, 4, 0, func(c *groupCommitter, log *timedLog) {
				applied := time.Since(log.began)
				call(t, c, test.pause)
				call(t, c, entry/4)
				alone, next := log.entries[1], log.entries[2]
				if got := alone.at - applied; got != test.want {
					t.Errorf("left after %v, want %v", got, test.want)
				}
				if got := next.at - alone.at; got != test.entry+entry/4 {
					t.Errorf("the next one left after %v, alone as it was", got)
				}
			})
		})
	}
}

// There is no delay if half as many commands wait as were answered.
func TestNoBatchingDelayIfHalfWait(t *testing.T) {
	batchingDelayTest(t, time.Millisecond, 4, 0, func(c *groupCommitter, log *timedLog) {
		var calling sync.WaitGroup
		for range 4 {
			calling.Go(func() { call(t, c, 0) })
		}
		synctest.Wait() // the first entry has left with the commands that waited
		for range 2 {
			calling.Go(func() { call(t, c, 0) })
		}
		calling.Wait()
		if last := log.entries[len(log.entries)-1]; last.at != log.entries[0].at+2*log.duration {
			t.Errorf("%v", log.entries)
		}
	})
}

// A command of the leader itself ends the delay and takes the waiting commands along.
func TestNoBatchingDelayForLeaderCommand(t *testing.T) {
	batchingDelayTest(t, time.Millisecond, 4, 0, func(c *groupCommitter, log *timedLog) {
		applied := time.Since(log.began)
		_, client := submitTo(c, tickFrame(t))
		own := make(chan Outcome, 1)
		c.submitInternal(&Submission{Request: Request{Frame: tickFrame(t)}, Complete: func(o Outcome) { own <- o }})
		<-own
		<-client
		if last := log.entries[len(log.entries)-1]; last.at != applied || last.commands != 2 {
			t.Errorf("left after %v with %d commands", last.at-applied, last.commands)
		}
	})
}
