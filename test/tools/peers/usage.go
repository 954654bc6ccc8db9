package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// usage is what a run takes of the processors.
type usage struct {
	servers float64 // processors, of all servers with their children
	machine float64 // percent of all processors
}

// usageMargin is how far from the ends of the measured time of a run its usage is looked
// at: the load of some queues takes a moment to begin.
const usageMargin = 400 * time.Millisecond

// watchUsage looks at a run that begins now with its warm-up. What it sees is to be asked
// for when the run is over.
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

// serversTime is the processor time of all processes that were started in the groups of
// servers and still run; zero where the system does not tell.
func serversTime(servers []*server) time.Duration {
	groups := map[string]bool{}
	for _, s := range servers {
		groups[strconv.Itoa(s.process.Process.Pid)] = true
	}
	ticks := int64(0)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ") // the name before may hold spaces
		fields := strings.Fields(rest)
		const group, user, system = 2, 11, 12
		if len(fields) <= system || !groups[fields[group]] {
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
