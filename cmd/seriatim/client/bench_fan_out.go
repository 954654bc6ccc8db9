package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

const fanOutQueuesMax = 100 // subscriptions of a topic

// fanOutRun is one run of bench fanout.
type fanOutRun struct {
	queues, clients, batch, size int
	duration                     time.Duration

	wire  *wire
	topic string
	urls  []string // of the queues
	next  []int    // number of the next message of each client, which has a group of its own

	repeated atomic.Int64 // publishes that were made again
}

// fanOutReport is what a run found, in JSON output.
type fanOutReport struct {
	Workload            string       `json:"workload"`
	Queues              int          `json:"queues"`
	Clients             int          `json:"clients"`
	Batch               int          `json:"batch"`
	BodyBytes           int          `json:"bodyBytes"`
	PublishSeconds      float64      `json:"publishSeconds"`
	Published           int          `json:"published"`
	PublishedPerSecond  float64      `json:"publishedPerSecond"`
	DeliveriesPerSecond float64      `json:"deliveriesPerSecond"` // stored while publishing
	Latency             benchLatency `json:"latency"`             // of a publish, with what had to be made again
	Repeated            int64        `json:"repeated"`            // publish calls that were made again
	DrainSeconds        float64      `json:"drainSeconds"`
	ReceivedPerSecond   float64      `json:"receivedPerSecond"` // received and deleted, of all queues
	Wrong               int          `json:"wrong"`             // lost, repeated or out of order
}

func benchFanOutCommand(o *options) *cobra.Command {
	r := &fanOutRun{}
	c := &cobra.Command{
		Use: "fanout", Short: "Publish to a topic with many subscribed queues, and check each of them", Args: arguments.None,
		Long: "Publish to a topic with many subscribed queues, and check each of them.\n\n" +
			"Makes a FIFO topic and FIFO queues, and deletes them at the end. Each client publishes in a group of its own. Then every\n" +
			"queue is emptied: it must hold each message once, in the order of its group. A publish whose outcome is not known is made\n" +
			"again under its deduplication id.",
		Example: "  seriatim bench fanout --queues 100 --size 10240\n  seriatim bench fanout --queues 5 --clients 32 --batch 10 -o json",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			if err := r.check(); err != nil {
				return exit.New(exit.Usage, err, "run '"+cmd.CommandPath()+" --help' for the flags")
			}
			r.wire, r.next = w, make([]int, r.clients)
			return r.execute(cmd.Context(), p)
		}),
	}
	fl := c.Flags()
	fl.IntVarP(&r.queues, "queues", "q", 10, "subscribed queues, 1 to 100")
	fl.IntVarP(&r.clients, "clients", "c", 16, "clients, each with one request at a time")
	fl.IntVarP(&r.batch, "batch", "b", 1, "messages in one publish, 1 to 10")
	fl.IntVarP(&r.size, "size", "s", 256, "bytes of a message")
	fl.DurationVar(&r.duration, "duration", 10*time.Second, "publish this long")
	return c
}

func (r *fanOutRun) check() error {
	switch {
	case r.queues < 1 || r.queues > fanOutQueuesMax:
		return fmt.Errorf("--queues %d: 1 to %d are possible", r.queues, fanOutQueuesMax)
	case r.clients < 1 || r.clients > benchClientsMax:
		return fmt.Errorf("--clients %d: 1 to %d are possible", r.clients, benchClientsMax)
	case r.batch < 1 || r.batch > batchMax:
		return fmt.Errorf("--batch %d: 1 to %d are possible", r.batch, batchMax)
	case r.size < 1 || r.size*r.batch > 256<<10:
		return fmt.Errorf("--size %d: all messages of a publish together have 1 byte to 256 KiB", r.size)
	case r.duration <= 0 || r.duration > benchDurationMax:
		return fmt.Errorf("--duration %v: more than zero and at most %v", r.duration, benchDurationMax)
	}
	return nil
}

