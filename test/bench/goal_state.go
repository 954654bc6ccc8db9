package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// rounds is how often what takes seconds is measured.
const rounds = 3

// pair are the rates of sends one by one and in batches.
type pair struct {
	singles, batches runs
	usual            []report // of the singles
}

// rates measures sends of 64 clients, again and again. They go into a queue that
// exists, or each into one of its own, which is removed with its ids. After
// each run, after is called if it is given.
func (s *stage) rates(ctx context.Context, queue string, after func() error) (p pair, err error) {
	args := []string{"send", "--clients", "64", "--duration", "2s"}
	if queue != "" {
		args = append(args, "--queue", queue, "--existing")
	}
	for range rounds {
		for _, batch := range []string{"1", "10"} {
			got, err := s.bench(ctx, append(args, "--batch", batch)...)
			if err != nil {
				return p, err
			}
			if batch == "1" {
				p.singles, p.usual = append(p.singles, got.MessagesPerSecond), append(p.usual, got)
			} else {
				p.batches = append(p.batches, got.MessagesPerSecond)
			}
			if after == nil {
				continue
			}
			if err := after(); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// keeps compares rates into a filled queue with what they were before: at once,
// while the nodes write snapshots of what has come, and when they have.
func (s *stage) keeps(ctx context.Context, before pair, queue string, purge func() error) (settled pair, err error) {
	atOnce, err := s.rates(ctx, queue, purge)
	if err != nil {
		return pair{}, err
	}
	if err := s.settle(ctx); err != nil {
		return pair{}, err
	}
	if settled, err = s.rates(ctx, queue, purge); err != nil {
		return pair{}, err
	}
	for _, c := range []struct {
		what                    string
		before, atOnce, settled runs
	}{
		{"sends of 64 clients", before.singles, atOnce.singles, settled.singles},
		{"sends of 64 clients in batches of 10", before.batches, atOnce.batches, settled.batches},
	} {
		s.note(c.what+", before", "/s", c.before...)
		s.note(c.what+", right after the filling, snapshots being written", "/s", c.atOnce...)
		s.note(c.what+", with it", "/s", c.settled...)
		usual := median(c.before) // sorted by note
		var shares []float64
		for _, rate := range c.settled {
			shares = append(shares, 100*rate/usual)
		}
		s.atLeast(90, c.what+", share kept", "%", shares...)
	}
	return settled, nil
}

// settle waits until no node writes a snapshot and what was written is on disk.
func (s *stage) settle(ctx context.Context) error {
	began := time.Now()
	for {
		writing := 0
		for _, node := range s.Nodes {
			unfinished, err := filepath.Glob(filepath.Join(node.DataDir, "group-0", "snapshots", "*.tmp"))
			if err != nil {
				return err
			}
			writing += len(unfinished)
		}
		if writing == 0 {
			break
		}
		if pause(ctx, 100*time.Millisecond); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	syscall.Sync()
	s.say("settled after %v", time.Since(began).Round(time.Second))
	return nil
}

// fillStep is how many ids are made before their messages are removed again:
// only the ids are to stay.
const fillStep = 250_000

// manyIDs compares sends into empty queues with sends into one that remembers
// many ids, and weighs the ids.
func (s *stage) manyIDs(ctx context.Context) error {
	n := s.times(10_000_000)
	before, err := s.rates(ctx, "", nil)
	if err != nil {
		return err
	}
	empty, err := s.live(ctx)
	if err != nil {
		return err
	}
	c := s.newSender()
	purge := func() error {
		return c.call(ctx, "PurgeQueue", map[string]string{"QueueUrl": queueURL("ids.fifo")}, nil)
	}
	how := []string{"--keep", "--set", "DeduplicationWindowSeconds=604800", "--set", "PurgeClearsDeduplicationHistory=false"}
	for made := 0; made < n; {
		step := min(fillStep, n-made)
		args := append([]string{"send", "--queue", "ids.fifo", "--clients", "64", "--batch", "10", "--size", "64",
			"--count", fmt.Sprint(step), "--duration", "1h", "--warmup", "0s"}, how...)
		if _, err := s.bench(ctx, args...); err != nil {
			return err
		}
		if err := purge(); err != nil {
			return err
		}
		how = []string{"--existing"}
		made += step
		s.say("%d of %d ids", made, n)
	}
	s.note("ids", "", float64(n))
	if err := s.weigh(ctx, "an id", empty, n, 0, 120); err != nil {
		return err
	}
	_, err = s.keeps(ctx, before, "ids.fifo", purge)
	return err
}

// weigh notes the memory that n things took, but for what was to be kept of each.
// The log's cache and the garbage collector's spare room fade only in numbers.
func (s *stage) weigh(ctx context.Context, what string, before float64, n, kept int, limit float64) error {
	after, err := s.live(ctx)
	if err != nil {
		return err
	}
	s.atMost(limit, "live heap of "+what, "B", (after-before)/float64(n)-float64(kept))
	s.note("resident memory of a node", "MB", s.resident()/1e6)
	return nil
}

// parked compares sends before and after many messages were parked, looks at
// the latency while the whole state is written, and kills all nodes.
func (s *stage) parked(ctx context.Context) error {
	n := s.times(1_000_000)
	before, err := s.rates(ctx, "", nil)
	if err != nil {
		return err
	}
	empty, err := s.live(ctx)
	if err != nil {
		return err
	}
	if _, err := s.bench(ctx, "send", "--queue", "parked.fifo", "--keep", "--clients", "64", "--batch", "10", "--size", "1024", "--count", fmt.Sprint(n),
		"--duration", "1h", "--warmup", "0s", "--groups", "1000"); err != nil {
		return err
	}
	s.note("messages parked", "", float64(n))
	// Each message's deduplication id is remembered, too, which is the goal's
	// 120 B on top.
	if err := s.weigh(ctx, "a message and its id beside the body", empty, n, 1024, 250+120); err != nil {
		return err
	}
	after, err := s.keeps(ctx, before, "parked.fifo", nil)
	if err != nil {
		return err
	}
	if err := s.whileWriting(ctx, after.usual); err != nil {
		return err
	}
	if err := s.freeze(ctx); err != nil {
		s.say("no figure for the pause: %v", err)
	}
	var back []float64
	for range rounds {
		took, err := s.revive(ctx)
		if err != nil {
			return err
		}
		back = append(back, took.Seconds())
		s.say("served again after %v", took)
	}
	s.atMost(5, "from the start of all killed nodes to the first message", "s", back...)
	return nil
}

// whileWriting sends while every node writes its whole state, as a backup does.
func (s *stage) whileWriting(ctx context.Context, usual []report) error {
	p99 := func(r report) float64 { return r.Latency["send"].P99Us / 1e3 }
	var usually, meanwhile, written, rates runs
	for _, r := range usual {
		usually = append(usually, p99(r))
	}
	for range rounds {
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
		during, err := s.bench(ctx, "send", "--queue", "parked.fifo", "--existing", "--clients", "64", "--duration", "5s")
		stop()
		states := int64(0)
		for range s.Nodes {
			states += <-wrote
		}
		if err != nil {
			return err
		}
		meanwhile, written, rates = append(meanwhile, p99(during)), append(written, float64(states)), append(rates, during.MessagesPerSecond)
	}
	s.note("p99 of sends, usually", "ms", usually...)
	s.note("p99 of sends while all three nodes write their state", "ms", meanwhile...)
	var ratios []float64
	for _, v := range meanwhile {
		ratios = append(ratios, v/median(usually))
	}
	s.atMost(2, "p99 of sends while states are written, times the usual", "", ratios...)
	s.note("rate meanwhile", "/s", rates...)
	s.note("states written to their end meanwhile", "", written...)
	return nil
}

// freeze is the pause of the state machine while its state is captured, in the
// Go benchmark of it, which has 1,000,000 messages whatever the scale.
func (s *stage) freeze(ctx context.Context) error {
	if !exists("queue/bench_test.go") {
		return errors.New("not in the root of the repository")
	}
	out, err := exec.CommandContext(ctx, "go", "test", "-tags", "hashicorpmetrics", "-run", "^$", "-bench", "^BenchmarkFreeze$",
		"-benchtime", "100x", "-count", fmt.Sprint(rounds), "./queue").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go test: %w: %s", err, out)
	}
	pauses := benchmarkNanoseconds(string(out), "BenchmarkFreeze")
	for i := range pauses {
		pauses[i] /= 1e3
	}
	s.atMost(1000, "pause to capture 1,000,000 messages (go test -bench Freeze ./queue)", "us", pauses...)
	return nil
}

// benchmarkNanoseconds reads the lines of one benchmark of go test.
func benchmarkNanoseconds(text, name string) (list []float64) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], name) || fields[3] != "ns/op" {
			continue
		}
		if v, err := strconv.ParseFloat(fields[2], 64); err == nil {
			list = append(list, v)
		}
	}
	return list
}

