package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// memberList is the answer of GET /v1/cluster/members.
type memberList cluster.MemberList

const membersPath = "/v1/cluster/members"

func clusterCommand(o *options) *cobra.Command {
	return group("cluster", "Show the cluster and change its members",
		"Show the cluster and change its members.\n\n"+
			"You can send every command to any node. NODE is a node id, or a name that only one node has.\n"+
			"Unreachable nodes are never removed automatically; you decide.",
		clusterStatusCommand(o), clusterMembersCommand(o), clusterSettingsCommand(o),
		changeCommand(o, changeText{
			use: "add NODE", path: "add", past: "added as a learner",
			short: "Make a waiting node a learner",
			long: "Make a node that belongs to no cluster a learner: it gets all data and has no vote yet.\n\n" +
				"Nodes with --auto-join, which is the default, become learners by themselves.",
		}),
		changeCommand(o, changeText{
			use: "remove NODE", path: "remove", past: "removed", asks: true,
			short: "Take a node out of the cluster for good",
			long: "Take a node out of the cluster for good. Its process ends by itself with exit code 87, and you can delete its data\n" +
				"directory. A leader transfers leadership first. The cluster refuses if the other nodes would lose their majority.",
		}),
		changeCommand(o, changeText{
			use: "promote NODE", path: "promote", past: "promoted to a voter",
			short: "Give a learner its vote",
			long: "Give a learner that keeps up its vote, even above the number of voters of the setting voters.\n" +
				"For the successor of a lost node use: seriatim cluster replace NAME",
		}),
		changeCommand(o, changeText{
			use: "replace NAME", path: "replace", past: "replaced", asks: true,
			short: "Give the vote of a lost node to its successor of the same name",
			long: "Remove the lost voter NAME and give its vote to the node that has joined under the same name with an empty disk.\n" +
				"After an interruption, run the same command again; it continues.",
		}),
		transferCommand(o),
		drainCommand(o, "drain", "Prepare a node for being stopped",
			"Prepare NODE, or the asked node, for a stop. The node reports that it is not ready, transfers leadership, ends long\n"+
				"polls, and closes connections after their next answer. It still answers requests. A restart or uncordon ends this."),
		drainCommand(o, "uncordon", "End a drain", "Make NODE, or the asked node, take part again after drain."),
	)
}

func (w *wire) members(ctx context.Context, local bool) (memberList, error) {
	var query url.Values
	if local {
		query = url.Values{"local": {"true"}}
	}
	var list memberList
	err := w.get(ctx, membersPath, query, &list)
	list.fill()
	return list, err
}

// fill replaces nil lists, which would be null in JSON.
func (l *memberList) fill() {
	l.Members, l.Waiting = emptyIfNil(l.Members), emptyIfNil(l.Waiting)
	l.Findings, l.Warnings = emptyIfNil(l.Findings), emptyIfNil(l.Warnings)
}

func clusterStatusCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the health of the cluster", Args: arguments.None,
		Long: "Show the health of the cluster, in one sentence and a table. The sentence says how many more nodes may fail. Warnings\n" +
			"follow, the worst first. The report is at most a second old.\n\n" +
			"Exit code 0: all voters answer and no check is critical.\n" +
			"Exit code 1: the cluster has a leader, but a voter does not answer or a check is critical.\n" +
			"Exit code 5: no node answers, or there is no leader.",
		Example: "  seriatim cluster status\n  seriatim cluster status -o json | jq .summary",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			list, noLeader := w.members(cmd.Context(), false)
			if noLeader != nil {
				var err error
				if list, err = w.members(cmd.Context(), true); err != nil {
					return err
				}
				if list.Healthy { // the node reaches all voters, and none leads
					list.Healthy, list.MayFail = false, 0
					list.Summary = "No leader yet, although this node reaches all voters"
				}
			}
			if p.format.ForPeople() {
				if err := list.printSummary(p); err != nil {
					return err
				}
			}
			if err := p.print(list, list.table); err != nil {
				return err
			}
			switch {
			case len(list.Members) == 0:
				return exit.New(exit.Unavailable, errors.New("the asked node belongs to no cluster yet"),
					"start the other nodes, and name the gossip addresses of all nodes with --join")
			case noLeader != nil:
				return exit.New(exit.Unavailable, errors.New("the cluster has no leader"),
					"a majority of its voters must run and reach each other's peer ports")
			case !list.Healthy:
				return exit.New(exit.Failed, errors.New("the cluster has problems"), "seriatim doctor gives advice")
			}
			return nil
		}),
	}
}

