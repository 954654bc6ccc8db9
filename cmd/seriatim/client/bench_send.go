package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

func benchSendCommand(o *options) *cobra.Command {
	f := &benchFlags{}
	c := &cobra.Command{
		Use: "send", Short: "Send messages with unique deduplication ids",
		Long: "Send messages with unique deduplication ids, each client to its own groups, and receive none of them.\n" +
			"A call that fails is counted and not repeated. On a stream a batch is what one request has, and as many\n" +
			"messages are unanswered as the server takes.",
		Example: "  seriatim bench send --clients 64\n" +
			"  seriatim bench send --clients 64 --batch 10 --endpoint http://127.0.0.1:9324,http://127.0.0.1:9334,http://127.0.0.1:9344\n" +
			"  seriatim bench send --clients 64 --protocol grpc --connections 4\n" +
			"  seriatim bench send --count 1000000 --batch 10 --size 1024 --queue parked.fifo --keep",
		Args: arguments.None,
		RunE: o.bench(f, func(*benchRun) workload {
			if f.protocol == overStream {
				return streamSendLoad{}
			}
			return sendLoad{}
		}),
	}
	f.bind(c, 64)
	f.bindBatch(c, streamBatchSizes)
	f.bindProtocol(c, overHTTP, overGRPC, overStream)
	f.bindConnections(c)
	c.Flags().Float64Var(&f.rate, "rate", 0, "messages a second of all clients together, with latencies from when each was due; 0: as many as are answered")
	return c
}

// sendLoad only sends.
type sendLoad struct{}

func (sendLoad) work(ctx context.Context, c *benchClient) {
	r, n := c.run, int64(0)
	for ctx.Err() == nil {
		due := c.awaitTurn(ctx, n)
		began := time.Now()
		if r.over(began, r.flags.batch) {
			return
		}
		for i := range c.entries {
			c.compose(&c.entries[i], c.groupOf(n), n, began)
			n++
		}
		_, err := c.send(ctx, len(c.entries))
		if err != nil {
			if ctx.Err() == nil {
				c.failed(err)
				benchRest(ctx, benchPause)
			}
			continue
		}
		c.measured(benchSend, due, time.Now(), len(c.entries))
	}
}

// awaitTurn waits until a client's n-th message is due, if a rate was asked for.
// One that is late goes on at once, until it has caught up. It returns from when on the
// latency counts: a call that is late has waited for the one before it, as those would
// have who do not wait for each other.
func (c *benchClient) awaitTurn(ctx context.Context, n int64) time.Time {
	r, now := c.run, time.Now()
	if r.flags.rate == 0 {
		return now
	}
	due := c.due(n)
	if wait := min(due.Sub(now), r.deadline.Sub(now)); wait > 0 {
		benchRest(ctx, wait)
		return time.Now()
	}
	if due.Before(r.warmEnd) && now.After(r.warmEnd) {
		return r.warmEnd // what was before is not measured
	}
	return due
}

// due is when a client's n-th message is to be sent. The calls of all clients
// are spread evenly.
func (c *benchClient) due(n int64) time.Time {
	f := c.run.flags
	before := n*int64(f.clients) + int64(c.number*f.batch)
	return c.run.started.Add(time.Duration(float64(before) / f.rate * float64(time.Second)))
}

func (sendLoad) finish(context.Context, *benchRun, *benchReport) error { return nil }

// groupOf spreads the messages of a client over the groups that are its own:
// those with its number, that plus the number of clients, and so on. With fewer
// groups than clients some are shared.
func (c *benchClient) groupOf(n int64) int64 {
	clients, groups := int64(c.run.flags.clients), int64(c.run.flags.groups)
	number := int64(c.number)
	if groups <= clients {
		return number % groups
	}
	own := (groups - number + clients - 1) / clients
	return number + n%own*clients
}

// compose makes the n-th message of a client. The body says group, number
// within the client, and when the send began, for those who receive it.
func (c *benchClient) compose(e *benchEntry, group, n int64, began time.Time) {
	e.group = strconv.AppendInt(append(e.group[:0], 'g'), group, 10)
	e.deduplication = append(append(e.deduplication[:0], c.run.id...), '-')
	e.deduplication = strconv.AppendInt(e.deduplication, int64(c.number), 10)
	e.deduplication = strconv.AppendInt(append(e.deduplication, '-'), n, 10)
	b := strconv.AppendInt(e.body[:0], group, 10)
	b = strconv.AppendInt(append(b, ' '), n, 10)
	b = strconv.AppendInt(append(b, ' '), began.Sub(c.run.started).Nanoseconds(), 10)
	e.body = c.run.fill(append(b, ' '))
}

// batchRefusal says why a batch was not a success as a whole.
func batchRefusal(answer []byte, n int) error {
	var out struct {
		Successful []struct{ ID string }
		Failed     []struct {
			ID          string
			Code        string
			Message     string
			SenderFault bool
		}
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return fmt.Errorf("unreadable answer: %w", err)
	}
	if len(out.Failed) > 0 {
		status := 503
		if out.Failed[0].SenderFault {
			status = 400
		}
		return &benchRefusal{status, out.Failed[0].Code, fmt.Sprintf("%d of %s failed: %s", len(out.Failed), plural.Count(n, "entry", "entries"), out.Failed[0].Message)}
	}
	return fmt.Errorf("an answer about %s, want %d", plural.Count(len(out.Successful), "entry", "entries"), n)
}
