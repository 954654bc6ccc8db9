package leader

import (
	"context"
	"sync"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

// instantLog commits at once.
type instantLog struct{ index uint64 }

func (l *instantLog) propose(entry []byte) (func() (fsm.EntryResult, error), error) {
	l.index++
	result := fsm.EntryResult{Index: l.index}
	_, err := codec.DecodeEntry(entry, func([]byte) error {
		result.Responses = append(result.Responses, codec.Response{Result: queue.Done{}})
		return nil
	})
	return func() (fsm.EntryResult, error) { return result, nil }, err
}

// BenchmarkGroupCommitter measures the group committer with 64 callers, over a log without costs.
func BenchmarkGroupCommitter(b *testing.B) {
	log, clock := &instantLog{}, clustertest.NewHandClock(1000)
	c := newGroupCommitter(groupCommitterOptions{
		propose: log.propose, writing: func(func()) bool { return false }, stamp: func() queue.Timestamp { return 1000 },
		monotonic:     clock.Monotonic,
		formatVersion: func() uint32 { return format.CurrentVersion }, limits: Limits{}.WithDefaults(), counters: NewCounters(0),
	})
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { c.run(ctx) })
	defer running.Wait()
	defer cancel()
	c.open()
	frame := clustertest.EncodedSend(b)
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		done := make(chan Outcome, 1)
		for pb.Next() {
			c.submit(&Submission{Request: Request{Frame: frame}, Complete: func(o Outcome) { done <- o }})
			if o := <-done; o.Verdict != Answered {
				b.Error(o.Verdict)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/float64(log.index), "commands/entry")
}