// revive kills all nodes at once and waits until a message is accepted again.
func (s *stage) revive(ctx context.Context) (time.Duration, error) {
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

// crowds compares single operations in a small queue with those beside many
// queues, in a queue of many groups, and in a long group.
func (s *stage) crowds(ctx context.Context) error {
	c := s.newSender()
	if err := c.create(ctx, "small.fifo"); err != nil {
		return err
	}
	alone, err := s.operations(ctx, c, "small.fifo")
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
	beside, err := s.operations(ctx, c, "small.fifo")
	if err != nil {
		return err
	}
	s.compare(fmt.Sprint(queues, " queues"), alone, beside)
	for _, crowd := range []struct {
		queue            string
		groups, messages int
	}{{"groups.fifo", s.times(1_000_000), s.times(1_000_000)}, {"long.fifo", 1, s.times(100_000)}} {
		if _, err := s.bench(ctx, "send", "--queue", crowd.queue, "--keep", "--clients", "64", "--batch", "10", "--groups", fmt.Sprint(crowd.groups),
			"--count", fmt.Sprint(crowd.messages), "--duration", "1h", "--warmup", "0s"); err != nil {
			return err
		}
		// Just before and just after, so that what else the machine does
		// falls on both.
		small, err := s.operations(ctx, c, "small.fifo")
		if err != nil {
			return err
		}
		large, err := s.operations(ctx, c, crowd.queue)
		if err != nil {
			return err
		}
		s.compare(fmt.Sprint(crowd.messages, " messages in ", crowd.groups, " groups"), small, large)
	}
	return nil
}

// operations are medians of send, receive and delete, of each round.
func (s *stage) operations(ctx context.Context, c *sender, queue string) (all [3]runs, err error) {
	for range rounds {
		medians, err := c.operations(ctx, queue)
		if err != nil {
			return all, err
		}
		for i, m := range medians {
			all[i] = append(all[i], float64(m.Microseconds()))
		}
	}
	return all, nil
}

func (s *stage) compare(what string, small, large [3]runs) {
	for i, operation := range []string{"send", "receive", "delete"} {
		s.note(what+", p50 of "+operation+" in a small queue", "us", small[i]...)
		usual := median(small[i]) // sorted by note
		var ratios []float64
		for _, v := range large[i] {
			ratios = append(ratios, v/usual)
		}
		s.atMost(3, what+", p50 of "+operation+", times that", "", ratios...)
	}
}
