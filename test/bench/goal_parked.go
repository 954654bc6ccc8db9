package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// parkedBody is the length of a parked body.
const parkedBody = 1024

// park fills a queue.
func (s *testbed) park(ctx context.Context, n int) error {
	_, err := s.bench(ctx, "send", "--queue", "parked.fifo", "--keep", "--clients", "64", "--batch", "10", "--size", fmt.Sprint(parkedBody),
		"--count", fmt.Sprint(n),
		"--duration", "1h", "--warmup", "0s", "--groups", "1000")
	if err == nil {
		s.note("messages parked", "", float64(n))
	}
	return err
}

// bodiesInMemory returns the bytes of each parked body that are in the memory of a node.
func (s *testbed) bodiesInMemory(ctx context.Context) (int, error) {
	for _, n := range s.Nodes {
		if stored, err := s.metric(ctx, n, "seriatim_bodies_stored"); err != nil || stored > 0 {
			return 0, err
		}
	}
	return parkedBody, nil
}

// parked kills all nodes while many messages are parked, compares sends with and without parked
// messages, and measures the latency while the whole state is written.
func (s *testbed) parked(ctx context.Context) error {
	n := s.times(1_000_000)
	before, err := s.liveInUse(ctx)
	if err != nil {
		return err
	}
	if err := s.park(ctx, n); err != nil {
		return err
	}
	s.atMost(300, "resident memory of a node right after the queue was filled", "MB", s.resident()/1e6)
	kept, err := s.bodiesInMemory(ctx)
	if err != nil {
		return err
	}
	if err := s.weigh(ctx, "a message and its id beside the body", before, n, kept, 160); err != nil {
		return err
	}
	// First, because the loads below leave several times as many messages.
	if err := s.revived(ctx, 4); err != nil {
		return err
	}
	if err := s.keeps(ctx, "parked.fifo", keptShares{writing: 90, settled: 95}, nil); err != nil {
		return err
	}
	return s.whileWriting(ctx)
}

// tenMillion parks more bodies than fit into memory. It takes 35 GB of disk.
func (s *testbed) tenMillion(ctx context.Context) error {
	if err := s.park(ctx, s.times(10_000_000)); err != nil {
		return err
	}
	s.atMost(2<<30/1e6, "resident memory of a node", "MB", s.resident()/1e6)
	return s.revived(ctx, 20)
}

// revived kills all nodes, again and again.
func (s *testbed) revived(ctx context.Context, limit float64) error {
	var back []float64
	for range rounds {
		took, err := s.revive(ctx)
		if err != nil {
			return err
		}
		back = append(back, took.Seconds())
		s.say("served again after %v", took)
	}
	s.atMost(limit, "from the start of all killed nodes to the first message", "s", back...)
	s.note("resident memory of a node after the last restart", "MB", s.resident()/1e6)
	return nil
}

// revive kills all nodes at once and waits until a message is accepted again.
func (s *testbed) revive(ctx context.Context) (time.Duration, error) {
	for _, n := range s.Nodes {
		if err := n.Kill(); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	for _, n := range s.Nodes {
		if err := n.Start(); err != nil {
			return 0, err
		}
	}
	c := s.newSender()
	for c.send(ctx, "parked.fifo", "revived") != nil {
		if ctx.Err() != nil || time.Since(began) > 2*time.Minute {
			return 0, errors.New("no message was accepted after the restart")
		}
		pause(ctx, 10*time.Millisecond)
	}
	took := time.Since(began)
	return took, s.WaitReady(ctx, time.Minute)
}
