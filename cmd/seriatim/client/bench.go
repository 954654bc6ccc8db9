package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// Bounds of the load, so that a slip of the finger does not fill a disk.
const (
	benchClientsMax  = 20_000
	benchCountMax    = 1_000_000_000
	benchDurationMax = 24 * time.Hour
	benchGroupsMax   = 10_000_000
)

// benchFlags are the flags of all workloads.
type benchFlags struct {
	clients  int
	batch    int
	size     int
	groups   int
	count    int64
	rate     float64 // messages a second of all clients; 0: as many as are answered
	duration time.Duration
	warmup   time.Duration
	queue    string
	keep     bool
	existing bool
	set      []string // attributes of the queue to make, name=value
	protocol string   // empty: overHTTP, of workloads that know no other
	// connections are shared by the clients if they are fewer; 0: each client has its own.
	connections int
}

// Protocols of a load.
const (
	overHTTP   = "http"   // one call at a time, SQS JSON over HTTP/1.1
	overGRPC   = "grpc"   // one call at a time over the native API
	overStream = "stream" // streams of the native API
)

// workload is one kind of load.
type workload interface {
	// work is the loop of one client, until the run or ctx is over.
	work(ctx context.Context, c *benchClient)
	// finish checks the whole after all clients have returned.
	finish(ctx context.Context, r *benchRun, report *benchReport) error
}

// filler is a workload that puts something into the queue before it is measured.
type filler interface {
	fill(ctx context.Context, r *benchRun) error
}

// benchRun is what the clients of one run share.
type benchRun struct {
	flags    benchFlags
	id       string // makes deduplication ids differ between runs
	targets  []string
	tls      *tls.Config // of connections to them; nil: clear text
	timeout  time.Duration
	wire     *wire
	queue    string // its name
	queueURL string
	prefix   []byte // how every request body about the queue begins
	filler   []byte // what bodies are filled up with
	clients  []*benchClient
	shared   []*benchConn // connections of gRPC; none: each client has its own
	warmEnd  time.Time
	deadline time.Time
	left     atomic.Int64 // messages still to begin, if counted
	started  time.Time
	interval time.Duration // of the progress line; 0: none
}

// over reports whether a client is to begin no more, and takes n messages from
// what is left otherwise.
func (r *benchRun) over(now time.Time, n int) bool {
	if !now.Before(r.deadline) {
		return true
	}
	return r.flags.count > 0 && !now.Before(r.warmEnd) && r.left.Add(int64(-n)) < 0
}

func benchCommand(o *options) *cobra.Command {
	return group("bench", "Put load on a cluster and measure it",
		"Put load on a cluster and measure it.\n\n"+
			"Every workload makes a FIFO queue of its own and deletes it at the end. Clients are spread over all endpoints:\n"+
			"--endpoint takes a list with commas. Answers are checked, failures are counted by code. What is not told to\n"+
			"repeat is not repeated. The protocol is SQS JSON over HTTP/1.1, one connection for each client, unless\n"+
			"--protocol says that it is the native API, whose clients may share --connections.",
		benchSendCommand(o), benchFIFOCommand(o), benchConsumeCommand(o), benchDedupCommand(o), benchPollCommand(o), benchFanOutCommand(o))
}

// bind adds the flags that all workloads have.
func (f *benchFlags) bind(c *cobra.Command, clients int) {
	fl := c.Flags()
	fl.IntVarP(&f.clients, "clients", "c", clients, "clients, each with one request at a time")
	fl.IntVarP(&f.size, "size", "s", 256, "bytes of a message body")
	fl.Int64VarP(&f.count, "count", "n", 0, "end after so many messages, the warm-up not counted; 0: at the end of --duration")
	fl.DurationVar(&f.duration, "duration", 10*time.Second, "end after this long, the warm-up not counted; with --count a limit, then 10m unless given")
	fl.DurationVar(&f.warmup, "warmup", time.Second, "run this long before measuring")
	fl.StringVar(&f.queue, "queue", "", "name of the FIFO queue to make, which must not exist (default: bench-<random>.fifo)")
	fl.BoolVar(&f.keep, "keep", false, "do not delete the queue at the end")
	fl.BoolVar(&f.existing, "existing", false, "use the queue as it is, with what is in it, and do not delete it")
	fl.StringArrayVar(&f.set, "set", nil, "attribute of the queue to make, as name=value; may be repeated")
}

// The sizes of a batch, as the help of --batch says them.
const (
	batchSizes       = "1 to 10"
	streamBatchSizes = "1 to 10, on a stream to 100"
)

func (f *benchFlags) bindBatch(c *cobra.Command, sizes string) {
	c.Flags().IntVarP(&f.batch, "batch", "b", 1, "messages in one call, "+sizes+"; 1 uses the actions without batch")
	c.Flags().IntVarP(&f.groups, "groups", "g", 0, "message groups (default: one for each client)")
}

