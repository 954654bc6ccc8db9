package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// bodyBytes is the size of every message body.
const bodyBytes = 256

// workload is a line of the comparison.
type workload struct {
	Name    string `json:"name"`
	Clients int    `json:"clients"`
	Batch   int    `json:"batch"`
	Lives   bool   `json:"lives"`
	// Ours are the arguments of seriatim bench.
	Ours []string `json:"ours"`
}

func workloads() []workload {
	return []workload{
		{"1 client", 1, 1, false, []string{"send", "--clients", "1"}},
		{"16 clients", 16, 1, false, []string{"send", "--clients", "16"}},
		{"64 clients", 64, 1, false, []string{"send", "--clients", "64"}},
		{"256 clients", 256, 1, false, []string{"send", "--clients", "256"}},
		{"64 clients, ten at a time", 64, 10, false, []string{"send", "--clients", "64", "--batch", "10"}},
		{"64 clients, send, receive, delete", 64, 1, true, []string{"fifo", "--clients", "64"}},
	}
}

// result is what one run gave.
type result struct {
	Rate  float64 `json:"rate"` // messages per second
	P50Ms float64 `json:"p50Ms"`
	P99Ms float64 `json:"p99Ms"`
}

func (r result) String() string {
	return fmt.Sprintf("%8.0f/s  p50 %.2f ms  p99 %.2f ms", r.Rate, r.P50Ms, r.P99Ms)
}

// description says what a queue is and what it has promised when it answers.
type description struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Protocol string `json:"protocol"`
	// Durable is what is certain once a message is confirmed.
	Durable string `json:"durable"`
	Command string `json:"command"` // how its servers were started
	Problem string `json:"problem"` // why it did not take part; empty: it did
}

// measured are the runs of one workload on one queue.
type measured struct {
	Runs    []result `json:"runs"`
	Problem string   `json:"problem,omitempty"` // of the last run that failed
}

// record is what is written. The first queue is seriatim.
type record struct {
	At         time.Time     `json:"at"`
	LoadBefore float64       `json:"loadBefore"` // of the last minute; -1: unknown
	Others     float64       `json:"others"`     // processor time others used before, in percent of all CPUs; -1: unknown
	Seconds    float64       `json:"seconds"`    // of one run
	Rounds     int           `json:"rounds"`
	BodyBytes  int           `json:"bodyBytes"`
	Queues     []description `json:"queues"`
	Workloads  []workload    `json:"workloads"`
	// Measured has a row for each workload and a member for each queue.
	Measured [][]measured `json:"measured"`
}

func newRecord(o options) *record {
	r := &record{At: time.Now().UTC(), LoadBefore: -1, Others: othersShare(), Seconds: o.duration.Seconds(), Rounds: o.rounds, BodyBytes: bodyBytes, Workloads: workloads()}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(text), " ")
		if load, err := strconv.ParseFloat(first, 64); err == nil {
			r.LoadBefore = load
		}
	}
	r.Measured = make([][]measured, len(r.Workloads))
	return r
}

func (r *record) add(workload, queue int, got result, err error) {
	row := &r.Measured[workload]
	for len(*row) < len(r.Queues) {
		*row = append(*row, measured{Runs: []result{}})
	}
	if err != nil {
		(*row)[queue].Problem, _, _ = strings.Cut(err.Error(), "\n")
		return
	}
	(*row)[queue].Runs = append((*row)[queue].Runs, got)
}

func (r *record) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the record: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the record: %w", err)
	}
	return nil
}

// sampleTime is how long the machine is watched before anything is started.
const sampleTime = 2 * time.Second

// othersShare is the processor time that others use, in percent of all CPUs.
func othersShare() float64 {
	idle, all := processorTicks()
	time.Sleep(sampleTime) // nothing announces how busy a machine is
	idleAfter, allAfter := processorTicks()
	if allAfter <= all {
		return -1
	}
	return 100 * (1 - float64(idleAfter-idle)/float64(allAfter-all))
}

// processorTicks is the idle and the whole processor time of the machine; zero
// where it cannot be read.
func processorTicks() (idle, all int64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseInt(field, 10, 64)
		if i == 0 || i > 8 || err != nil { // the guests' time is part of the users'
			continue
		}
		all += n
		if i == 4 || i == 5 { // idle, and idle while a disk worked
			idle += n
		}
	}
	return idle, all
}
