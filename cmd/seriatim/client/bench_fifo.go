package client

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

func benchFIFOCommand(o *options) *cobra.Command {
	f := &benchFlags{}
	c := &cobra.Command{
		Use: "fifo", Short: "Send, receive and delete, and check order, loss and duplicates",
		Long: "Send, receive and delete, and check order, loss and duplicates.\n\n" +
			"Each client sends a batch, then receives and deletes as many messages as it sent, of whichever group the server\n" +
			"hands out; each step is a call of its own. A group has one sender, so its order is known, and is checked across\n" +
			"all clients. Sends and deletes that fail are repeated until they succeed, as a careful program would. A life is\n" +
			"counted when its message's deletion is confirmed, and timed from the start of the first attempt to send it.\n\n" +
			"Redelivered counts messages that came again before their deletion was confirmed: those whose receive was not\n" +
			"answered. SQS promises no more; a message that comes again after that is a broken guarantee.\n\n" +
			"With --protocol stream each client has a stream that sends and one that receives and deletes, up to 500 messages\n" +
			"under way for each client, and a stream that breaks is not opened again.",
		Example: "  seriatim bench fifo --clients 64\n  seriatim bench fifo --clients 64 --batch 10 --duration 30s -o json",
		Args:    arguments.None,
	}
	c.PreRunE = func(*cobra.Command, []string) error { return f.oneSender() }
	c.RunE = o.bench(f, func(r *benchRun) workload {
		if f.protocol == overStream {
			return newConsumeLoad(r, false)
		}
		return newFIFOLoad(r)
	})
	f.bind(c, 64)
	f.bindBatch(c, streamBatchSizes)
	f.bindProtocol(c, overHTTP, overGRPC, overStream)
	f.bindConnections(c)
	return c
}

// oneSender refuses groups that clients would share.
func (f *benchFlags) oneSender() error {
	if f.groups != 0 && f.groups < f.clients {
		return exit.New(exit.Usage, fmt.Errorf("--groups %d: %s as many, as a group has one sender", f.groups, plural.Count(f.clients, "client needs", "clients need")), "raise --groups or lower --clients")
	}
	return nil
}

// finishTime is how long clients may go on after the end, to receive what they
// sent: longer than the visibility timeout of the queue, as a message whose
// receive was not answered comes back only then.
const finishTime = 45 * time.Second

// fifoWait is the long poll of a client that waits for messages it knows to
// be there, in seconds.
const fifoWait = 1

// fifoGroup is what is known of a group. Numbers begin at 1 within a group.
type fifoGroup struct {
	mu       sync.Mutex
	sent     int64 // by its one sender
	received int64 // highest received
	// open are those received whose deletion is not confirmed: few, since
	// one delivery blocks its group. Confirmations of two clients may arrive
	// here in another order than the server gave them, so a highest number
	// would not do.
	open []int64
}

// fifoLoad sends, receives and deletes.
type fifoLoad struct {
	groups []fifoGroup
	// deliveryBegins counts lives from their delivery, not from their send.
	deliveryBegins bool
	// breaks says that the work of a stream that breaks is not repeated, so that what became
	// of it is not known.
	breaks bool

	sent        atomic.Int64 // messages confirmed or being sent
	deleted     atomic.Int64 // messages of confirmed deletion
	skipped     atomic.Int64
	resurrected atomic.Int64
	redelivered atomic.Int64
	foreign     atomic.Int64
	empty       atomic.Int64
	// stranded are messages that clients had sent and could not receive or delete, because
	// their node did not answer until the end.
	stranded atomic.Int64
}

func newFIFOLoad(r *benchRun) workload {
	return &fifoLoad{groups: make([]fifoGroup, r.flags.groups)}
}

// fifoLife is a message received and not yet deleted.
type fifoLife struct {
	group, number int64
	began         time.Time
}

func (f *fifoLoad) work(ctx context.Context, c *benchClient) {
	r := c.run
	ctx, cancel := context.WithDeadline(ctx, r.deadline.Add(finishTime))
	defer cancel()
	lives := make([]fifoLife, 0, r.flags.batch)
	turn := int64(0)
	for ctx.Err() == nil {
		began := time.Now()
		if r.over(began, r.flags.batch) {
			return
		}
		for i := range c.entries {
			f.compose(c, &c.entries[i], turn, began)
			turn++
		}
		// Counted before it is sent: others must not take what it makes
		// for the last of all.
		f.sent.Add(int64(len(c.entries)))
		if err := c.insist(ctx, func() error {
			at := time.Now()
			_, err := c.send(ctx, len(c.entries))
			if err == nil {
				c.measured(benchSend, at, time.Now(), 0)
			}
			return err
		}); err != nil {
			f.sent.Add(int64(-len(c.entries)))
			return
		}
		if !f.takeAll(ctx, c, &lives) {
			return
		}
	}
}

// takeAll takes as many messages as a client has sent, and reports whether it could.
func (f *fifoLoad) takeAll(ctx context.Context, c *benchClient, lives *[]fifoLife) bool {
	c.cut = false
	for owed := len(c.entries); owed > 0; {
		taken, err := f.take(ctx, c, owed, lives)
		if owed -= taken; owed > 0 && ctx.Err() != nil && c.cut || err != nil {
			f.stranded.Add(int64(owed))
			return false
		}
		if ctx.Err() != nil {
			return false
		}
	}
	return true
}

