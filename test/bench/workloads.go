package main

import (
	"fmt"
	"strings"
)

// workload is one line of the table.
type workload struct {
	name string
	args []string // of seriatim bench
	goal goal
}

// goal has the figures that a workload must reach; zero fields do not count.
type goal struct {
	number int     // in the list of goals
	rate   float64 // messages per second, at least
	timed  string  // the kind of call that p50 and p99 are about
	p50Ms  float64 // at most
	p99Ms  float64 // at most
	volume float64 // MB/s of bodies, at least
}

func (g goal) String() string {
	text := ""
	if g.number > 0 {
		text = fmt.Sprintf("%d:", g.number)
	}
	add := func(format string, value float64) {
		if value == 0 {
			return
		}
		switch {
		case strings.HasSuffix(text, ":"):
			text += " "
		case text != "":
			text += ", "
		}
		text += fmt.Sprintf(format, value)
	}
	add("%.0f/s", g.rate)
	add("%.0f MB/s", g.volume)
	add("p50 %.1f ms", g.p50Ms)
	add("p99 %.1f ms", g.p99Ms)
	if text == "" {
		return "-"
	}
	return text
}

// largeBody is the limit of a message in bytes, for body and attributes together.
const largeBody = "1048576"

// workloads are those of the project's performance goals.
func workloads(duration string) []workload {
	timed := func(name string, args ...string) []string {
		return append([]string{name, "--duration", duration}, args...)
	}
	return []workload{
		{"1 client, one message a call", timed("send", "--clients", "1"), goal{number: 1, timed: "send", p50Ms: 0.7, p99Ms: 3}},
		{"16 clients", timed("send", "--clients", "16"), goal{timed: "send"}},
		{"64 clients", timed("send", "--clients", "64"), goal{number: 2, timed: "send", rate: 25_000, p99Ms: 10}},
		{"256 clients", timed("send", "--clients", "256"), goal{number: 2, timed: "send", rate: 30_000}},
		{"64 clients, batches of 10", timed("send", "--clients", "64", "--batch", "10"),
			goal{number: 3, timed: "send", rate: 100_000, p99Ms: 20}},
		{"send, receive and delete, 64 clients", timed("fifo", "--clients", "64"), goal{number: 4, timed: "life", rate: 10_000}},
		{"the same in batches of 10", timed("fifo", "--clients", "64", "--batch", "10"), goal{number: 4, timed: "life", rate: 30_000}},
		{"half of the ids repeated, batches of 10", timed("send", "--clients", "64", "--batch", "10", "--repeat", "50"),
			goal{timed: "send"}},
		{"1,000 waiting consumers", timed("poll", "--clients", "1000"), goal{number: 8, timed: "receive", p50Ms: 2}},
		{
			"bodies of 1 MiB",
			[]string{"send", "--clients", "8", "--size", largeBody, "--count", "100", "--warmup", "0s"},
			goal{number: 10, timed: "send", volume: 150},
		},
	}
}
