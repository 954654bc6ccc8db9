package client

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func benchDedupCommand(o *options) *cobra.Command {
	f := &benchFlags{}
	repeats := 50
	c := &cobra.Command{
		Use: "dedup", Short: "Send with repeated deduplication ids and check that they are dropped",
		Long: "Send with repeated deduplication ids and check that they are dropped.\n\n" +
			"Every answer to a repeat must carry the message id of the first answer, every other answer a new one, and at the\n" +
			"end the queue must hold exactly as many messages as there were ids. Calls that fail are repeated until they\n" +
			"succeed. A run must be shorter than the deduplication window of five minutes.",
		Example: "  seriatim bench dedup --repeat 90\n  seriatim bench dedup --clients 64 --batch 10 --duration 1m",
		Args:    arguments.None,
	}
	run := o.bench(f, func(r *benchRun) workload {
		return &dedupLoad{repeats: repeats, clients: make([]dedupClient, r.flags.clients)}
	})
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if repeats < 0 || repeats > 100 {
			return exit.New(exit.Usage, fmt.Errorf("--repeat %d: 0 to 100 are possible", repeats), "")
		}
		if cmd.Flags().Changed("count") && !cmd.Flags().Changed("duration") {
			f.duration = dedupTime
		}
		if f.duration+f.warmup > dedupTime {
			return exit.New(exit.Usage, fmt.Errorf("--duration and --warmup: together at most %v", dedupTime), "ids are forgotten after five minutes")
		}
		return run(cmd, args)
	}
	f.bind(c, 64)
	f.bindBatch(c, batchSizes)
	c.Flags().IntVar(&repeats, "repeat", repeats, "percentage of messages that repeat an earlier id of the same client")
	return c
}

// dedupTime keeps a run within the window of five minutes, with room for calls
// that are repeated.
const dedupTime = 4 * time.Minute

// dedupHistory is how many of its ids a client chooses repeats from. It
// remembers the first and then the latest, so that ids of all ages repeat.
const dedupHistory = 4096

// dedupSent is an id with what the first answer said.
type dedupSent struct {
	number    int64
	messageID string
}

// dedupClient is what one client has sent. Used by that client only.
type dedupClient struct {
	next    int64
	history []dedupSent
}

// dedupLoad sends ids again.
type dedupLoad struct {
	repeats  int // percent
	clients  []dedupClient
	fresh    atomic.Int64
	repeated atomic.Int64
	accepted atomic.Int64 // repeats answered with another message id
	dropped  atomic.Int64 // fresh ids answered with a message id seen before
	// unanswered are fresh ids whose sends were never answered: their messages may be there.
	unanswered atomic.Int64
	before     int64 // messages in a queue that existed
}

// fill counts what is there, if anything can be.
func (d *dedupLoad) fill(ctx context.Context, r *benchRun) (err error) {
	if r.flags.existing {
		d.before, err = heldBy(ctx, r)
	}
	return err
}

// heldBy is how many messages the queue of a run has.
func heldBy(ctx context.Context, r *benchRun) (int64, error) {
	var out struct{ Attributes map[string]string }
	in := map[string]any{"QueueUrl": r.queueURL, "AttributeNames": []string{"ApproximateNumberOfMessages"}}
	if err := r.wire.call(ctx, "GetQueueAttributes", in, &out, 0); err != nil {
		return 0, err
	}
	held, err := strconv.ParseInt(out.Attributes["ApproximateNumberOfMessages"], 10, 64)
	if err != nil {
		text, _ := json.Marshal(out.Attributes) //nolint:errchkjson // a map of text always encodes
		return 0, fmt.Errorf("the number of messages in %s: %w", text, err)
	}
	return held, nil
}

func (d *dedupLoad) work(ctx context.Context, c *benchClient) {
	r, own := c.run, &d.clients[c.number]
	ctx, cancel := context.WithDeadline(ctx, r.deadline.Add(finishTime))
	defer cancel()
	random := rand.New(rand.NewPCG(uint64(c.number), uint64(r.started.UnixNano())))
	repeats := make([]*dedupSent, r.flags.batch) // nil: a new id
	for ctx.Err() == nil {
		if r.over(time.Now(), r.flags.batch) {
			return
		}
		began := time.Now()
		first := own.next
		for i := range c.entries {
			repeats[i] = nil
			n := own.next
			if len(own.history) > 0 && random.IntN(100) < d.repeats {
				repeats[i] = &own.history[random.IntN(len(own.history))]
				n = repeats[i].number
			} else {
				own.next++
			}
			// An id stands for a message, so it keeps its group.
			c.compose(&c.entries[i], c.groupOf(n), n, began)
		}
		err := c.insist(ctx, func() error {
			at := time.Now()
			ids, err := c.send(ctx, len(c.entries))
			if err != nil {
				return err
			}
			c.measured(benchSend, at, time.Now(), len(c.entries))
			d.compare(own, ids, repeats, first)
			return nil
		})
		if err != nil {
			d.unanswered.Add(own.next - first)
			return
		}
	}
}

// compare checks the message ids of an answer, then remembers the new ones.
func (d *dedupLoad) compare(own *dedupClient, ids [][]byte, repeats []*dedupSent, next int64) {
	for i, id := range ids {
		if repeats[i] == nil {
			continue
		}
		d.repeated.Add(1)
		if repeats[i].messageID != string(id) {
			d.accepted.Add(1)
		}
	}
	for i, id := range ids {
		if repeats[i] != nil {
			continue
		}
		d.fresh.Add(1)
		for j := range i {
			if string(ids[j]) == string(id) {
				d.dropped.Add(1)
			}
		}
		sent := dedupSent{number: next, messageID: string(id)}
		next++
		if len(own.history) < dedupHistory {
			own.history = append(own.history, sent)
		} else {
			own.history[dedupHistory/2+int(sent.number)%(dedupHistory/2)] = sent
		}
	}
}

func (d *dedupLoad) finish(ctx context.Context, r *benchRun, report *benchReport) error {
	report.check("ids sent once or first", d.fresh.Load(), false)
	report.check("ids repeated", d.repeated.Load(), false)
	report.check("repeats answered with another message id", d.accepted.Load(), true)
	report.check("new ids answered with a message id of their batch", d.dropped.Load(), true)
	report.check("new ids whose sends were never answered", d.unanswered.Load(), false)
	held, err := heldBy(ctx, r)
	if err != nil {
		return err
	}
	more := held - d.before - d.fresh.Load()
	if more > 0 {
		more -= min(more, d.unanswered.Load())
	}
	report.check("messages in the queue more than ids (negative: fewer)", more, true)
	return nil
}