// compose makes the next message of the group whose turn it is.
func (f *fifoLoad) compose(c *benchClient, e *benchEntry, turn int64, began time.Time) {
	group := c.groupOf(turn)
	g := &f.groups[group]
	g.mu.Lock()
	g.sent++
	number := g.sent
	g.mu.Unlock()
	c.compose(e, group, number, began)
	// The number counts within the group, so the id needs the group, too.
	e.deduplication = strconv.AppendInt(append(e.deduplication, '-'), group, 10)
}

// take receives up to n messages and deletes them, and returns how many lives
// that ended. Each client ends as many as it began, so that no more messages
// wait than there are clients times a batch.
func (f *fifoLoad) take(ctx context.Context, c *benchClient, n int, lives *[]fifoLife) (int, error) {
	at := time.Now()
	messages, err := c.receive(ctx, n, fifoWait)
	if ctx.Err() == nil {
		c.cut = err != nil
	}
	if err != nil {
		if ctx.Err() == nil {
			c.failed(err)
			benchRest(ctx, benchPause)
		}
		return 0, nil
	}
	if len(messages) == 0 {
		f.empty.Add(1)
		// Everything may have been deleted already, by another client after
		// a receive of this one that was not answered.
		if !at.Before(c.run.deadline) && f.deleted.Load() >= f.sent.Load() {
			return n, nil
		}
		return 0, nil
	}
	c.measured(benchReceive, at, time.Now(), 0)
	*lives = (*lives)[:0]
	own := messages[:0] // of a queue that existed, others may belong to somebody
	for _, m := range messages {
		life, ok := f.arrived(c.run, m.body)
		if !ok {
			f.foreign.Add(1)
			continue
		}
		*lives, own = append(*lives, life), append(own, m)
	}
	if len(own) == 0 {
		return 0, nil
	}
	action := c.buildDelete(own)
	received := len(own)
	if err := c.insist(ctx, func() error {
		at := time.Now()
		err := c.delete(ctx, action, received)
		if err == nil {
			c.measured(benchDelete, at, time.Now(), 0)
		}
		return err
	}); err != nil {
		return 0, err
	}
	return f.ended(c, *lives), nil
}

// arrived compares a message with what its group is known to be at.
func (f *fifoLoad) arrived(r *benchRun, body []byte) (fifoLife, bool) {
	life, ok := parseFIFOBody(r, body)
	if !ok || life.group < 0 || life.group >= int64(len(f.groups)) {
		return life, false
	}
	if f.deliveryBegins {
		life.began = time.Now()
	}
	g := &f.groups[life.group]
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case slices.Contains(g.open, life.number):
		f.redelivered.Add(1)
		return life, true
	case life.number <= g.received:
		f.resurrected.Add(1)
		return life, true
	case life.number > g.received+1:
		f.skipped.Add(life.number - g.received - 1)
	}
	g.received = life.number
	g.open = append(g.open, life.number)
	return life, true
}

// ended notes confirmed deletions. A deletion with a receipt handle that has
// been replaced by a later receive is confirmed without effect, so messages
// that were delivered twice count once.
func (f *fifoLoad) ended(c *benchClient, lives []fifoLife) (n int) {
	now := time.Now()
	for i := range lives {
		g := &f.groups[lives[i].group]
		g.mu.Lock()
		at := slices.Index(g.open, lives[i].number)
		if at >= 0 {
			g.open = slices.Delete(g.open, at, at+1)
		}
		g.mu.Unlock()
		if at >= 0 {
			f.deleted.Add(1)
			c.measured(benchLife, lives[i].began, now, 1)
			n++
		}
	}
	return n
}

// parseFIFOBody reads group, number and time at the beginning of a body.
func parseFIFOBody(r *benchRun, body []byte) (life fifoLife, ok bool) {
	var fields [3]int64
	for i := range fields {
		field, rest, found := bytes.Cut(body, []byte{' '})
		n, err := strconv.ParseInt(string(field), 10, 64)
		if !found || err != nil {
			return life, false
		}
		fields[i], body = n, rest
	}
	return fifoLife{group: fields[0], number: fields[1], began: r.started.Add(time.Duration(fields[2]))}, true
}

func (f *fifoLoad) finish(ctx context.Context, r *benchRun, report *benchReport) error {
	lost := f.sent.Load() - f.deleted.Load()
	left := min(lost, f.stranded.Load())
	if left > 0 {
		q, err := r.wire.describe(ctx, r.queueURL)
		if err != nil {
			return err
		}
		left = min(left, q.Visible+q.InFlight+q.Delayed+q.Deferred)
	}
	report.check("messages sent", f.sent.Load(), false)
	report.check("lost: sent and confirmed, never received", lost-max(left, 0), !f.breaks || len(report.Errors) == 0)
	report.check("left in the queue by clients whose node did not answer any more", max(left, 0), false)
	report.check("out of order", f.skipped.Load(), true)
	report.check("received after their deletion was confirmed", f.resurrected.Load(), true)
	report.check("received that nobody sent", f.foreign.Load(), !r.flags.existing) // else others may have sent it
	report.check("redelivered", f.redelivered.Load(), false)
	report.check("empty receives", f.empty.Load(), false)
	return nil
}
