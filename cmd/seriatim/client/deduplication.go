package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

func deduplicationCommand(o *options) *cobra.Command {
	return group("dedup", "Look up, count and forget deduplication ids, and change the deduplication window",
		"Look up, count and forget deduplication ids, and change the deduplication window.\n\nQUEUE is the name or URL of a FIFO queue.",
		dedupLookupCommand(o), dedupStatsCommand(o), dedupForgetCommand(o), dedupWindowCommand(o))
}

// idFlags holds the flags that complete a deduplication id.
type idFlags struct{ group, partitionKey string }

func (f *idFlags) bind(c *cobra.Command) {
	c.Flags().StringVarP(&f.group, "group", "g", "", "message group id, where the DeduplicationScope is messageGroup or partitionKey")
	c.Flags().StringVar(&f.partitionKey, "partition-key", "", "partition key, where the DeduplicationScope is partitionKey")
}

func (f *idFlags) id(text string) api.DeduplicationID {
	return api.DeduplicationID{ID: text, GroupID: f.group, PartitionKey: f.partitionKey}
}

func dedupLookupCommand(o *options) *cobra.Command {
	f := &idFlags{}
	topic := false
	c := &cobra.Command{
		Use:   "lookup QUEUE ID",
		Short: "Show whether a message with this deduplication id would be dropped, and the first message with the id",
		Args:  arguments.Exactly("QUEUE", "ID"),
		Long: "Show whether a message with this deduplication id would be dropped now, and the first message with the id.\n" +
			"With content-based deduplication the id is the SHA-256 of the body: printf %s BODY | sha256sum\n\n" +
			"A topic has its own deduplication, apart from its queues: add --topic to look at the topic of that name.\n\n" +
			"The exit code is 3 if the id is unknown or its window is over.",
		Example: "  seriatim dedup lookup orders.fifo order-17\n  seriatim dedup lookup orders.fifo order-17 --group customer-9 -o json\n" +
			"  seriatim dedup lookup sales.fifo order-17 --topic",
		ValidArgsFunction: o.completeQueues,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			if topic {
				return w.lookUpAtTopic(cmd.Context(), p, args[0], f.id(args[1]))
			}
			return w.lookUpAtQueue(cmd.Context(), p, args[0], f.id(args[1]))
		}),
	}
	f.bind(c)
	c.Flags().BoolVar(&topic, "topic", false, "look at the topic of this name, not at the queue")
	return c
}

// lookUpAtQueue prints the entry of a queue for an id.
func (w *wire) lookUpAtQueue(ctx context.Context, p *printer, name string, id api.DeduplicationID) error {
	if err := fifoQueue(name); err != nil {
		return err
	}
	n, err := native.Open(w.api)
	if err != nil {
		return err
	}
	defer n.Close()
	out := document.DeduplicationID{DeduplicationID: id.ID}
	err = n.Do(ctx, 0, func(ctx context.Context, c *api.Client) error {
		found, known, err := c.LookUpDeduplication(ctx, qualifiedOf(name), id)
		if err != nil || !known {
			return err
		}
		out = document.DeduplicationID{
			DeduplicationID: id.ID, Known: true, MessageID: found.MessageID, SequenceNumber: sequenceText(found.SequenceNumber),
			Scope: found.Scope, State: found.State, AcceptedAtMs: millis(found.AcceptedAt), ForgottenAtMs: millis(found.ForgottenAt),
		}
		return nil
	})
	if (err == nil || exit.CodeOf(err) == exit.NotFound) && !out.Known && w.topicKnows(ctx, name, id) {
		hint := "the topic of this name remembers the id and drops it: add --topic to look at it"
		if err != nil {
			return exit.New(exit.NotFound, err, hint)
		}
		return p.printKnown(out, "queue "+nameOf(name), "send", hint)
	}
	if err != nil {
		return err
	}
	return p.printKnown(out, "queue "+nameOf(name), "send",
		"a topic has its own deduplication: add --topic to look at the topic of that name")
}

// topicKnows reports whether a topic exists and remembers an id.
func (w *wire) topicKnows(ctx context.Context, name string, id api.DeduplicationID) bool {
	out, err := w.topicEntry(ctx, name, id)
	return err == nil && out.Known
}