// bindProtocol adds the flag that chooses one of these protocols.
func (f *benchFlags) bindProtocol(c *cobra.Command, protocols ...string) {
	c.Flags().StringVar(&f.protocol, "protocol", overHTTP, "one of "+strings.Join(protocols, ", "))
	complete(c, "protocol", protocols...)
	c.Annotations = map[string]string{"protocols": strings.Join(protocols, " ")}
}

// streamBatchMax is how many messages a request of a stream has at most.
const streamBatchMax = 100

func (f *benchFlags) batchMax() int {
	if f.protocol == overStream {
		return streamBatchMax
	}
	return batchMax
}

func (f *benchFlags) check(cmd *cobra.Command) error {
	f.groups = cmp.Or(f.groups, f.clients)
	if f.count > 0 && !cmd.Flags().Changed("duration") {
		f.duration = 10 * time.Minute
	}
	var err error
	switch {
	case f.clients < 1 || f.clients > benchClientsMax:
		err = fmt.Errorf("--clients %d: 1 to %d are possible", f.clients, benchClientsMax)
	case f.batch < 1 || f.batch > f.batchMax():
		err = fmt.Errorf("--batch %d: 1 to %d are possible", f.batch, f.batchMax())
	case f.size < 1 || f.size*f.batch > bodyBytesMax:
		err = fmt.Errorf("--size %d: all bodies of a call together have 1 byte to 1 MiB", f.size)
	case f.count < 0 || f.count > benchCountMax:
		err = fmt.Errorf("--count %d: 1 to %d are possible", f.count, benchCountMax)
	case f.duration <= 0 || f.duration > benchDurationMax:
		err = fmt.Errorf("--duration %v: more than zero and at most %v", f.duration, benchDurationMax)
	case f.warmup < 0 || f.warmup > benchDurationMax:
		err = fmt.Errorf("--warmup %v: zero to %v", f.warmup, benchDurationMax)
	case f.rate < 0:
		err = fmt.Errorf("--rate %g: it cannot be below zero", f.rate)
	case f.groups < 1 || f.groups > benchGroupsMax:
		err = fmt.Errorf("--groups %d: 1 to %d are possible", f.groups, benchGroupsMax)
	case f.queue != "" && !strings.HasSuffix(f.queue, ".fifo"):
		err = fmt.Errorf("--queue %s: the name of a FIFO queue ends in .fifo", f.queue)
	case f.protocol != "" && !slices.Contains(strings.Fields(cmd.Annotations["protocols"]), f.protocol):
		err = fmt.Errorf("--protocol %s: it is one of %s", f.protocol, cmd.Annotations["protocols"])
	case f.connections < 0 || f.connections > f.clients:
		err = fmt.Errorf("--connections %d: 1 to %d are possible, as many as there are clients", f.connections, f.clients)
	case f.connections > 0 && f.protocol != overGRPC:
		err = errors.New("--connections: clients share connections with --protocol grpc only")
	case f.existing && (f.queue == "" || len(f.set) > 0):
		err = errors.New("--existing needs --queue, and a queue that exists keeps its attributes")
	}
	for _, pair := range f.set {
		if name, _, ok := strings.Cut(pair, "="); err == nil && (!ok || name == "") {
			err = fmt.Errorf("--set %s: an attribute is written name=value", pair)
		}
	}
	if err != nil {
		return exit.New(exit.Usage, err, "run '"+cmd.CommandPath()+" --help' for the flags")
	}
	return nil
}

// bench adapts a workload to a command.
func (o *options) bench(f *benchFlags, workloadOf func(*benchRun) workload) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if err := f.check(cmd); err != nil {
			return err
		}
		w, p, err := o.open(cmd)
		if err != nil {
			return err
		}
		r := &benchRun{flags: *f, id: rand.Text()[:10], timeout: o.timeout, wire: w}
		for _, e := range w.client.addresses {
			u, err := url.Parse(e)
			if err != nil {
				return err
			}
			if u.Port() == "" || u.Scheme == "https" && f.protocol != "" && f.protocol != overHTTP {
				return exit.New(exit.Usage, fmt.Errorf("--endpoint %s: bench wants a host and port, and uses TLS with HTTP only", e), "write it like "+defaultEndpoint)
			}
			if r.tls, err = r.trust(u, o.caFile); err != nil {
				return err
			}
			r.targets = append(r.targets, u.Host)
		}
		if file, ok := cmd.ErrOrStderr().(*os.File); ok && p.format == formatTable {
			if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
				r.interval = 500 * time.Millisecond
			}
		}
		report, err := r.execute(cmd.Context(), cmd.Name(), workloadOf, p)
		if report != nil {
			if failed := report.print(p); failed != nil {
				return exit.Wrap(failed)
			}
		}
		return exit.Wrap(err)
	}
}

