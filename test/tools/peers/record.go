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
	// Streamed has as many messages unanswered as a client takes.
	Streamed bool `json:"streamed"`
	// Shared has the clients of seriatim share connections, as those of NATS do in every line.
	Shared bool `json:"shared"`
	// At is the server that clients connect to: leader or follower; empty: each in turn.
	At place `json:"at"`
	// Own is measured on seriatim only, for comparison in the same column.
	Own bool `json:"own"`
	// Links is compared over AMQP, too, where each client is a link. Its connections are few.
	Links bool `json:"links,omitempty"`
	// Ours are the arguments of seriatim bench.
	Ours []string `json:"ours"`
	// Costs says why the generators of seriatim and NATS cost about the same, or which costs more.
	Costs string `json:"costs"`
}

// place is a server that clients are connected to.
type place string

const (
	leader   place = "leader"
	follower place = "follower"
)

// The reasons why generators cost about the same. The record has the measured costs beside them.
const (
	httpCosts = "One call and one answer for each: a request of net/http with a JSON body here, a message with " +
		"headers and a reply subject there. " +
		"seriatim bench has a connection for each client and writes each request by itself; the clients of NATS " +
		"share four, and write together."
	batchCosts = "Ten messages: one request with one JSON body and one answer here, ten messages with headers and one answer there."
	grpcCosts  = "Both clients are the public Go library of their queue, share four connections and write " +
		"together what several callers have. A call of gRPC has headers and two frames."
	asyncCosts = "Both clients are the public Go library of their queue and send without awaiting answers: a " +
		"Sender over one stream here, PublishAsync there."
	linkCosts = "The generators differ: seriatim bench for HTTP and gRPC, Azure's library go-amqp for AMQP. " +
		"Clients of HTTP have a connection each, the others share four. Compare the time of the servers, too."
	lifeCosts = "Three calls and answers here: send, receive, delete. There a publish, a pull request for one " +
		"message that is sent ahead, and an acknowledgement that is confirmed."
)

// asynchronous is the workload for streams.
var asynchronous = workload{
	Costs: asyncCosts,
	Name:  "4 connections, asynchronous", Clients: 4, Batch: 1, Streamed: true,
	Ours: []string{"send", "--clients", "4", "--protocol", "stream"},
}

// sends and lives are lines of both comparisons.
func sends(name string, clients, batch int) workload {
	args := []string{"send", "--clients", strconv.Itoa(clients)}
	if batch > 1 {
		args = append(args, "--batch", strconv.Itoa(batch))
	}
	w := workload{Name: name, Clients: clients, Batch: batch, Ours: args, Costs: httpCosts}
	if batch > 1 {
		w.Costs = batchCosts
	}
	return w
}

// at returns a workload whose clients all connect to one server. Otherwise chance decides which
// server a lone client gets.
func at(where place, w workload) workload {
	w.Name += ", at the " + string(where)
	if where == follower {
		w.Name = strings.Replace(w.Name, "the follower", "a follower", 1)
	}
	w.At = where
	return w
}

// shared is a workload whose clients share connections, with one unary call of gRPC under way
// each.
func shared(w workload) workload {
	w.Name += fmt.Sprintf(", sharing %d connections", natsConnections)
	w.Shared, w.Costs = true, grpcCosts
	w.Ours = append(w.Ours, "--protocol", "grpc", "--connections", strconv.Itoa(natsConnections))
	return w
}

var lives = workload{Name: "64 clients, send, receive, delete", Clients: 64, Batch: 1, Lives: true,
	Ours: []string{"fifo", "--clients", "64"}, Costs: lifeCosts}

func workloads() []workload {
	return []workload{
		sends("1 client", 1, 1), at(leader, sends("1 client", 1, 1)), at(follower, sends("1 client", 1, 1)),
		sends("16 clients", 16, 1), sends("64 clients", 64, 1), sends("256 clients", 256, 1),
		sends("64 clients, ten at a time", 64, 10), asynchronous, lives,
		shared(sends("16 clients", 16, 1)), shared(sends("64 clients", 64, 1)), shared(sends("256 clients", 256, 1)),
		shared(sends("64 clients, ten at a time", 64, 10)), shared(lives),
	}
}