// topicEntry reads the entry of a topic for an id.
func (w *wire) topicEntry(ctx context.Context, name string, id api.DeduplicationID) (out document.DeduplicationID, err error) {
	query := url.Values{"id": {id.ID}, "group": {id.GroupID}, "partition": {id.PartitionKey}}
	err = w.get(ctx, "/v1/topics/"+url.PathEscape(w.qualified(name))+"/deduplication", query, &out)
	return out, err
}

// lookUpAtTopic prints the entry of a topic for an id.
func (w *wire) lookUpAtTopic(ctx context.Context, p *printer, name string, id api.DeduplicationID) error {
	out, err := w.topicEntry(ctx, name, id)
	if err != nil {
		return err
	}
	return p.printKnown(out, "topic "+lastElement(name), "publish",
		"the queues of its subscriptions have their own deduplication: leave out --topic to look at a queue")
}

// printKnown prints the entry of a queue or topic for an id. An unknown id is an error.
func (p *printer) printKnown(out document.DeduplicationID, where, verb, hint string) (err error) {
	if !out.Known {
		if p.format.OfDocument() {
			err = p.print(out, nil)
		}
		text := fmt.Errorf("the %s does not remember %q: it would accept a %s with this id", where, out.DeduplicationID, verb)
		return errors.Join(err, exit.New(exit.NotFound, text, hint))
	}
	return p.print(out, func() table {
		t := table{rows: [][]string{
			{"Answer", "a " + verb + " with this id is dropped as a duplicate"},
			{"Message id", out.MessageID}, {"Sequence number", out.SequenceNumber}, {"Scope", out.Scope},
		}}
		if out.State != "" { // a topic keeps a message only until it publishes it
			t.add("State", out.State)
		}
		t.add("Accepted", untilText(out.AcceptedAtMs))
		t.add("Forgotten", untilText(out.ForgottenAtMs))
		return t
	})
}

// fifoQueue returns an error for the name of a standard queue, which has no deduplication.
func fifoQueue(name string) error {
	if typeOf(name) == "fifo" {
		return nil
	}
	return exit.New(exit.Usage, fmt.Errorf("%s is the name of a standard queue, which has no deduplication window and remembers no ids",
		nameOf(name)), "the name of a FIFO queue ends in .fifo")
}

// dedupStats counts the deduplication ids of a queue in JSON output.
type dedupStats struct {
	Live          int64            `json:"live"`
	Kept          int64            `json:"kept"`
	ByScope       map[string]int64 `json:"byScope"`
	OldestAtMs    int64            `json:"oldestAtMs"` // 0: there is none
	WindowSeconds int64            `json:"windowSeconds"`
	EntriesMax    int64            `json:"entriesMax"` // 0: no cap
	Bytes         int64            `json:"bytes"`
}

func (s *dedupStats) table() table {
	entriesMax := "no cap"
	if s.EntriesMax != 0 {
		entriesMax = decimal(s.EntriesMax)
	}
	t := table{rows: [][]string{
		{"Live", decimal(s.Live)},
		{"In memory", decimal(s.Kept)},
		{"Oldest", untilText(s.OldestAtMs)},
		{"Window", windowText(time.Duration(s.WindowSeconds) * time.Second)},
		{"Most entries", entriesMax},
		{"Bytes", decimal(s.Bytes)},
	}}
	for _, scope := range slices.Sorted(maps.Keys(s.ByScope)) {
		t.add("Scope "+scope, decimal(s.ByScope[scope]))
	}
	return t
}

func readStats(cmd *cobra.Command, n *native.Conn, name string) (*dedupStats, error) {
	if err := fifoQueue(name); err != nil {
		return nil, err
	}
	s, err := native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) (api.DeduplicationStats, error) {
		return c.DeduplicationStats(ctx, qualifiedOf(name))
	})
	byScope := map[string]int64{}
	maps.Copy(byScope, s.ByScope)
	return &dedupStats{s.Live, s.Kept, byScope, millis(s.OldestAt), int64(s.Window / time.Second), s.EntriesMax, s.Bytes}, err
}

func dedupStatsCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "stats QUEUE", Short: "Count the deduplication ids that a queue remembers", Args: arguments.Exactly("QUEUE"),
		Example:           "  seriatim dedup stats orders.fifo\n  seriatim dedup stats orders.fifo -o json | jq .live",
		ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			s, err := readStats(cmd, n, args[0])
			if err != nil {
				return err
			}
			return p.print(s, s.table)
		}),
	}
}

