package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// usage is the processor usage of a run.
type usage struct {
	servers float64 // processors, of all servers with their children
	machine float64 // percent of all processors
}

// usageMargin is excluded at both ends of the measured time: the load of some queues starts
// late.
const usageMargin = 400 * time.Millisecond

// watchUsage measures a run whose warm-up begins now. The returned function waits for the end of the
// run and returns the result.
func watchUsage(ctx context.Context, servers []*server, duration time.Duration) func() usage {
	seen := make(chan usage, 1) // the one answer
	go func() {
		pause(ctx, warmUp+usageMargin)
		idle, all := processorTicks()
		used, began := serversTime(servers), time.Now()
		pause(ctx, duration-2*usageMargin)
		took := time.Since(began)
		idleAfter, allAfter := processorTicks()
		u := usage{servers: (serversTime(servers) - used).Seconds() / took.Seconds()}
		if allAfter > all {
			u.machine = 100 * (1 - float64(idleAfter-idle)/float64(allAfter-all))
		}
		seen <- u
	}()
	return func() usage { return <-seen }
}

// serversTime returns the processor time of servers and their running descendants; zero where the
// system does not report it.
func serversTime(servers []*server) time.Duration {
	const parent, user, system = 1, 11, 12
	stats := map[string][]string{}                 // by process
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ") // the name before may hold spaces
		if fields := strings.Fields(rest); len(fields) > system {
			stats[filepath.Base(filepath.Dir(path))] = fields
		}
	}
	ours := map[string]bool{"0": false}
	for _, s := range servers {
		ours[strconv.Itoa(s.process.Process.Pid)] = true
	}
	var isOurs func(process string) bool
	isOurs = func(process string) bool {
		known, seen := ours[process]
		if fields := stats[process]; !seen && fields != nil {
			known = isOurs(fields[parent])
			ours[process] = known
		}
		return known
	}
	ticks := int64(0)
	for process, fields := range stats {
		if !isOurs(process) {
			continue
		}
		for _, field := range []int{user, system} {
			n, _ := strconv.ParseInt(fields[field], 10, 64)
			ticks += n
		}
	}
	const ticksPerSecond = 100 // of the interface, whatever the kernel uses
	return time.Duration(ticks) * time.Second / ticksPerSecond
}
