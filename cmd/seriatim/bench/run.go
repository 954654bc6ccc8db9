package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/grpc/client"
)

const (
	// failurePause is the pause of a client after a failed call.
	failurePause = 20 * time.Millisecond
	// finishTime bounds the receives after the end of a run. It is longer than the visibility
	// timeout of the queue, after which a message with a lost delivery comes again.
	finishTime = 45 * time.Second
)

// job is a running workload.
type job interface {
	// fill prepares the queue.
	fill(ctx context.Context) error
	// work is the loop of one client.
	work(ctx context.Context, c *worker)
	// finish adds the checks to the report.
	finish(ctx context.Context, report *Report) error
}

// run is the state that the workers of a run share.
type run struct {
	Load
	target   Target
	id       string // part of all deduplication ids
	filler   string
	admin    *sqsCaller
	shared   []*client.Client
	workers  []*worker
	started  time.Time
	warmEnd  time.Time
	deadline time.Time
	left     atomic.Int64 // remaining messages of --count
}

// Run creates the queue, runs the load, checks the answers and deletes the queue. It returns the
// report also with the error for a broken guarantee.
func Run(ctx context.Context, target Target, load Load) (report *Report, err error) {
	r := &run{Load: load, target: target, id: rand.Text()[:10], filler: filler(load.Size)}
	r.admin = newSQSCaller(target, 0)
	defer func() { r.admin.close() }()
	if err := r.prepareQueue(ctx); err != nil {
		return nil, err
	}
	if !r.Keep && !r.Existing {
		defer func() {
			// An interrupted run deletes its queue, too. The interruption closed the connection.
			r.admin.close()
			err = errors.Join(err,
				explain(r.admin.call(context.WithoutCancel(ctx), "DeleteQueue", map[string]string{"QueueUrl": r.admin.queueURL}, nil, 0)))
		}()
	}
	defer func() {
		for _, c := range r.shared {
			_ = c.Close() // no call uses it any more
		}
	}()
	j := r.Workload.start(r)
	if err := j.fill(ctx); err != nil && ctx.Err() == nil {
		return nil, err
	}
	for i := range r.Clients {
		w, err := r.newWorker(i, r.Clients)
		if err != nil {
			return nil, err
		}
		r.workers = append(r.workers, w)
	}
	r.left.Store(r.Count)
	r.started = time.Now()
	r.warmEnd = r.started.Add(r.Warmup)
	r.deadline = r.warmEnd.Add(r.Duration)
	before := processorTime()
	var working sync.WaitGroup
	for _, w := range r.workers {
		working.Go(func() {
			defer w.close()
			j.work(ctx, w)
		})
	}
	working.Wait()
	used := processorTime() - before
	if ctx.Err() != nil {
		return nil, exit.Interruption("")
	}
	report = r.report(ctx, used)
	if err := j.finish(ctx, report); err != nil {
		return report, err
	}
	return report, report.verdict()
}

// prepareQueue creates the queue of the run. It refuses an existing queue without --existing,
// because the run deletes its queue at the end.
func (r *run) prepareQueue(ctx context.Context) error {
	if r.Queue == "" {
		r.Queue = "bench-" + strings.ToLower(rand.Text()[:8]) + ".fifo"
	}
	var found struct{ QueueUrl string } //nolint:revive,staticcheck // as in the protocol
	err := r.admin.call(ctx, "GetQueueUrl", map[string]string{"QueueName": r.Queue}, &found, 0)
	missing := codeOf(err) == "QueueDoesNotExist"
	switch {
	case err == nil && !r.Existing:
		return exit.New(exit.Conflict, fmt.Errorf("the queue %s exists", r.Queue), "bench makes its own queue: choose another --queue")
	case missing && !r.Existing:
		attributes := map[string]string{"FifoQueue": "true"}
		for name, value := range r.Attributes {
			attributes[name] = value
		}
		err = r.admin.call(ctx, "CreateQueue", map[string]any{"QueueName": r.Queue, "Attributes": attributes}, &found, 0)
	}
	r.admin.queueURL = found.QueueUrl
	return explain(err)
}

// held returns the number of messages in the queue, in any state.
func (r *run) held(ctx context.Context) (sum int64, err error) {
	var out struct{ Attributes map[string]string }
	names := []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"}
	if err := r.admin.call(ctx, "GetQueueAttributes", map[string]any{"QueueUrl": r.admin.queueURL, "AttributeNames": names}, &out,
		0); err != nil {
		return 0, explain(err)
	}
	for _, name := range names {
		n, err := strconv.ParseInt(out.Attributes[name], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s of the queue: %w", name, err)
		}
		sum += n
	}
	return sum, nil
}

