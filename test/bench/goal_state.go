package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"
)

// rounds is the number of measurements of an operation that takes seconds.
const rounds = 3

// writing returns the number of snapshots in progress.
func (s *testbed) writing() (n int, err error) {
	for _, node := range s.Nodes {
		unfinished, err := filepath.Glob(filepath.Join(node.DataDir, "group-0", "snapshots", "*.tmp"))
		if err != nil {
			return 0, err
		}
		n += len(unfinished)
	}
	return n, nil
}

// fillStep is the number of ids to make before their messages are deleted again, so that only the
// ids stay.
const fillStep = 250_000

// manyIDs compares sends into empty queues with sends into one that remembers
// many ids, and weighs the ids.
func (s *testbed) manyIDs(ctx context.Context) error {
	n := s.times(10_000_000)
	before, err := s.liveInUse(ctx)
	if err != nil {
		return err
	}
	how := []string{"--keep", "--set", "DeduplicationWindowSeconds=604800", "--set", "PurgeClearsDeduplicationHistory=false"}
	for made := 0; made < n; {
		step := min(fillStep, n-made)
		args := append([]string{
			"send", "--queue", "ids.fifo", "--clients", "64", "--batch", "10", "--size", "64",
			"--count", fmt.Sprint(step), "--duration", "1h", "--warmup", "0s",
		}, how...)
		if _, err := s.bench(ctx, args...); err != nil {
			return err
		}
		if err := s.purge(ctx, "ids.fifo"); err != nil {
			return err
		}
		how = []string{"--existing"}
		made += step
		s.say("%d of %d ids", made, n)
	}
	s.note("ids", "", float64(n))
	if err := s.weigh(ctx, "an id", before, n, 0, 120); err != nil {
		return err
	}
	return s.keeps(ctx, "ids.fifo", keptShares{settled: 90}, (*testbed).purge)
}

// purge removes the messages of a queue.
func (s *testbed) purge(ctx context.Context, queue string) error {
	return s.newSender().call(ctx, "PurgeQueue", map[string]string{"QueueUrl": queueURL(queue)}, nil)
}

// liveInUse is live after a load that fills the nodes' caches, whose size does not depend on the
// state.
func (s *testbed) liveInUse(ctx context.Context) (float64, error) {
	if _, err := s.bench(ctx, "send", "--clients", "64", "--batch", "10", "--count", "250000", "--duration", "1h", "--warmup",
		"0s"); err != nil {
		return 0, err
	}
	return s.live(ctx)
}

// weigh records the memory of n things, minus the bytes that each of them must keep. n is large,
// since the log's cache and the garbage collector's reserve also count.
func (s *testbed) weigh(ctx context.Context, what string, before float64, n, kept int, limit float64) error {
	after, err := s.live(ctx)
	if err != nil {
		return err
	}
	s.atMost(limit, "live heap of "+what, "B", (after-before)/float64(n)-float64(kept))
	s.note("resident memory of a node", "MB", s.resident()/1e6)
	return nil
}

// chunksMost bounds the wait for snapshots. A node writes the next one when its log since the last
// one is as large as the state.
const chunksMost = 60

// chunk is some seconds of load, in which nodes wrote a snapshot for a part of the time.
type chunk struct {
	p99, share float64
}

// whileWriting sends until every node has written at least one complete snapshot, and compares the
// latency while nodes write with that while none does. The log of the load causes the snapshots.
func (s *testbed) whileWriting(ctx context.Context) error {
	taken := make([]float64, len(s.Nodes))
	for i, n := range s.Nodes {
		var err error
		if taken[i], err = s.metric(ctx, n, snapshotsTaken); err != nil {
			return err
		}
	}
	if err := s.newSender().create(ctx, "churn.fifo"); err != nil {
		return err
	}
	var quiet, busy runs
	fewest := 0.0
	for n := 0; n < chunksMost && (fewest < 1 || len(quiet) < rounds || len(busy) < rounds); n++ {
		got, err := s.chunk(ctx)
		if err != nil {
			return err
		}
		switch {
		case got.share == 0:
			quiet = append(quiet, got.p99)
		case got.share > 0.5:
			busy = append(busy, got.p99)
		}
		if err := s.purge(ctx, "churn.fifo"); err != nil {
			return err
		}
		fewest = math.Inf(1)
		for i, node := range s.Nodes {
			now, err := s.metric(ctx, node, snapshotsTaken)
			if err != nil {
				return err
			}
			fewest = min(fewest, now-taken[i])
		}
	}
	s.note("p99 of sends while no node writes its state", "ms", quiet...)
	s.note("p99 of sends while nodes write their states", "ms", busy...)
	var ratios []float64
	for _, v := range busy {
		if len(quiet) > 0 {
			ratios = append(ratios, v/median(quiet))
		}
	}
	s.atMost(2, "p99 of sends while states are written, relative to other times", "", ratios...)
	s.atLeast(1, "complete snapshots of each node meanwhile, fewest", "", fewest)
	return s.pauses(ctx)
}

