package client

import (
	"context"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/top"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
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
			n, err := native.Open(w.api)
			if err != nil {
				return err
			}
			defer n.Close()
			list, err := listQueues(cmd.Context(), n, prefix)
			if err != nil {
				return err
			}
			if !counts {
				return printNames(p, list)
			}
			queues, err := w.countAll(cmd.Context(), n, list, prefix)
			if err != nil {
				return err
			}
			for i := range queues {
				queues[i].Attributes = nil
			}
			if p.format.Kind() != output.Table && len(queues) > 0 && queues[0].Live == nil {
				w.addLive(cmd.Context(), list, prefix, queues)
			}
			return p.print(map[string]any{"queues": queues}, func() table { return queueTable(queues) })
		}),
	}
	c.Flags().StringVar(&prefix, "prefix", "", "only names that begin with this")
	c.Flags().BoolVar(&counts, "counts", true, "ask every queue for its message counts")
	return c
}

func queueTable(queues []queueInfo) table {
	t := table{heading: []string{
		"NAME", "TYPE", "VISIBLE", "IN FLIGHT", "DELAYED", "DEFERRED", "OLDEST", "GROUPS", "BLOCKED",
		"DEDUP IDS", "SENT/S", "RECEIVED/S", "DELETED/S", "DEAD LETTERS", "PAUSED",
	}, wideFrom: 6}
	for _, q := range queues {
		t.add(append([]string{q.Name, q.Type, decimal(q.Visible), decimal(q.InFlight), decimal(q.Delayed), decimal(q.Deferred)},
			liveCells(q.Live)...)...)
	}
	return t
}

// openTop returns the source of seriatim top.
func (o *options) openTop(cmd *cobra.Command) (*top.Source, error) {
	w, _, err := o.open(cmd)
	if err != nil {
		return nil, err
	}
	n, err := native.Open(w.api)
	if err != nil {
		return nil, err
	}
	return &top.Source{
		Native: n, Get: w.get, Qualified: w.qualified, Address: strings.Join(w.api.Addresses, ", "),
		Queues: func(ctx context.Context) (output.Grid, error) {
			list, err := listQueues(ctx, n, "")
			if err != nil {
				return output.Grid{}, err
			}
			queues, err := w.countByAdmin(ctx, list, "")
			if err != nil && ctx.Err() == nil { // the user may lack access to the admin port
				queues, err = describeAll(ctx, n, list.names)
			}
			t := queueTable(queues)
			return output.Grid{Heading: t.heading, Rows: t.rows}, err
		},
	}, nil
}

// liveCells returns the wide columns of a queue, with dashes for what the admin port did not tell.
func liveCells(q *document.QueueCounts) []string {
	cells := []string{"-", "-", "-", "-", "-", "-", "-", "-", "-"}
	if q == nil {
		return cells
	}
	if q.OldestSentAtMs > 0 {
		cells[0] = time.Since(time.UnixMilli(q.OldestSentAtMs)).Round(time.Second).String()
	}
	cells[1], cells[2], cells[3] = decimal(q.Groups), decimal(q.BlockedGroups), decimal(q.DeduplicationIDs)
	if q.Rates != nil {
		for i, rate := range []float64{q.Rates.Sent, q.Rates.Received, q.Rates.Deleted} {
			cells[4+i] = strconv.FormatFloat(rate, 'f', 1, 64)
		}
	}
	if q.DeadLetterQueue != "" {
		cells[7] = decimal(q.DeadLetters)
	}
	cells[8] = map[bool]string{true: "yes", false: "no"}[q.Paused]
	return cells
}

// queueList holds the names of the queues of an account.
type queueList struct {
	names   []string
	account string
	base    string // of their URLs
}

// listQueues lists the queues whose names begin with a prefix.
func listQueues(ctx context.Context, n *native.Conn, prefix string) (queueList, error) {
	return native.Get(ctx, n, func(ctx context.Context, c *api.Client) (queueList, error) {
		names, account, err := c.Queues(ctx, prefix)
		return queueList{names, account, n.URL() + "/" + account + "/"}, err
	})
}

// queueName is a queue in the listing without counts.
type queueName struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	Type string `json:"type"` // fifo or standard
}

func printNames(p *printer, list queueList) error {
	names := make([]queueName, len(list.names))
	for i, name := range list.names {
		names[i] = queueName{Name: name, URL: list.base + name, Type: typeOf(name)}
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
func (w *wire) countAll(ctx context.Context, n *native.Conn, list queueList, prefix string) ([]queueInfo, error) {
	if len(list.names) >= manyQueues {
		if queues, err := w.countByAdmin(ctx, list, prefix); err == nil || ctx.Err() != nil {
			return queues, err
		}
	}
	return describeAll(ctx, n, list.names)
}

// liveCounts reads the counts of queues from the admin port, by name.
func (w *wire) liveCounts(ctx context.Context, list queueList, prefix string) (map[string]document.QueueCounts, error) {
	found := make(map[string]document.QueueCounts, len(list.names))
	query := url.Values{"prefix": {prefix}, "account": {list.account}}
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
	return found, nil
}

// countByAdmin reads the counts from the admin port.
func (w *wire) countByAdmin(ctx context.Context, list queueList, prefix string) ([]queueInfo, error) {
	found, err := w.liveCounts(ctx, list, prefix)
	if err != nil {
		return nil, err
	}
	queues := make([]queueInfo, 0, len(list.names))
	for _, name := range list.names {
		if c, exists := found[name]; exists { // else it was deleted meanwhile
			queues = append(queues, queueInfo{
				Name: name, URL: list.base + name, Type: typeOf(name), Visible: c.Visible,
				InFlight: c.InFlight, Delayed: c.Delayed, Deferred: c.Deferred, Live: &c,
			})
		}
	}
	return queues, nil
}

// describeAll describes many queues, without those that were deleted meanwhile.
func describeAll(ctx context.Context, n *native.Conn, names []string) ([]queueInfo, error) {
	found := make([]queueInfo, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnceMax)
	for i, name := range names {
		group.Go(func() (err error) {
			if found[i], err = describe(ctx, n, name); exit.CodeOf(err) == exit.NotFound {
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
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

// addLive adds what only the admin port knows to a list of queues. Without an answer of the port, it
// adds nothing.
func (w *wire) addLive(ctx context.Context, list queueList, prefix string, queues []queueInfo) {
	found, err := w.liveCounts(ctx, list, prefix)
	if err != nil {
		return
	}
	for i := range queues {
		if c, known := found[queues[i].Name]; known {
			queues[i].Live = &c
		}
	}
}