// execute makes the queue, runs the load, checks and deletes the queue.
func (r *benchRun) execute(ctx context.Context, name string, workloadOf func(*benchRun) workload, p *printer) (report *benchReport, err error) {
	prepare := r.createQueue
	if r.flags.existing {
		prepare = r.findQueue
	}
	if err := prepare(ctx); err != nil {
		return nil, err
	}
	if !r.flags.keep && !r.flags.existing {
		defer func() {
			// The queue is to go also when the run was interrupted.
			clean := context.WithoutCancel(ctx)
			err = errors.Join(err, r.wire.call(clean, "DeleteQueue", map[string]string{"QueueUrl": r.queueURL}, nil, 0))
		}()
	}
	r.filler = fillerText(r.flags.size)
	load := workloadOf(r)
	r.share(ctx)
	for i := range r.flags.clients {
		r.clients = append(r.clients, newBenchClient(r, i))
	}
	if f, ok := load.(filler); ok {
		if err := f.fill(ctx, r); err != nil && ctx.Err() == nil { // of one that was interrupted nobody works below
			return nil, err
		}
	}
	r.left.Store(r.flags.count)
	r.started = time.Now()
	r.warmEnd = r.started.Add(r.flags.warmup)
	r.deadline = r.warmEnd.Add(r.flags.duration)
	var working, watching sync.WaitGroup
	finished := newSignal()
	watching.Go(func() { r.showProgress(p, finished) })
	for _, c := range r.clients {
		working.Go(func() {
			defer c.close()
			load.work(ctx, c)
		})
	}
	working.Wait()
	close(finished)
	watching.Wait()
	if ctx.Err() != nil {
		return nil, exit.Interruption("")
	}
	report = r.report(ctx, name)
	if err := load.finish(ctx, r, report); err != nil {
		return report, err
	}
	return report, report.verdict()
}

func newSignal() chan struct{} { return make(chan struct{}) } // closed, never sent on

// createQueue makes the queue of the run. One that exists is refused: deleting
// it at the end would take somebody's messages with it.
func (r *benchRun) createQueue(ctx context.Context) error {
	name := r.flags.queue
	if name == "" {
		var random [4]byte
		if _, err := rand.Read(random[:]); err != nil {
			return fmt.Errorf("a random queue name: %w", err)
		}
		name = "bench-" + hex.EncodeToString(random[:]) + ".fifo"
	}
	err := r.wire.call(ctx, "GetQueueUrl", map[string]string{"QueueName": name}, nil, 0)
	if err == nil {
		return exit.New(exit.Conflict, fmt.Errorf("the queue %s exists", name), "bench makes a queue of its own: choose another --queue")
	}
	if exit.CodeOf(err) != exit.NotFound {
		return err
	}
	var made struct {
		QueueURL string `json:"QueueUrl"`
	}
	attributes := map[string]string{"FifoQueue": "true"}
	for _, pair := range r.flags.set {
		key, value, _ := strings.Cut(pair, "=")
		attributes[key] = value
	}
	in := map[string]any{"QueueName": name, "Attributes": attributes}
	if err := r.wire.call(ctx, "CreateQueue", in, &made, 0); err != nil {
		return err
	}
	return r.use(name, made.QueueURL)
}

// findQueue looks up the queue of a run that makes none.
func (r *benchRun) findQueue(ctx context.Context) error {
	var found struct {
		QueueURL string `json:"QueueUrl"`
	}
	if err := r.wire.call(ctx, "GetQueueUrl", map[string]string{"QueueName": r.flags.queue}, &found, 0); err != nil {
		return err
	}
	return r.use(r.flags.queue, found.QueueURL)
}

// use makes a queue the one of the run.
func (r *benchRun) use(name, queueURL string) error {
	quoted, err := json.Marshal(queueURL)
	if err != nil {
		return fmt.Errorf("encode the queue URL: %w", err)
	}
	r.queue, r.queueURL = name, queueURL
	r.prefix = append(append([]byte(`{"QueueUrl":`), quoted...), ',')
	return nil
}

// fillerText is printable text without anything JSON would escape.
func fillerText(n int) []byte {
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
	text := make([]byte, n)
	for i := range text {
		text[i] = alphabet[(i*7+i/64)%len(alphabet)]
	}
	return text
}

// fill makes a body of the wanted size that begins with head.
func (r *benchRun) fill(head []byte) []byte {
	if len(head) >= r.flags.size {
		return head
	}
	return append(head, r.filler[len(head):]...)
}