func (l memberList) printSummary(p *printer) error {
	var b strings.Builder
	b.WriteString(l.Summary + "\n")
	for _, warning := range l.Warnings {
		level := "Warning: "
		if slices.ContainsFunc(l.Findings, func(f health.Finding) bool { return f.Level == health.Critical && f.Sentence() == warning }) {
			level = "Critical: "
		}
		b.WriteString(level + warning + "\n")
	}
	_, err := fmt.Fprintln(p.out, b.String())
	return err
}

func clusterMembersCommand(o *options) *cobra.Command {
	var local bool
	c := &cobra.Command{
		Use: "members", Short: "List the members and the nodes that wait to be added", Args: arguments.None,
		Example: "  seriatim cluster members\n  seriatim cluster members --local   # the view of the asked node, also without a leader\n" +
			"  seriatim cluster members -o json | jq '.members[] | select(.healthy | not)'",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			list, err := w.members(cmd.Context(), local)
			if err != nil {
				return err
			}
			return p.print(list, list.table)
		}),
	}
	c.Flags().BoolVar(&local, "local", false, "ask only this node, also without a leader")
	return c
}

func (l memberList) table() table {
	t := table{heading: []string{"NODE", "NAME", "ROLE", "ANSWERS", "LAG", "LAST CONTACT", "ADDRESS", "NOTE"}}
	for _, m := range l.Members {
		answers := "yes"
		if !m.Healthy {
			answers = "no"
		}
		t.add(m.NodeID, m.Name, m.Role, answers, known(m.LagEntries, decimal), known(m.LastContactMs, func(n int64) string {
			return (time.Duration(n) * time.Millisecond).String()
		}), orDash(m.Address), notes(m))
	}
	for _, waiting := range l.Waiting {
		note := "seriatim cluster add " + waiting.NodeID
		switch {
		case len(l.Members) == 0: // there is no cluster yet
			note = ""
		case l.LeaderID == "":
			note = "joins when there is a leader; if most members are lost for good: seriatim cluster force-recover on the others " +
				"(docs/operate/backup.md#a-lost-majority)"
		}
		t.add(waiting.NodeID, waiting.Name, "waiting", "yes", "-", "-", orDash(waiting.Address), note)
	}
	return t
}

// notes returns the last column of the table.
func notes(m cluster.MemberStatus) string {
	switch {
	case !m.Drained:
		return m.Note
	case m.Note == "":
		return "drained"
	default:
		return "drained; " + m.Note
	}
}

func (l memberList) has(idOrName string) bool {
	return slices.ContainsFunc(l.Members, func(m cluster.MemberStatus) bool { return m.NodeID == idOrName || m.Name == idOrName })
}

// changeText describes a command that changes the members.
type changeText struct {
	use, short, long string
	path             string
	past             string
	asks             bool // for confirmation
}

func changeCommand(o *options, text changeText) *cobra.Command {
	var ifPresent bool
	q := &question{}
	var ifIndex uint64
	c := &cobra.Command{
		Use: text.use, Short: text.short, Long: text.long, Args: arguments.Exactly(text.use[len(text.path)+1:]),
		Example:           "  seriatim cluster " + text.path + " n4",
		ValidArgsFunction: o.completeMembers,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			if text.asks && !q.skipped() {
				list, err := w.members(cmd.Context(), false)
				if err != nil {
					return err
				}
				if ifPresent && !list.has(args[0]) {
					return w.absent(cmd.Context(), p, args[0])
				}
				if !list.has(args[0]) {
					return exit.New(exit.NotFound, fmt.Errorf("no member has the id or name %s", args[0]),
						"seriatim cluster members lists them")
				}
				if ifIndex == 0 {
					ifIndex = list.Index
				}
				if err := q.ask(cmd, p, list.Summary+".", args[0]+" again to "+text.path+" it", args[0]); err != nil {
					return err
				}
			}
			err := w.changeMembers(cmd.Context(), p, text.path, args[0], text.past, ifIndex)
			if ifPresent && exit.CodeOf(err) == exit.NotFound {
				return w.absent(cmd.Context(), p, args[0])
			}
			return err
		}),
	}
	if text.asks {
		q.of(c)
	}
	if text.path == "remove" {
		c.Flags().BoolVar(&ifPresent, "if-present", false, "a node that is no member is no error")
	}
	c.Flags().Uint64Var(&ifIndex, "if-index", 0,
		"only if the members have not changed since this index, which cluster members -o json shows")
	return c
}