// streamWorkloads set the native API beside calls over HTTP, and its streams beside what is
// asynchronous elsewhere.
func streamWorkloads() []workload {
	own := func(name string, lives bool, args ...string) workload {
		return workload{Name: name, Own: true, Lives: lives, Ours: args}
	}
	return []workload{
		sends("1 client", 1, 1),
		own("1 client, unary calls of gRPC", false, "send", "--clients", "1", "--protocol", "grpc"),
		sends("16 clients", 16, 1),
		own("16 clients, unary calls of gRPC", false, "send", "--clients", "16", "--protocol", "grpc"),
		sends("64 clients", 64, 1),
		own("64 clients, unary calls of gRPC", false, "send", "--clients", "64", "--protocol", "grpc"),
		sends("64 clients, ten at a time", 64, 10),
		asynchronous,
		lives,
		own("64 clients, receive, delete, ten at a time", true, "consume", "--count", "400000", "--clients", "64", "--batch", "10"),
		own("4 streams, receive, delete", true, "consume", "--count", "400000", "--clients", "4", "--groups", "64", "--protocol", "stream"),
	}
}

// plain reports whether a server that speaks one protocol takes the workload.
func (w workload) plain() bool { return !w.Streamed && !w.Own && !w.Shared && w.At == "" && !w.Links }

// linkWorkloads are those of links of AMQP, beside the same over other protocols.
func linkWorkloads() (list []workload) {
	for _, n := range []int{1, 16, 64} {
		one := sends(fmt.Sprint(n, " links"), n, 1)
		both := workload{Name: fmt.Sprint(n, " links, send, receive, complete"), Clients: n, Batch: 1, Lives: true,
			Ours: []string{"fifo", "--clients", strconv.Itoa(n)}}
		for _, w := range []workload{one, both} {
			if n == 1 {
				w.Name = strings.Replace(w.Name, "links", "link", 1)
				w = at(leader, w)
			}
			w.Links, w.Costs = true, linkCosts
			list = append(list, w)
		}
	}
	return list
}

// result is the result of one run.
type result struct {
	Rate  float64 `json:"rate"` // messages per second
	P50Ms float64 `json:"p50Ms"`
	P99Ms float64 `json:"p99Ms"`
	// GeneratorUs is the processor time of the generator for a message, in microseconds.
	GeneratorUs float64 `json:"generatorUs"`
	// ServerUs is the processor time of the servers for a message, in microseconds, nodes added up.
	ServerUs float64 `json:"serverUs"`
}

func (r result) String() string {
	return fmt.Sprintf("%8.0f/s  p50 %.2f ms  p99 %.2f ms  %.0f us of servers", r.Rate, r.P50Ms, r.P99Ms, r.ServerUs)
}

// description describes a queue and its guarantee at the time of an answer.
type description struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Protocol string `json:"protocol"`
	// Durable is the guarantee for a confirmed message.
	Durable string `json:"durable"`
	Command string `json:"command"` // how its servers were started
	Problem string `json:"problem"` // why it did not take part; empty: it did
}

// measured are the runs of one workload on one queue.
type measured struct {
	Runs    []result `json:"runs"`
	Problem string   `json:"problem,omitempty"` // of the last run that failed
}

// record is the written document. The first queue is seriatim.
type record struct {
	At        time.Time     `json:"at"`
	Seconds   float64       `json:"seconds"` // of one run
	Rounds    int           `json:"rounds"`
	BodyBytes int           `json:"bodyBytes"`
	Streams   bool          `json:"streams"` // the workloads are those of the native API
	DiskMs    float64       `json:"diskMs"`  // what a sync takes on a disk of its own; 0: all share one
	Queues    []description `json:"queues"`
	Workloads []workload    `json:"workloads"`
	// Measured has a row for each workload and a member for each queue.
	Measured [][]measured `json:"measured"`
}

func newRecord(o options) *record {
	r := &record{At: time.Now().UTC(), Seconds: o.duration.Seconds(), Rounds: o.rounds,
		BodyBytes: bodyBytes, Streams: o.streams, DiskMs: o.disk.Seconds() * 1e3, Workloads: workloads()}
	switch {
	case o.streams:
		r.Workloads = streamWorkloads()
	case o.links:
		r.Workloads = linkWorkloads()
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
