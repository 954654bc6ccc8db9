package client

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

func groupCommand(o *options) *cobra.Command {
	return group("group", "List, show, explain and release message groups of FIFO queues",
		"List, show, explain and release message groups of FIFO queues.\n\nQUEUE is a queue name or a queue URL.",
		groupListCommand(o), groupShowCommand(o), groupExplainCommand(o), groupReleaseCommand(o))
}

// messageGroup is one message group in JSON output.
type messageGroup struct {
	GroupID     string        `json:"groupId"`
	State       string        `json:"state"`
	UntilMs     int64         `json:"untilMs"` // end of the state; 0: no end by itself
	Messages    int64         `json:"messages"`
	InFlight    int64         `json:"inFlight"`
	First       *firstMessage `json:"first,omitempty"`
	Explanation string        `json:"explanation"`
	Holder      *groupHolder  `json:"holder,omitempty"`
}

// groupHolder is the client that holds a group.
type groupHolder struct {
	Address   string `json:"address"`
	AccessKey string `json:"accessKey,omitempty"`
	Node      string `json:"node"`
	SinceMs   int64  `json:"sinceMs"`
	Protocol  string `json:"protocol"`
	UserAgent string `json:"userAgent,omitempty"`
}

// firstMessage is the message of a group that is delivered before all others.
type firstMessage struct {
	MessageID      string `json:"messageId"`
	SequenceNumber string `json:"sequenceNumber"`
	SentAtMs       int64  `json:"sentAtMs"`
	ReceiveCount   int64  `json:"receiveCount"`
}

func describeGroup(g *api.Group) messageGroup {
	out := messageGroup{
		GroupID: g.ID, State: string(g.State), UntilMs: millis(g.Until), Messages: g.Messages, InFlight: g.InFlight,
		Explanation: g.Explanation,
	}
	if f := g.First; f.SequenceNumber != 0 {
		out.First = &firstMessage{f.MessageID, sequenceText(f.SequenceNumber), millis(f.SentAt), f.ReceiveCount}
	}
	if h := g.Holder; h.Address != "" {
		out.Holder = &groupHolder{h.Address, h.AccessKey, h.Node, millis(h.Since), h.Protocol, h.UserAgent}
	}
	return out
}

// millis returns a time for JSON output, 0 for none.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// untilText formats a time in milliseconds for a table.
func untilText(millis int64) string { return clockTime(decimal(millis)) }

// completeGroups offers queues, then their message groups.
func (o *options) completeGroups(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return o.completeQueues(cmd, args, typed)
	}
	return o.offerNative(cmd, nil, func(ctx context.Context, n *native.Conn) (ids []string, err error) {
		err = n.Do(ctx, 0, func(ctx context.Context, c *api.Client) error {
			for g, err := range c.Groups(ctx, qualifiedOf(args[0]), typed) {
				if err != nil {
					return err
				}
				if ids = append(ids, g.ID); len(ids) == completionsMax {
					break
				}
			}
			return nil
		})
		return ids, err
	})
}

// completionsMax bounds the groups for completion.
const completionsMax = 1000

func groupListCommand(o *options) *cobra.Command {
	var prefix string
	var limit int
	c := &cobra.Command{
		Use: "list QUEUE", Short: "List the message groups that have messages, with their states", Args: arguments.Exactly("QUEUE"),
		Long: "List the message groups that have messages, by id, with their states. Scheduled and deferred messages do not count.\n\n" +
			"States:\n\n" +
			"  ready        a receive returns the first message\n" +
			"  session      a receiver has locked the group\n" +
			"  in-flight    a receiver has the first message\n" +
			"  delayed      the first message is delayed\n" +
			"  dead-letter  the next receive moves the first message\n" +
			"  limit        the queue has reached its limit of messages in flight",
		Example: "  seriatim group list orders.fifo\n" +
			"  seriatim group list orders.fifo --prefix customer- -o json | jq '.groups[] | select(.state != \"ready\")'",
		ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			if err := checkLimit(limit); err != nil {
				return err
			}
			list, more := []messageGroup{}, false
			err := n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error {
				for g, err := range c.Groups(ctx, qualifiedOf(args[0]), prefix) {
					if err != nil {
						return err
					}
					if more = len(list) == limit; more {
						break
					}
					list = append(list, describeGroup(&g))
				}
				return nil
			})
			if err != nil {
				return err
			}
			if more {
				p.say("there are more than %d: use --limit or --prefix", limit)
			}
			return p.print(map[string]any{"groups": list, "truncated": more}, func() table {
				t := table{heading: []string{"GROUP", "STATE", "UNTIL", "MESSAGES", "IN FLIGHT", "FIRST", "RECEIVES"}}
				for _, g := range list {
					first, receives := "-", "-"
					if g.First != nil {
						first, receives = g.First.SequenceNumber, decimal(g.First.ReceiveCount)
					}
					t.add(g.GroupID, g.State, untilText(g.UntilMs), decimal(g.Messages), decimal(g.InFlight), first, receives)
				}
				return t
			})
		}),
	}
	c.Flags().StringVar(&prefix, "prefix", "", "only groups whose ids begin with this")
	c.Flags().IntVarP(&limit, "limit", "n", 1000, "most groups to list")
	return c
}

