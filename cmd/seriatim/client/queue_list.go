package client

import (
	"context"
	"net/url"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// atOnceMax bounds the concurrent requests of one command. The server answers many reads with one
// barrier, so they cost little.
const atOnceMax = 64

func queueListCommand(o *options) *cobra.Command {
	var prefix string
	var counts bool
	c := &cobra.Command{
		Use: "list", Short: "List queues with their message counts", Args: arguments.None,
		Example: "  seriatim queue list\n  seriatim queue list --prefix orders -o json\n" +
			"  seriatim queue list --counts=false   # names only",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			urls, err := w.listQueues(cmd.Context(), prefix)
			if err != nil {
				return err
			}
			if !counts {
				return printNames(p, urls)
			}
			queues, err := w.countAll(cmd.Context(), urls, prefix)
			if err != nil {
				return err
			}
			for i := range queues {
				queues[i].Attributes = nil
			}
			return p.print(map[string]any{"queues": queues}, func() table {
				t := table{heading: []string{"NAME", "TYPE", "VISIBLE", "IN FLIGHT", "DELAYED", "DEFERRED"}}
				for _, q := range queues {
					t.add(q.Name, q.Type, decimal(q.Visible), decimal(q.InFlight), decimal(q.Delayed), decimal(q.Deferred))
				}
				return t
			})
		}),
	}
	c.Flags().StringVar(&prefix, "prefix", "", "only names that begin with this")
	c.Flags().BoolVar(&counts, "counts", true, "ask every queue for its message counts")
	return c
}

// queueName is a queue in the listing without counts.
type queueName struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	Type string `json:"type"` // fifo or standard
}

func printNames(p *printer, urls []string) error {
	names := make([]queueName, len(urls))
	for i, u := range urls {
		names[i] = queueName{Name: nameOf(u), URL: u, Type: typeOf(u)}
	}
	return p.print(map[string]any{"queues": names}, func() table {
		t := table{heading: []string{"NAME", "TYPE"}}
		for _, q := range names {
			t.add(q.Name, q.Type)
		}
		return t
	})
}

// manyQueues is the number of queues from which the admin port is asked for counts, which returns
// a thousand at a time. Shorter lists do not need it, because a user may lack access to it.
const manyQueues = 500

// countsTimeout bounds the answer of the admin port. After it the client port is asked instead.
const countsTimeout = 3 * time.Second

// countAll finds the counts of all listed queues.
func (w *wire) countAll(ctx context.Context, urls []string, prefix string) ([]queueInfo, error) {
	if len(urls) >= manyQueues {
		if queues, err := w.countByAdmin(ctx, urls, prefix); err == nil || ctx.Err() != nil {
			return queues, err
		}
	}
	return w.describeAll(ctx, urls)
}

// countByAdmin reads the counts from the admin port.
func (w *wire) countByAdmin(ctx context.Context, urls []string, prefix string) ([]queueInfo, error) {
	found := make(map[string]document.QueueCounts, len(urls))
	query := url.Values{"prefix": {prefix}, "account": {path.Base(path.Dir(urls[0]))}}
	for {
		var page document.Queues
		quick, cancel := context.WithTimeout(ctx, countsTimeout)
		err := w.get(quick, "/v1/queues", query, &page)
		cancel()
		if err != nil {
			return nil, err
		}
		for _, q := range page.Queues {
			q.Name = path.Base(q.Name) // without the account
			found[q.Name] = q
		}
		if page.Next == "" {
			break
		}
		query.Set("after", page.Next)
	}
	queues := make([]queueInfo, 0, len(urls))
	for _, u := range urls {
		if c, exists := found[nameOf(u)]; exists { // else it was deleted meanwhile
			queues = append(queues,
				queueInfo{Name: c.Name, URL: u, Type: typeOf(u), Visible: c.Visible, InFlight: c.InFlight, Delayed: c.Delayed,
					Deferred: c.Deferred})
		}
	}
	return queues, nil
}

// describeAll describes many queues, without those that were deleted meanwhile.
func (w *wire) describeAll(ctx context.Context, urls []string) ([]queueInfo, error) {
	found := make([]queueInfo, len(urls))
	err := forEach(ctx, len(urls), func(ctx context.Context, i int) error {
		var err error
		if found[i], err = w.describe(ctx, urls[i]); exit.CodeOf(err) == exit.NotFound {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	queues := make([]queueInfo, 0, len(found))
	for _, q := range found {
		if q.Name != "" {
			queues = append(queues, q)
		}
	}
	return queues, nil
}

// forEach calls do with the numbers below n, many at a time. It stops at the first error and
// returns it.
func forEach(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var working sync.WaitGroup
	for range min(n, atOnceMax) {
		working.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				if err := do(ctx, i); err != nil {
					cancel(err) // keeps the first error
				}
			}
		})
	}
	working.Wait()
	return context.Cause(ctx)
}
