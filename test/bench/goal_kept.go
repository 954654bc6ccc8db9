package main

import (
	"context"
	"path/filepath"
)

// keptShares are goals for the rate with a large state, in percent of the rate without it: while
// nodes write snapshots, and while they do not. Zero means no goal.
type keptShares struct{ writing, settled float64 }

// sent is a measurement of some seconds of sends.
type sent struct {
	rate      float64 // sends per second
	processor float64 // seconds of all nodes per send
	writing   float64 // part of the time in which nodes wrote snapshots
}

// turn has the measurements of the two clusters, one after another.
type turn struct{ empty, filled sent }

const (
	// At least turnsLeast turns without snapshots are compared, and rounds turns with snapshots.
	// The log of the load causes the snapshots.
	turnsLeast = 7
	turnsMost  = 40
	// emptyQueue is the queue of the empty cluster.
	emptyQueue = "empty.fifo"
)

// keeps compares sends into a filled queue with sends into a queue of an empty cluster on the same
// machine. The two take turns, since the speed of a machine may double or halve within minutes, and
// get the same number of messages. after, if given, is called after each run.
func (s *testbed) keeps(ctx context.Context, queue string, shares keptShares, after func(*testbed, context.Context, string) error) error {
	empty, err := newTestbed(ctx, s.binary, filepath.Join(s.dir, "empty"), s.scale)
	if err != nil {
		return err
	}
	defer empty.Close()
	if err := empty.newSender().create(ctx, emptyQueue); err != nil {
		return err
	}
	for _, load := range []struct{ what, batch string }{{"sends of 64 clients", "1"}, {"sends of 64 clients in batches of 10", "10"}} {
		var quiet, busy []turn
		for n := 0; n < turnsMost && (len(quiet) < turnsLeast || len(busy) < rounds && shares.writing > 0); n++ {
			var t turn
			halves := []func() error{
				func() (err error) { t.empty, err = empty.sends(ctx, emptyQueue, load.batch, after); return err },
				func() (err error) { t.filled, err = s.sends(ctx, queue, load.batch, after); return err },
			}
			for i := range halves { // each comes first in half of the turns
				if err := halves[(n+i)%len(halves)](); err != nil {
					return err
				}
			}
			switch {
			case t.filled.writing == 0:
				quiet = append(quiet, t)
			case t.filled.writing > 0.5:
				busy = append(busy, t)
			}
		}
		s.compareTurns(load.what, shares.settled, quiet)
		if shares.writing > 0 {
			s.compareTurns(load.what+", while snapshots are written", shares.writing, busy)
		}
	}
	s.found = append(s.found, empty.found...)
	return nil
}

// sends measures sends of 64 clients into a queue that exists.
func (s *testbed) sends(ctx context.Context, queue, batch string, after func(*testbed, context.Context, string) error) (sent, error) {
	before := s.cpuSeconds()
	got, writing, err := s.watched(ctx, "send", "--queue", queue, "--existing", "--clients", "64", "--batch", batch, "--duration", "3s",
		"--warmup", "0s")
	took := s.cpuSeconds() - before
	if err == nil && after != nil {
		err = after(s, ctx, queue)
	}
	return sent{rate: got.MessagesPerSecond, processor: took / float64(max(got.Messages, 1)), writing: writing}, err
}

// compareTurns records the rates of the turns, and the rate of the filled queue as a part of the
// empty one's.
func (s *testbed) compareTurns(what string, share float64, turns []turn) {
	var empty, filled, kept, processor []float64
	for _, t := range turns {
		empty, filled = append(empty, t.empty.rate), append(filled, t.filled.rate)
		kept = append(kept, 100*t.filled.rate/t.empty.rate)
		if t.empty.processor > 0 { // where the system reports it
			processor = append(processor, t.filled.processor/t.empty.processor)
		}
	}
	s.note(what+", empty cluster", "/s", empty...)
	s.note(what+", filled queue", "/s", filled...)
	s.atLeast(share, what+", share of the empty cluster's rate", "%", kept...)
	s.note(what+", processor time of all nodes for each, relative to the empty cluster", "", processor...)
}
