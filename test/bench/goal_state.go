package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// manyIDs compares sends into an empty queue with sends into one that remembers
// many ids, and weighs the ids.
func (s *stage) manyIDs(ctx context.Context) error {
	n := s.times(10_000_000)
	if _, err := s.bench(ctx, "send", "--queue", "small.fifo", "--keep", "--count", "1000"); err != nil {
		return err
	}
	single, batch, err := s.sends(ctx, "small.fifo")
	if err != nil {
		return err
	}
	before, err := s.live(ctx)
	if err != nil {
		return err
	}
	if _, err := s.bench(ctx, "fifo", "--queue", "ids.fifo", "--keep", "--batch", "10", "--count", fmt.Sprint(n),
		"--duration", "2h", "--warmup", "0s", "--set", "DeduplicationWindowSeconds=604800"); err != nil {
		return err
	}
	s.note(finding{What: "ids", Value: float64(n)})
	if err := s.weigh(ctx, "an id", before, n, 0, 120); err != nil {
		return err
	}
	singleAfter, batchAfter, err := s.sends(ctx, "ids.fifo")
	if err != nil {
		return err
	}
	s.keeps("sends of 64 clients", single, singleAfter)
	s.keeps("batches of 64 clients", batch, batchAfter)
	return nil
}

// weigh notes the memory that n things took, but for what was to be kept of each.
// The log's cache and the garbage collector's spare room fade only in numbers.
func (s *stage) weigh(ctx context.Context, what string, before float64, n, kept int, limit float64) error {
	after, err := s.live(ctx)
	if err != nil {
		return err
	}
	s.note(finding{What: "live heap of " + what, Value: (after-before)/float64(n) - float64(kept), Unit: "B", Limit: limit})
	s.note(finding{What: "resident memory of a node", Value: s.resident() / 1e6, Unit: "MB"})
	return nil
}

// parked compares sends before and after many messages were parked, looks at
// the latency while the whole state is written, and kills all nodes.
func (s *stage) parked(ctx context.Context) error {
	n := s.times(1_000_000)
	if _, err := s.bench(ctx, "send", "--queue", "small.fifo", "--keep", "--count", "1000"); err != nil {
		return err
	}
	single, batch, err := s.sends(ctx, "small.fifo")
	if err != nil {
		return err
	}
	before, err := s.live(ctx)
	if err != nil {
		return err
	}
	if _, err := s.bench(ctx, "send", "--queue", "parked.fifo", "--keep", "--batch", "10", "--size", "1024", "--count", fmt.Sprint(n),
		"--duration", "2h", "--warmup", "0s", "--groups", "1000"); err != nil {
		return err
	}
	s.note(finding{What: "messages parked", Value: float64(n)})
	// Each message's deduplication id is remembered, too, which is the goal's
	// 120 B on top.
	if err := s.weigh(ctx, "a message and its id beside the body", before, n, 1024, 250+120); err != nil {
		return err
	}
	singleAfter, batchAfter, err := s.sends(ctx, "parked.fifo")
	if err != nil {
		return err
	}
	s.keeps("sends of 64 clients", single, singleAfter)
	s.keeps("batches of 64 clients", batch, batchAfter)
	if err := s.whileWriting(ctx, singleAfter); err != nil {
		return err
	}
	return s.revive(ctx)
}

// whileWriting sends while every node writes its whole state, as a backup does.
func (s *stage) whileWriting(ctx context.Context, usual report) error {
	writing, stop := context.WithCancel(ctx)
	wrote := make(chan int64, len(s.Nodes)) // one number from each
	for _, node := range s.Nodes {
		go func() {
			states := int64(0)
			for writing.Err() == nil && download(writing, "http://"+node.Admin+"/v1/backup", io.Discard) == nil {
				states++
			}
			wrote <- states
		}()
	}
	during, err := s.bench(ctx, "send", "--queue", "parked.fifo", "--existing", "--clients", "64", "--duration", "10s")
	stop()
	states := int64(0)
	for range s.Nodes {
		states += <-wrote
	}
	if err != nil {
		return err
	}
	p99 := func(r report) float64 { return r.Latency["send"].P99Us / 1e3 }
	s.note(finding{What: "states written meanwhile", Value: float64(states)})
	s.note(finding{What: "p99 of sends, usually", Value: p99(usual), Unit: "ms"})
	s.note(finding{What: "p99 of sends while states are written", Value: p99(during), Unit: "ms", Limit: 2 * p99(usual)})
	return nil
}

func download(ctx context.Context, url string, to io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	_, err = io.Copy(to, response.Body)
	return err
}

// revive kills all nodes at once and waits until a message is accepted again.
func (s *stage) revive(ctx context.Context) error {
	for _, n := range s.Nodes {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	began := time.Now()
	for _, n := range s.Nodes {
		if err := n.Start(); err != nil {
			return err
		}
	}
	c := s.newSender()
	for c.send(ctx, "parked.fifo", "revived") != nil {
		if ctx.Err() != nil || time.Since(began) > 5*time.Minute {
			return errors.New("no message was accepted after the restart")
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.note(finding{What: "from the start of all nodes to the first message", Value: time.Since(began).Seconds(), Unit: "s", Limit: 5})
	return nil
}

// crowds compares single operations in a small queue with those beside many
// queues, in a queue of many groups, and in a long group.
func (s *stage) crowds(ctx context.Context) error {
	c := s.newSender()
	if err := c.create(ctx, "small.fifo"); err != nil {
		return err
	}
	small, err := c.operations(ctx, "small.fifo")
	if err != nil {
		return err
	}
	compare := func(what string, large [3]time.Duration) {
		for i, operation := range []string{"send", "receive", "delete"} {
			s.note(finding{What: what + ", p50 of " + operation + ", times that of a small queue", Value: float64(large[i]) / float64(small[i]), Limit: 3})
		}
	}
	queues := s.times(10_000)
	for i := range queues {
		if err := c.create(ctx, fmt.Sprintf("q%d.fifo", i)); err != nil {
			return err
		}
	}
	large, err := c.operations(ctx, "small.fifo")
	if err != nil {
		return err
	}
	compare(fmt.Sprint(queues, " queues"), large)
	for _, crowd := range []struct {
		queue            string
		groups, messages int
	}{{"groups.fifo", s.times(1_000_000), s.times(1_000_000)}, {"long.fifo", 1, s.times(100_000)}} {
		if _, err := s.bench(ctx, "send", "--queue", crowd.queue, "--keep", "--batch", "10", "--groups", fmt.Sprint(crowd.groups),
			"--count", fmt.Sprint(crowd.messages), "--duration", "2h", "--warmup", "0s"); err != nil {
			return err
		}
		if large, err = c.operations(ctx, crowd.queue); err != nil {
			return err
		}
		compare(fmt.Sprint(crowd.messages, " messages in ", crowd.groups, " groups"), large)
	}
	return nil
}

// median of durations; they are sorted.
func middle(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}