// absent reports the success of a removal of a node that is no member. It prints the same document
// as a removal.
func (w *wire) absent(ctx context.Context, p *printer, node string) error {
	p.say("%s is no member.", node)
	if !p.format.OfDocument() {
		return nil
	}
	list, err := w.members(ctx, false)
	if err != nil {
		return err
	}
	return p.print(list, nil)
}

func transferCommand(o *options) *cobra.Command {
	var to string
	c := &cobra.Command{
		Use: "transfer-leader [NODE]", Short: "Hand leadership to another node", Args: arguments.Optional("NODE"),
		Long: "Hand leadership to NODE, or to the best of the other voters. Such a voter answers, is up to date and not drained,\n" +
			"and has room on its disk and a clock within bounds. Requests wait for a few milliseconds.",
		Example:           "  seriatim cluster transfer-leader\n  seriatim cluster transfer-leader --to n2",
		ValidArgsFunction: o.completeMembers,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			node := to
			if len(args) == 1 {
				if node != "" && node != args[0] {
					return exit.New(exit.Usage, fmt.Errorf("--to %s and %s name two nodes", to, args[0]), "name one")
				}
				node = args[0]
			}
			return w.changeMembers(cmd.Context(), p, "transfer-leader", node, "handed over", 0)
		}),
	}
	c.Flags().StringVar(&to, "to", "", "the node, instead of the argument NODE")
	return c
}

// changeMembers sends one change and prints the resulting members.
func (w *wire) changeMembers(ctx context.Context, p *printer, path, node, past string, ifIndex uint64) error {
	var list memberList
	body := map[string]any{"node": node}
	if ifIndex != 0 {
		body["ifIndex"] = ifIndex
	}
	if err := w.post(ctx, "/v1/cluster/"+path, body, &list); err != nil {
		return err
	}
	list.fill()
	if p.format.ForPeople() {
		if node == "" {
			node = "leadership"
		}
		p.say("%s: %s. %s", node, past, list.Summary)
	}
	return p.print(list, list.table)
}

func drainCommand(o *options, verb, short, long string) *cobra.Command {
	var wait time.Duration
	c := &cobra.Command{
		Use: verb + " [NODE]", Short: short, Long: long, Args: arguments.Optional("NODE"),
		Example:           "  seriatim cluster " + verb + " n2\n  seriatim cluster " + verb + " --admin 10.0.0.1:9325   # the asked node",
		ValidArgsFunction: o.completeMembers,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			change := map[string]any{}
			if len(args) == 1 {
				change["node"] = args[0]
			} else if err := w.single(cmd); err != nil {
				return err
			}
			waited := time.After(wait) // from the request on, because the node then stops being ready
			var answer document.Drain
			failed := w.post(cmd.Context(), "/v1/cluster/"+verb, change, &answer)
			// Wait also after a failure: load balancers may still send requests to the node.
			select {
			case <-waited:
			case <-cmd.Context().Done():
				if failed == nil {
					failed = exit.New(exit.Interrupted, errors.New("interrupted while waiting; the node is drained"),
						"seriatim cluster uncordon ends the drain")
				}
			}
			if failed != nil {
				return failed
			}
			return p.print(answer, func() table {
				return table{rows: [][]string{{"Node", answer.NodeID}, {"Drained", strconv.FormatBool(answer.Drained)}}}
			})
		}),
	}
	if verb == "drain" {
		c.Flags().DurationVar(&wait, "wait", 0,
			"return only after this time, in which load balancers notice that the node is not ready; it still answers")
	}
	return c
}