// over reports whether a worker must stop. If not, it subtracts n messages from --count.
func (r *run) over(now time.Time, n int) bool {
	if !now.Before(r.deadline) {
		return true
	}
	return r.Count > 0 && !now.Before(r.warmEnd) && r.left.Add(int64(-n)) < 0
}

// filler returns printable text that JSON does not escape.
func filler(n int) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
	text := make([]byte, n)
	for i := range text {
		text[i] = alphabet[(i*7+i/64)%len(alphabet)]
	}
	return string(text)
}

// worker is one client of the load. One goroutine uses it, except for its counters.
type worker struct {
	caller
	run     *run
	number  int
	senders int64 // workers that share the groups
	calls   int64

	mu      sync.Mutex
	latency map[string]*histogram
	errors  map[string]int64
	done    int64     // messages
	last    time.Time // end of the last counted call
}

func (r *run) newWorker(number, senders int) (*worker, error) {
	w := &worker{run: r, number: number, senders: int64(senders), latency: map[string]*histogram{}, errors: map[string]int64{}}
	var err error
	w.caller, err = r.newCaller(number)
	return w, err
}

// measured records a duration and adds messages. It ignores work that began in the warm-up.
func (w *worker) measured(kind string, began, ended time.Time, messages int) {
	if began.Before(w.run.warmEnd) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.latency[kind] == nil {
		w.latency[kind] = &histogram{}
	}
	w.latency[kind].record(ended.Sub(began))
	w.last = ended
	w.done += int64(messages)
}

// count counts a message of a stream, which is no call and has no latency.
func (w *worker) count(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	w.done++
	w.last = now
}

// failed counts a failure, also in the warm-up.
func (w *worker) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errors[codeOf(err)]++
}

// insist repeats a call until it succeeds, fails for good, or ctx ends. Repeating the call must be
// safe: a send with a deduplication id, or a deletion.
func (w *worker) insist(ctx context.Context, call func() error) error {
	for {
		w.calls++
		err := call()
		if err == nil || ctx.Err() != nil {
			return err
		}
		w.failed(err)
		if isFinal(err) {
			return err
		}
		pause(ctx, failurePause)
	}
}

// groupOf returns the group of a worker's n-th message. A worker uses the groups with its number
// modulo the number of senders in turn. If there are fewer groups than senders, workers share them.
func (w *worker) groupOf(n int64) int64 {
	groups, number := int64(w.run.Groups), int64(w.number)
	if groups <= w.senders {
		return number % groups
	}
	own := (groups - number + w.senders - 1) / w.senders
	return number + n%own*w.senders
}

// compose makes the n-th message of a worker. The body carries the group, n and the time.
func (w *worker) compose(group, n int64, began time.Time) message {
	b := make([]byte, 0, 64)
	b = append(strconv.AppendInt(b, group, 10), ' ')
	b = append(strconv.AppendInt(b, n, 10), ' ')
	b = append(strconv.AppendInt(b, int64(began.Sub(w.run.started)), 10), ' ')
	body := string(b)
	if len(body) < w.run.Size {
		body += w.run.filler[len(body):]
	}
	id := w.run.id + "-" + strconv.Itoa(w.number) + "-" + strconv.FormatInt(group, 10) + "-" + strconv.FormatInt(n, 10)
	return message{Body: body, Group: "g" + strconv.FormatInt(group, 10), ID: id}
}

// awaitTurn waits until the n-th message of a worker is due, if the load has a rate. It returns the
// start of the latency: the due time, even if a slow call delays the message.
func (w *worker) awaitTurn(ctx context.Context, n int64) time.Time {
	r, now := w.run, time.Now()
	if r.Rate == 0 {
		return now
	}
	due := w.due(n)
	if wait := min(due.Sub(now), r.deadline.Sub(now)); wait > 0 {
		pause(ctx, wait)
		return time.Now()
	}
	if due.Before(r.warmEnd) && now.After(r.warmEnd) {
		return r.warmEnd
	}
	return due
}

// due returns the time for a worker's n-th message. The calls of all workers have equal distances.
func (w *worker) due(n int64) time.Time {
	before := float64(n*int64(w.run.Clients) + int64(w.number*w.run.Batch))
	return w.run.started.Add(time.Duration(math.Round(before / w.run.Rate * float64(time.Second))))
}

// pause waits, at most until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
