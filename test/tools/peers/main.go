package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	o := options{}
	flag.StringVar(&o.binary, "seriatim", "bin/seriatim", "the program to compare with")
	flag.DurationVar(&o.duration, "duration", 5*time.Second, "measured time of one run")
	flag.IntVar(&o.rounds, "rounds", 3, "runs of each workload on each queue, in turn")
	flag.StringVar(&o.only, "only", "",
		"names of the peers to take, with commas: nats, rabbitmq, elasticmq, with -links grpc, amqp, rabbitmq, artemis; empty: all")
	flag.DurationVar(&o.disk, "disk", 0, "what a sync takes on a disk of its own for each server; 0: all share that of this machine")
	flag.BoolVar(&o.streams, "streams", false, "measure calls and streams of the native API")
	flag.BoolVar(&o.links, "links", false, "measure links of AMQP 1.0 beside HTTP and gRPC")
	flag.StringVar(&o.out, "out", "peers.json", "record to write")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := compare(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

type options struct {
	binary   string
	duration time.Duration
	rounds   int
	only     string
	streams  bool
	links    bool
	disk     time.Duration
	out      string
}

// contender is a queue server that runs.
type contender interface {
	// takes reports whether it supports a workload.
	takes(w workload) bool
	measure(ctx context.Context, w workload, duration time.Duration) (result, error)
	// spent returns the processor time of its servers.
	spent() time.Duration
	close()
}

// entrant is a queue server that may be installed.
type entrant struct {
	key   string
	start func(ctx context.Context, dir string, o options) (contender, description, error)
}

func entrants(links bool) []entrant {
	if links {
		return linkEntrants()
	}
	return []entrant{
		{"seriatim", startSeriatim},
		{"nats", startNATS},
		{"rabbitmq", startRabbitMQ},
		{"elasticmq", startElasticMQ},
	}
}

// compare starts all queues, runs every workload on each in turn, and writes the record. All of
// them run, but only one has load.
func compare(ctx context.Context, o options) (err error) {
	if o.rounds < 1 || o.duration <= 0 || o.disk < 0 {
		return errors.New("-rounds and -duration must be above zero, and -disk not below")
	}
	r := newRecord(o)
	dir, err := directory(o.disk)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var running []contender
	defer func() {
		for _, c := range slices.Backward(running) {
			if c != nil {
				c.close()
			}
		}
	}()
	for i, e := range entrants(o.links) {
		if i > 0 && o.only != "" && !slices.Contains(strings.Split(o.only, ","), e.key) {
			continue
		}
		own := filepath.Join(dir, e.key)
		if err := os.Mkdir(own, 0o700); err != nil {
			return fmt.Errorf("directory for %s: %w", e.key, err)
		}
		c, d, err := e.start(ctx, own, o)
		if err != nil {
			if i == 0 || ctx.Err() != nil {
				return fmt.Errorf("start %s: %w", e.key, err)
			}
			d.Problem = err.Error()
			c = nil
		}
		fmt.Fprintf(os.Stderr, "%s %s %s\n", d.Name, d.Version, d.Problem)
		running = append(running, c)
		r.Queues = append(r.Queues, d)
	}
	for round := range o.rounds {
		if err := measureRound(ctx, r, running, round, o); err != nil {
			return err
		}
		// Write after each round, so that the results are kept if the next one fails.
		if err := r.write(o.out); err != nil {
			return err
		}
	}
	return nil
}

// rest gives a queue time for work after its answers, such as the removal of a queue, before the
// next one is measured.
const rest = 500 * time.Millisecond

// measureRound runs each workload once on each queue. Every second round uses the opposite order,
// so that no queue always follows the same one.
func measureRound(ctx context.Context, r *record, running []contender, round int, o options) error {
	order := make([]int, len(running))
	for i := range order {
		order[i] = i
	}
	if round%2 == 1 {
		slices.Reverse(order)
	}
	for n, w := range r.Workloads {
		for _, i := range order {
			if running[i] == nil || !running[i].takes(w) {
				continue
			}
			before := running[i].spent()
			got, err := running[i].measure(ctx, w, o.duration)
			// The warm-up costs as much time and is not counted.
			got.ServerUs = float64((running[i].spent() - before).Microseconds()) / max(got.Rate*(warmUp+o.duration).Seconds(), 1)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			what := got.String()
			if err != nil {
				what = "failed: " + err.Error()
			}
			fmt.Fprintf(os.Stderr, "round %d of %d  %-36s %-34s %s\n", round+1, o.rounds, w.Name, r.Queues[i].Name, what)
			r.add(n, i, got, err)
			pause(ctx, rest)
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
