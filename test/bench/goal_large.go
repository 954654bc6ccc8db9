package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// large measures sends of the largest bodies, in turns with the rate that the disk supports.
func (s *testbed) large(ctx context.Context) error {
	bodies := s.times(600)
	var rates, limits, cost runs
	kept := 0.0
	for range rounds {
		limit, err := diskLimit(filepath.Join(s.dir, "copies"), bodies)
		if err != nil {
			return err
		}
		limits = append(limits, limit)
		used := s.cpuSeconds()
		r, err := s.bench(ctx, "send", "--clients", "8", "--size", largeBody, "--count", fmt.Sprint(bodies), "--warmup", "0s")
		if err != nil {
			return err
		}
		cost = append(cost, 1e3*(s.cpuSeconds()-used)/float64(r.Messages))
		rates = append(rates, r.MessagesPerSecond*float64(r.BodyBytes)/1e6)
		kept = max(kept, float64(r.Messages)*float64(r.BodyBytes)/1e6)
	}
	s.atLeast(min(150, median(limits)), "acknowledged", "MB/s", rates...)
	s.note("rate of the disk alone, which writes each body to three logs and three copies", "MB/s", limits...)
	s.note("processor time of all nodes for a body", "ms", cost...)
	peak := 0.0
	for _, n := range s.Nodes {
		peak = max(peak, memoryOf(n, "VmHWM")/1e6)
	}
	s.note("bodies in the queue at the end of a run", "MB", kept)
	s.note("largest resident memory of a node in all runs", "MB", peak)
	s.note("largest resident memory, relative to the bodies in the queue", "", peak/kept)
	return nil
}

// diskLimit returns the rate in MB of bodies per second that the disk supports. One writer for
// each node appends bodies of 1 MiB to two files, like log and segment, and syncs the first
// file after each.
func diskLimit(dir string, bodies int) (rate float64, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, fmt.Errorf("directory for the disk limit: %w", err)
	}
	defer os.RemoveAll(dir)
	var copying sync.WaitGroup
	problems := make([]error, nodes)
	began := time.Now()
	for i := range nodes {
		copying.Go(func() { problems[i] = appendBodies(filepath.Join(dir, fmt.Sprint(i)), bodies) })
	}
	copying.Wait()
	took := time.Since(began)
	for _, problem := range problems {
		if problem != nil {
			return 0, fmt.Errorf("asking what the disk takes: %w", problem)
		}
	}
	return float64(bodies) * (1 << 20) / 1e6 / took.Seconds(), nil
}

// appendBodies writes bodies to disk like one node.
func appendBodies(path string, bodies int) error {
	body := make([]byte, 1<<20)
	for i := range body {
		body[i] = byte(i * i >> 8) // a disk may notice zeros
	}
	log, err := os.Create(path + ".log")
	if err != nil {
		return err
	}
	defer log.Close()
	segment, err := os.Create(path + ".segment")
	if err != nil {
		return err
	}
	defer segment.Close()
	for range bodies {
		if _, err := log.Write(body); err != nil {
			return err
		}
		if err := log.Sync(); err != nil {
			return err
		}
		if _, err := segment.Write(body); err != nil {
			return err
		}
	}
	return segment.Sync()
}