// snapshotsTaken counts the states that a node has written to their end.
const snapshotsTaken = "seriatim_raft_snapshots_taken_total"

// chunk sends for some seconds.
func (s *testbed) chunk(ctx context.Context) (chunk, error) {
	got, share, err := s.watched(ctx, "send", "--queue", "churn.fifo", "--existing", "--keep", "--clients", "64", "--batch", "10", "--size",
		"1024", "--duration", "3s", "--warmup", "0s")
	return chunk{p99: got.Latency["send"].P99Us / 1e3, share: share}, err
}

// watched runs the load generator. It also returns during which part of the time nodes wrote
// snapshots.
func (s *testbed) watched(ctx context.Context, args ...string) (report, float64, error) {
	watched, stop := context.WithCancel(ctx)
	share := make(chan float64, 1) // the one answer
	go func() {
		looks, writing := 0.0, 0.0
		for ; watched.Err() == nil; pause(watched, 50*time.Millisecond) {
			looks++
			if n, err := s.writing(); err == nil && n > 0 {
				writing++
			}
		}
		share <- writing / looks
	}()
	got, err := s.bench(ctx, args...)
	stop()
	return got, <-share, err
}

// pauses records the longest pause of applying in each node while it captured its state, from its
// metrics.
func (s *testbed) pauses(ctx context.Context) error {
	var pauses []float64
	for _, n := range s.Nodes {
		longest, err := s.metric(ctx, n, "seriatim_raft_snapshot_pause_seconds")
		if err != nil {
			return err
		}
		pauses = append(pauses, longest*1e3)
	}
	s.noneAbove(1, "longest pause of a node's applies while it captured a state of this size", "ms", pauses...)
	return nil
}

// crowds compares single operations in a small queue with the same operations beside many queues,
// in a queue with many groups, and in a long group.
func (s *testbed) crowds(ctx context.Context) error {
	c := s.newSender()
	if err := c.create(ctx, "small.fifo"); err != nil {
		return err
	}
	alone, err := s.costs(ctx, "small.fifo")
	if err != nil {
		return err
	}
	queues := s.times(10_000)
	for i := range queues {
		if err := c.create(ctx, fmt.Sprintf("q%d.fifo", i)); err != nil {
			return err
		}
	}
	s.say("%d queues", queues)
	beside, err := s.costs(ctx, "small.fifo")
	if err != nil {
		return err
	}
	s.compare(fmt.Sprint(queues, " queues"), alone, beside)
	for _, crowd := range []struct {
		queue            string
		groups, messages int
	}{{"groups.fifo", s.times(1_000_000), s.times(1_000_000)}, {"long.fifo", 1, s.times(100_000)}} {
		if _, err := s.bench(ctx, "send", "--queue", crowd.queue, "--keep", "--clients", "64", "--batch", "10", "--groups",
			fmt.Sprint(crowd.groups),
			"--count", fmt.Sprint(crowd.messages), "--duration", "1h", "--warmup", "0s"); err != nil {
			return err
		}
		// The small queue is measured before and after, so that other work of the machine affects
		// both.
		small, err := s.costs(ctx, "small.fifo")
		if err != nil {
			return err
		}
		large, err := s.costs(ctx, crowd.queue)
		if err != nil {
			return err
		}
		s.compare(fmt.Sprint(crowd.messages, " messages in ", crowd.groups, " groups"), small, large)
	}
	return nil
}
