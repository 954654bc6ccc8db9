package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"time"
)

// step does one unit of work and returns the number of messages. After the end of the run it may
// give up and return 0.
type step func(ctx context.Context) (int, error)

// warmUp is the time before the measurement.
const warmUp = time.Second

// stragglers bounds the wait after the end of a run for a message that another client holds.
const stragglers = 2 * time.Second

// client is the load of one connection.
type client struct {
	step step
	// loop is the work of a client that does not wait for an answer before the next message. It
	// replaces step.
	loop  func(ctx context.Context, began, end time.Time) share
	close func()
}

// drive runs clients concurrently and adds up their results.
func drive(ctx context.Context, clients int, duration time.Duration, open func(number int) (client, error)) (result, error) {
	var all []client
	for i := range clients {
		c, err := open(i)
		if err != nil {
			for _, c := range all {
				c.close()
			}
			return result{}, err
		}
		all = append(all, c)
	}
	began := time.Now().Add(warmUp)
	end := began.Add(duration)
	before := ownTime()
	ctx, cancel := context.WithDeadline(ctx, end.Add(stragglers))
	defer cancel()
	t := tally{}
	var running sync.WaitGroup
	for _, c := range all {
		running.Go(func() {
			// Close the client at once, not when all have ended: messages that it got without
			// asking are delivered to another client.
			defer c.close()
			if c.loop == nil {
				c.loop = func(ctx context.Context, began, end time.Time) share { return run(ctx, c.step, began, end) }
			}
			t.add(c.loop(ctx, began, end))
		})
	}
	running.Wait()
	got, err := t.result(began)
	// The warm-up costs as much time and is not counted.
	got.GeneratorUs = float64((ownTime() - before).Microseconds()) / max(got.Rate*(warmUp+duration).Seconds(), 1)
	return got, err
}

// ownTime returns the processor time of this process.
func ownTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// share is the result of one client.
type share struct {
	times    []time.Duration
	messages int
	last     time.Time // end of its last step
	err      error
}

// run repeats a step until the end. Steps that began in the warm-up are not counted.
func run(ctx context.Context, work step, began, end time.Time) (s share) {
	for at := time.Now(); at.Before(end); at = time.Now() {
		n, err := work(ctx)
		if err != nil {
			if ctx.Err() == nil || time.Now().Before(end) {
				s.err = err
			}
			return s
		}
		if n > 0 && at.After(began) {
			s.last = time.Now()
			s.times = append(s.times, s.last.Sub(at))
			s.messages += n
		}
	}
	return s
}

// tally adds up the results of all clients. Safe for concurrent use.
type tally struct {
	mu  sync.Mutex
	sum share
}

func (t *tally) add(s share) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.times = append(t.sum.times, s.times...)
	t.sum.messages += s.messages
	if s.last.After(t.sum.last) {
		t.sum.last = s.last
	}
	if t.sum.err == nil {
		t.sum.err = s.err
	}
}

func (t *tally) result(began time.Time) (result, error) {
	if t.sum.err != nil {
		return result{}, t.sum.err
	}
	if len(t.sum.times) == 0 {
		return result{}, errors.New("nothing was measured")
	}
	slices.Sort(t.sum.times)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	n := len(t.sum.times)
	return result{
		Rate:  float64(t.sum.messages) / t.sum.last.Sub(began).Seconds(),
		P50Ms: ms(t.sum.times[n/2]), P99Ms: ms(t.sum.times[n*99/100]),
	}, nil
}