// checkLimit refuses a limit below 1.
func checkLimit(limit int) error {
	if limit < 1 {
		return exit.New(exit.Usage, fmt.Errorf("--limit %d: it must be at least 1", limit), "")
	}
	return nil
}

// findGroup returns the group of the arguments QUEUE and GROUP.
func findGroup(ctx context.Context, n *native.Conn, args []string) (api.Group, error) {
	return native.Get(ctx, n, func(ctx context.Context, c *api.Client) (api.Group, error) {
		return c.Group(ctx, qualifiedOf(args[0]), args[1])
	})
}

// readGroup makes a command that shows one group.
func readGroup(o *options, c *cobra.Command, show func(p *printer, g messageGroup) error) *cobra.Command {
	c.Args, c.ValidArgsFunction = arguments.Exactly("QUEUE", "GROUP"), o.completeGroups
	c.RunE = o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
		found, err := findGroup(cmd.Context(), n, args)
		if err != nil {
			return err
		}
		return show(p, describeGroup(&found))
	})
	return c
}

func groupShowCommand(o *options) *cobra.Command {
	return readGroup(o, &cobra.Command{
		Use: "show QUEUE GROUP", Short: "Show one message group, also one without messages",
		Example: "  seriatim group show orders.fifo customer-9",
	}, func(p *printer, g messageGroup) error {
		return p.print(g, func() table {
			t := table{rows: [][]string{
				{"Group", g.GroupID}, {"State", g.State}, {"Until", untilText(g.UntilMs)}, {"Messages", decimal(g.Messages)},
				{"In flight", decimal(g.InFlight)},
			}}
			if f := g.First; f != nil {
				t.add("First message", f.MessageID)
				t.add("Sequence number", f.SequenceNumber)
				t.add("Sent", untilText(f.SentAtMs))
				t.add("Receives", decimal(f.ReceiveCount))
			}
			if h := g.Holder; h != nil {
				t.add("Held by", h.Address)
				t.add("Access key", orDash(h.AccessKey))
				t.add("Protocol", h.Protocol)
				t.add("User agent", orDash(h.UserAgent))
				t.add("Served by", h.Node)
				t.add("Held since", untilText(h.SinceMs))
			}
			return t
		})
	})
}

func groupReleaseCommand(o *options) *cobra.Command {
	q := &question{}
	c := &cobra.Command{
		Use: "release QUEUE GROUP", Short: "Take a message group away from its holder", Args: arguments.Exactly("QUEUE", "GROUP"),
		Long: "Take a message group away from its holder: a session lock ends, and messages in flight become visible at once.\n" +
			"The queue refuses later requests of the former holder. A message may therefore be processed twice.",
		Example:           "  seriatim group release orders.fifo customer-9 --yes",
		ValidArgsFunction: o.completeGroups,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			id := args[1]
			if !q.skipped() {
				found, err := findGroup(cmd.Context(), n, args)
				if err != nil {
					return err
				}
				if err := q.ask(cmd, p, found.Explanation, "the id of the group to release", id); err != nil {
					return err
				}
			}
			released, err := native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) (api.ReleasedGroup, error) {
				return c.ReleaseGroup(ctx, qualifiedOf(args[0]), id)
			})
			if err != nil {
				return err
			}
			lock := "no session lock"
			if released.Session {
				lock = "a session lock"
			}
			return p.done(map[string]any{"groupId": id, "released": true, "messages": released.Messages, "session": released.Session},
				"released %s: messages in flight %d, %s was in force", id, released.Messages, lock)
		}),
	}
	return q.of(c)
}