func dedupForgetCommand(o *options) *cobra.Command {
	f, q := &idFlags{}, &question{}
	c := &cobra.Command{
		Use: "forget QUEUE ID", Short: "Let a deduplication id be sent again before its window is over",
		Args: arguments.Exactly("QUEUE", "ID"),
		Long: "Let a deduplication id be sent again before its window is over. A sender that repeats the first message because it lost\n" +
			"the answer then stores it a second time.",
		Example:           "  seriatim dedup forget orders.fifo order-17 --yes",
		ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			if err := fifoQueue(args[0]); err != nil {
				return err
			}
			if err := q.ask(cmd, p, "The queue will accept a message with the id "+args[1]+" a second time.", "the id to forget",
				args[1]); err != nil {
				return err
			}
			err := n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error {
				return c.ForgetDeduplication(ctx, qualifiedOf(args[0]), f.id(args[1]))
			})
			if err != nil {
				return err
			}
			return p.done(map[string]any{"deduplicationId": args[1], "forgotten": true}, "forgotten %s", args[1])
		}),
	}
	f.bind(c)
	return q.of(c)
}

func dedupWindowCommand(o *options) *cobra.Command {
	q := &question{}
	c := &cobra.Command{
		Use: "window QUEUE [DURATION]", Short: "Show or change the deduplication window of a queue",
		Args: arguments.OptionalLast("QUEUE", "DURATION"),
		Long: "Show or change the time for which a queue remembers deduplication ids: 20s to 7d, written as 90s, 10m, 12h, 7d, or in\n" +
			"seconds.\n\n" +
			"With a shorter window the queue forgets older ids at once, and a longer one does not bring them back. So the command\n" +
			"asks before it shortens the window. A longer one costs memory, see seriatim dedup stats.",
		Example: "  seriatim dedup window orders.fifo\n  seriatim dedup window orders.fifo 7d\n" +
			"  seriatim dedup window orders.fifo 5m --yes",
		ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			return window(cmd, n, p, q, args)
		}),
	}
	return q.of(c)
}

func window(cmd *cobra.Command, n *native.Conn, p *printer, q *question, args []string) error {
	name := nameOf(args[0])
	var wanted time.Duration
	if len(args) > 1 {
		var err error
		if wanted, err = parseWindow(args[1]); err != nil {
			return exit.New(exit.Usage, err, "write it as 90s, 10m, 12h, 7d, or in seconds")
		}
	}
	s, err := readStats(cmd, n, args[0])
	if err != nil {
		return err
	}
	show := func(seconds int64, changed bool) error {
		return p.print(map[string]any{"name": name, "windowSeconds": seconds, "updated": changed}, func() table {
			return table{rows: [][]string{{windowText(time.Duration(seconds) * time.Second)}}}
		})
	}
	if wanted == 0 {
		return show(s.WindowSeconds, false)
	}
	if seconds := int64(wanted / time.Second); seconds < s.WindowSeconds || q.dryRun {
		effect := fmt.Sprintf("The window is %s, and %s remembered: those that are older than %s can be sent again at once.",
			windowText(time.Duration(s.WindowSeconds)*time.Second), plural.Count(s.Live, "id is", "ids are"), windowText(wanted))
		if err := q.ask(cmd, p, effect, "the name of the queue to change", name); err != nil {
			return err
		}
	}
	err = n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error {
		return c.SetDeduplicationWindow(ctx, qualifiedOf(args[0]), wanted)
	})
	if err != nil {
		return err
	}
	return show(int64(wanted/time.Second), true)
}

// parseWindow reads a duration in whole seconds, with days and without a unit.
func parseWindow(text string) (time.Duration, error) {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil && n > 0 {
		return time.Duration(n) * time.Second, nil //nolint:gosec // below 2^31
	}
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && n > 0 {
			return time.Duration(n) * 24 * time.Hour, nil //nolint:gosec // below 2^16
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d%time.Second != 0 {
		return 0, fmt.Errorf("%q is no duration in whole seconds", text)
	}
	return d, nil
}

// windowText formats a duration for parseWindow, in its largest whole unit.
func windowText(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d > 0 && d%unit.length == 0 {
			return strconv.FormatInt(int64(d/unit.length), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(d/time.Second), 10) + "s"
}