func (r *fanOutRun) execute(ctx context.Context, p *printer) (err error) {
	defer func() { err = errors.Join(err, r.remove(context.WithoutCancel(ctx))) }() // also after an interruption
	if err := r.make(ctx); err != nil {
		return err
	}
	report := fanOutReport{Workload: "fanout", Queues: r.queues, Clients: r.clients, Batch: r.batch, BodyBytes: r.size}
	times, took, err := r.publish(ctx)
	if err != nil {
		return err
	}
	for _, n := range r.next {
		report.Published += n
	}
	report.Repeated = r.repeated.Load()
	report.PublishSeconds, report.Latency = took.Seconds(), latencyOf(times)
	report.PublishedPerSecond = float64(report.Published) / took.Seconds()
	report.DeliveriesPerSecond = report.PublishedPerSecond * float64(r.queues)
	started := time.Now()
	if report.Wrong, err = r.drain(ctx); err != nil {
		return err
	}
	report.DrainSeconds = time.Since(started).Seconds()
	report.ReceivedPerSecond = float64(report.Published*r.queues) / report.DrainSeconds
	if err := report.print(p); err != nil {
		return err
	}
	if report.Wrong > 0 {
		return exit.New(exit.Failed, errors.New(plural.Count(report.Wrong, "message is", "messages are")+" missing, came twice or out of order"), "")
	}
	return nil
}

func (f *fanOutReport) print(p *printer) error {
	return p.print(f, func() table {
		rate := func(n float64) string { return strconv.FormatFloat(n, 'f', 0, 64) + "/s" }
		t := table{}
		t.add("queues", strconv.Itoa(f.Queues))
		t.add("published", fmt.Sprintf("%d of %s in %.1f s: %s", f.Published, plural.Count(f.BodyBytes, "byte", "bytes"), f.PublishSeconds, rate(f.PublishedPerSecond)))
		t.add("delivered", rate(f.DeliveriesPerSecond))
		t.add("latency of a publish", fmt.Sprintf("p50 %.2f ms, p99 %.2f ms", f.Latency.P50/1000, f.Latency.P99/1000))
		t.add("publishes made again", decimal(f.Repeated))
		t.add("received and deleted", rate(f.ReceivedPerSecond))
		t.add("missing, twice or out of order", strconv.Itoa(f.Wrong))
		return t
	})
}

// make makes the topic and the queues.
func (r *fanOutRun) make(ctx context.Context) error {
	name := "bench-" + strings.ToLower(rand.Text()[:8])
	r.topic = name + ".fifo"
	if err := r.wire.onTopics(ctx, "CreateTopic", fifoTopic(r.topic), nil); err != nil {
		r.topic = ""
		return err
	}
	r.urls = make([]string, r.queues)
	return forEach(ctx, r.queues, func(ctx context.Context, i int) error {
		queue := fmt.Sprintf("%s-%d.fifo", name, i)
		var made struct {
			QueueURL string `json:"QueueUrl"`
		}
		attributes := map[string]string{"FifoQueue": "true", "VisibilityTimeout": "43200"}
		if err := r.wire.call(ctx, "CreateQueue", map[string]any{"QueueName": queue, "Attributes": attributes}, &made, 0); err != nil {
			return err
		}
		r.urls[i] = made.QueueURL
		endpoint, err := r.wire.endpointOf(ctx, r.topic, queue)
		if err != nil {
			return err
		}
		in := url.Values{"TopicArn": {topicARN(r.topic)}, "Protocol": {"sqs"}, "Endpoint": {endpoint}}
		entries(in, "Attributes.entry.", "key", "value", map[string]string{"RawMessageDelivery": "true"})
		return r.wire.onTopics(ctx, "Subscribe", in, nil)
	})
}

func fifoTopic(name string) url.Values {
	in := url.Values{"Name": {name}}
	entries(in, "Attributes.entry.", "key", "value", map[string]string{"FifoTopic": "true"})
	return in
}

// remove deletes what make made.
func (r *fanOutRun) remove(ctx context.Context) error {
	if r.topic == "" {
		return nil
	}
	err := r.wire.onTopics(ctx, "DeleteTopic", url.Values{"TopicArn": {topicARN(r.topic)}}, nil)
	failures := make([]error, len(r.urls)) // of which one says enough
	_ = forEach(ctx, len(r.urls), func(ctx context.Context, i int) error {
		if r.urls[i] != "" {
			failures[i] = r.wire.call(ctx, "DeleteQueue", map[string]string{"QueueUrl": r.urls[i]}, nil, 0)
		}
		return nil // it would keep the others
	})
	return errors.Join(err, cmp.Or(failures...))
}

