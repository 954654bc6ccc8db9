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

// timedLog is a log whose entries take a time each, and beside each other.
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
	landed := time.After(l.duration)
	return func() (fsm.EntryResult, error) { <-landed; return result, nil }, nil
}

// gatheringTest runs a group committer, in a bubble with a clock of its own, whose first
// entry holds a command of each of some callers. They then make further calls, each after
// another pause.
func gatheringTest(t *testing.T, duration time.Duration, callers, further int, after func(c *groupCommitter, log *timedLog)) {
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

// Callers that call again as soon as they are answered share an entry, although each
// takes another time until it is back.
func TestGroupCommitterGathersCallersThatReturn(t *testing.T) {
	const callers, further = 8, 20
	gatheringTest(t, time.Millisecond, callers, further, func(_ *groupCommitter, log *timedLog) {
		if len(log.entries) != 1+further {
			t.Errorf("%d callers with %d calls each made %d entries: %v", callers, 1+further, len(log.entries), log.entries)
		}
	})
}

// Who is left when the others do not return waits for them once, and not at all if it
// comes late.
func TestGroupCommitterGathersForABoundedTime(t *testing.T) {
	const entry = time.Millisecond
	for _, test := range []struct {
		name        string
		entry       time.Duration
		pause, want time.Duration // after the entry with the others has landed
	}{
		{"back at once", entry, entry / 4, gatherFlights * entry},
		{"back later", entry, 3 * entry, 3 * entry},
		{"after a disk that hung", time.Second, entry, gatherMax},
	} {
		t.Run(test.name, func(t *testing.T) {
			gatheringTest(t, test.entry, 4, 0, func(c *groupCommitter, log *timedLog) {
				landed := time.Since(log.began)
				call(t, c, test.pause)
				call(t, c, entry/4)
				alone, next := log.entries[1], log.entries[2]
				if got := alone.at - landed; got != test.want {
					t.Errorf("left after %v, want %v", got, test.want)
				}
				if got := next.at - alone.at; got != test.entry+entry/4 {
					t.Errorf("the next one left after %v, alone as it was", got)
				}
			})
		})
	}
}

// Where half as many wait as were answered nothing gathers.
func TestGroupCommitterGathersNothingBesideThoseWhoWait(t *testing.T) {
	gatheringTest(t, time.Millisecond, 4, 0, func(c *groupCommitter, log *timedLog) {
		var calling sync.WaitGroup
		for range 4 {
			calling.Go(func() { call(t, c, 0) })
		}
		synctest.Wait() // the first entry has left with whom it found
		for range 2 {
			calling.Go(func() { call(t, c, 0) })
		}
		calling.Wait()
		if last := log.entries[len(log.entries)-1]; last.at != log.entries[0].at+2*log.duration {
			t.Errorf("%v", log.entries)
		}
	})
}

// A command of the leader itself takes along what gathers.
func TestGroupCommitterGathersForNoCommandOfItsOwn(t *testing.T) {
	gatheringTest(t, time.Millisecond, 4, 0, func(c *groupCommitter, log *timedLog) {
		landed := time.Since(log.began)
		_, client := submitTo(c, tickFrame(t))
		own := make(chan Outcome, 1)
		c.submitInternal(&Submission{Request: Request{Frame: tickFrame(t)}, Complete: func(o Outcome) { own <- o }})
		<-own
		<-client
		if last := log.entries[len(log.entries)-1]; last.at != landed || last.commands != 2 {
			t.Errorf("left after %v with %d commands", last.at-landed, last.commands)
		}
	})
}
