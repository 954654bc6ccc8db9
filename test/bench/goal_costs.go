package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// operationNames are the compared operations. Receives and deletes are made by one client, because
// a long group delivers a message only after the one before it is deleted.
var operationNames = [...]string{"send", "receive and delete"}

// cost is the cost of an operation: the processor time of the servers minus their idle time, and
// the time to the answer, which is mostly network and disk.
type cost struct {
	processor runs // microseconds of all nodes, each operation
	median    runs // microseconds until the answer
}

const (
	costClients = 32 // that send
	costEach    = 40 // sends of each in a round
	costIdle    = 2 * time.Second
)

// costs measures sends of many clients, and then as many receives with deletes of one,
// in each round.
func (s *testbed) costs(ctx context.Context, queue string) (all [len(operationNames)]cost, err error) {
	var senders []*sender
	for range costClients {
		senders = append(senders, s.newSender())
	}
	defer func() {
		for _, c := range senders {
			c.client.CloseIdleConnections()
		}
	}()
	steps := [...]struct {
		clients, each int
		do            func(i int) error
	}{
		{costClients, costEach, func(i int) error { return senders[i].send(ctx, queue, "x") }},
		{1, costClients * costEach, func(i int) error { return senders[i].take(ctx, queue) }},
	}
	before := s.cpuSeconds()
	pause(ctx, costIdle)
	idle := (s.cpuSeconds() - before) / costIdle.Seconds()
	for range rounds {
		for n, step := range steps {
			processor, median, err := s.costOf(step.clients, step.each, idle, step.do)
			if err != nil {
				return all, fmt.Errorf("%s in %s: %w", operationNames[n], queue, err)
			}
			all[n].processor, all[n].median = append(all[n].processor, processor...), append(all[n].median, median)
		}
	}
	return all, nil
}

// costOf calls step with every client, each times. The processor time is missing where the system
// does not report it.
func (s *testbed) costOf(clients, each int, idle float64, step func(i int) error) (processor runs, median float64, err error) {
	var mu sync.Mutex // guards times and problems
	var times []time.Duration
	var problems []error
	before, start := s.cpuSeconds(), time.Now()
	var working sync.WaitGroup
	for i := range clients {
		working.Go(func() {
			for range each {
				began := time.Now()
				err := step(i)
				took := time.Since(began)
				mu.Lock()
				times = append(times, took)
				if err != nil {
					problems = append(problems, err)
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	working.Wait()
	if used := s.cpuSeconds() - before - idle*time.Since(start).Seconds(); used > 0 {
		processor = runs{used * 1e6 / float64(clients*each)}
	}
	slices.Sort(times)
	return processor, float64(times[len(times)/2].Microseconds()), errors.Join(problems...)
}

// compare records how much more an operation costs in a large state than in a small one.
func (s *testbed) compare(what string, small, large [len(operationNames)]cost) {
	for i, operation := range operationNames {
		for _, c := range []struct {
			of           string
			small, large runs
		}{{"processor time of all nodes for a ", small[i].processor, large[i].processor}, {"p50 of a ", small[i].median, large[i].median}} {
			s.note(what+", "+c.of+operation+" in a small queue", "us", c.small...)
			var ratios []float64
			for _, v := range c.large {
				if len(c.small) > 0 {
					ratios = append(ratios, v/median(c.small))
				}
			}
			s.atMost(3, what+", "+c.of+operation+", relative to the small queue", "", ratios...)
		}
	}
}