// publish lets all clients publish until the time is over.
func (r *fanOutRun) publish(ctx context.Context) (*histogram, time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	started := time.Now()
	times := make([]histogram, r.clients)
	var working sync.WaitGroup
	for i := range r.clients {
		working.Go(func() {
			for time.Since(started) < r.duration && ctx.Err() == nil {
				begun := time.Now()
				if err := r.publishOnce(ctx, i); err != nil {
					cancel(err)
				}
				times[i].record(time.Since(begun))
			}
		})
	}
	working.Wait()
	for i := range times[1:] {
		times[0].add(&times[i+1])
	}
	return &times[0], time.Since(started), context.Cause(ctx)
}

// publishOnce publishes the next messages of a client, until it is answered.
func (r *fanOutRun) publishOnce(ctx context.Context, client int) error {
	in := url.Values{"TopicArn": {topicARN(r.topic)}}
	for i := range r.batch {
		body := fmt.Sprintf("%d %d ", client, r.next[client]+i)
		id := fmt.Sprintf("%d.%d", client, r.next[client]+i)
		if len(body) < r.size {
			body += strings.Repeat("x", r.size-len(body))
		}
		prefix := "PublishBatchRequestEntries.member." + strconv.Itoa(i+1) + "."
		in.Set(prefix+"Id", strconv.Itoa(i))
		in.Set(prefix+"Message", body)
		in.Set(prefix+"MessageGroupId", strconv.Itoa(client))
		in.Set(prefix+"MessageDeduplicationId", id)
	}
	end := time.Now().Add(r.wire.timeout)
	for {
		var out struct {
			Failed []struct{ Code, Message string }
		}
		_, err := r.wire.onTopicsWithID(ctx, "PublishBatch", true, in, &out)
		if err == nil && len(out.Failed) > 0 {
			return fmt.Errorf("publish: %s: %s", out.Failed[0].Code, out.Failed[0].Message)
		}
		if err == nil {
			r.next[client] += r.batch
			return nil
		}
		if exit.CodeOf(err) != exit.Unavailable || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		r.repeated.Add(1)
		benchRest(ctx, benchPause)
	}
}

// drain empties the queues and counts what is wrong in them.
func (r *fanOutRun) drain(ctx context.Context) (wrong int, err error) {
	counts := make([]int, r.queues)
	err = forEach(ctx, r.queues, func(ctx context.Context, i int) (err error) {
		counts[i], err = r.drainQueue(ctx, r.urls[i])
		return err
	})
	for _, n := range counts {
		wrong += n
	}
	return wrong, err
}

// drainQueue empties one queue. Numbers of a client come in order, without gaps.
func (r *fanOutRun) drainQueue(ctx context.Context, queueURL string) (wrong int, err error) {
	next := make([]int, r.clients)
	for attempt := 0; ; attempt++ {
		var out struct {
			Messages []struct{ Body, ReceiptHandle string }
		}
		in := map[string]any{"QueueUrl": queueURL, "MaxNumberOfMessages": batchMax, "ReceiveRequestAttemptId": strconv.Itoa(attempt), "WaitTimeSeconds": 0}
		if err := r.wire.call(ctx, "ReceiveMessage", in, &out, 0); err != nil {
			return wrong, err
		}
		if len(out.Messages) == 0 {
			break
		}
		var deletions []map[string]string
		for i, m := range out.Messages {
			var client, number int
			if n, err := fmt.Sscanf(m.Body, "%d %d", &client, &number); n != 2 || client >= r.clients {
				return wrong, fmt.Errorf("a message that this run did not publish: %q: %w", m.Body, err)
			}
			if number != next[client] {
				wrong++
			}
			next[client] = number + 1
			deletions = append(deletions, map[string]string{"Id": strconv.Itoa(i), "ReceiptHandle": m.ReceiptHandle})
		}
		if err := r.wire.call(ctx, "DeleteMessageBatch", map[string]any{"QueueUrl": queueURL, "Entries": deletions}, nil, 0); err != nil {
			return wrong, err
		}
	}
	for client, n := range next {
		if n != r.next[client] {
			wrong++
		}
	}
	return wrong, nil
}
