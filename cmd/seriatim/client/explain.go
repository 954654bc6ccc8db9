package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/docs/reference"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

// explained is the meaning of an error code or an exit code.
type explained struct {
	Code    string `json:"code"`
	HTTP    string `json:"http,omitempty"`
	API     string `json:"api,omitempty"`
	Of      string `json:"of,omitempty"` // of an exit code: the program
	Meaning string `json:"meaning"`
}

func explainCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "explain CODE", Short: "Explain an error code of the APIs, or an exit code", Args: arguments.Exactly("the code"),
		Long: "Explain an error code of the SQS, SNS and native APIs, or an exit code of the tool and of the server.\n" +
			"The code may have the prefixes that SDKs show, such as AWS.SimpleQueueService.",
		Example: "  seriatim explain InvalidParameterValue\n  seriatim explain 80",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return explainedCodes(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := o.printer(cmd)
			if err != nil {
				return err
			}
			found := explain(args[0])
			if len(found) == 0 {
				hint := "docs/reference/errors.md and exit-codes.md list all codes"
				if near := arguments.Nearest(args[0], explainedCodes()); len(near) > 0 {
					hint = "did you mean " + strings.Join(near, ", ") + "?"
				}
				return exit.New(exit.NotFound, fmt.Errorf("there is no code %q", args[0]), hint)
			}
			return p.print(map[string]any{"codes": found}, func() table {
				t := table{heading: []string{"CODE", "HTTP", "WHERE", "MEANING"}}
				for _, e := range found {
					t.add(e.Code, orDash(e.HTTP), cmp.Or(e.API, e.Of), e.Meaning)
				}
				return t
			})
		},
	}
}

// explain finds a code, without the prefix of an SDK and the suffix Exception.
func explain(code string) (found []explained) {
	short := code[strings.LastIndexAny(code, ".#")+1:]
	for _, e := range allExplained() {
		if slices.Contains([]string{code, short, strings.TrimSuffix(short, "Exception"), short + "Exception"}, e.Code) {
			found = append(found, e)
		}
	}
	return found
}

func explainedCodes() (codes []string) {
	for _, e := range allExplained() {
		codes = append(codes, e.Code)
	}
	return codes
}

// allExplained reads the tables of the pages: with four columns in the page on errors, and with the
// code first in that on exit codes, below a heading with the name of the program.
func allExplained() (all []explained) {
	for _, cells := range tableRows(reference.Errors) {
		if len(cells) == 5 && strings.HasPrefix(cells[1], "`") {
			for _, code := range strings.Split(cells[1], ", ") {
				all = append(all, explained{Code: strings.Trim(code, "`"), HTTP: cells[2], API: cells[3], Meaning: plain(cells[4])})
			}
		}
	}
	for _, cells := range tableRows(reference.ExitCodes) {
		if len(cells) >= 3 && strings.Trim(cells[1], "0123456789") == "" {
			all = append(all, explained{Code: cells[1], Of: cells[0], Meaning: plain(strings.Join(cells[2:], " "))})
		}
	}
	return all
}

// tableRows returns the cells of all tables of a page, after the heading above.
func tableRows(page string) (rows [][]string) {
	heading := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "## "); ok {
			heading = text
		}
		if strings.HasPrefix(line, "|") {
			cells := []string{heading}
			for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
				cells = append(cells, strings.TrimSpace(cell))
			}
			rows = append(rows, cells)
		}
	}
	return rows
}

// plain removes the marks of code.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }

func queueExplainCommand(o *options) *cobra.Command {
	return explaining(o, &cobra.Command{
		Use: "explain NAME", Short: "Explain what receives from a queue get, and why",
		Args: arguments.Exactly("NAME"), Example: "  seriatim queue explain orders.fifo", ValidArgsFunction: o.completeQueues,
	}, func(args []string) (*api.ExplainRequest, error) {
		return &api.ExplainRequest{Queue: qualifiedOf(args[0])}, nil
	})
}

func groupExplainCommand(o *options) *cobra.Command {
	return explaining(o, &cobra.Command{
		Use: "explain QUEUE GROUP", Short: "Explain why a group delivers no messages, and which client holds them",
		Long: "Explain why a group delivers no messages, or that it does. If a receiver holds the group, the answer has its address,\n" +
			"access key id, user agent and node, and the time of the receive. Nodes keep these details only in memory.",
		Args: arguments.Exactly("QUEUE", "GROUP"), ValidArgsFunction: o.completeGroups,
		Example: "  seriatim group explain orders.fifo customer-9",
	}, func(args []string) (*api.ExplainRequest, error) {
		return &api.ExplainRequest{Queue: qualifiedOf(args[0]), Subject: &api.ExplainGroup{GroupId: args[1]}}, nil
	})
}

func topicExplainCommand(o *options) *cobra.Command {
	return explaining(o, &cobra.Command{
		Use: "explain NAME", Short: "Explain where the messages of a topic go",
		Args: arguments.Exactly("NAME"), Example: "  seriatim topic explain events.fifo",
	}, func(args []string) (*api.ExplainRequest, error) {
		return &api.ExplainRequest{Topic: qualifiedOf(args[0])}, nil
	})
}

func subscriptionExplainCommand(o *options) *cobra.Command {
	return explaining(o, &cobra.Command{
		Use: "explain SUBSCRIPTION-ARN", Short: "Explain whether a topic delivers to a subscription",
		Args:    arguments.Exactly("SUBSCRIPTION-ARN"),
		Example: "  seriatim topic subscription explain arn:aws:sns:us-east-1:000000000000:events.fifo:7f6e...",
	}, func(args []string) (*api.ExplainRequest, error) {
		return &api.ExplainRequest{Subject: &api.ExplainSubscription{Subscription: &api.SubscriptionSubject{SubscriptionArn: args[0]}}}, nil
	})
}

func messageExplainCommand(o *options) *cobra.Command {
	sequence, id := "", ""
	c := explaining(o, &cobra.Command{
		Use: "explain QUEUE (--sequence NUMBER | --message ID)", Short: "Explain where a message is, and what happens to it next",
		Args: arguments.Exactly("QUEUE"), ValidArgsFunction: o.completeQueues,
		Example: "  seriatim msg explain orders.fifo --sequence 10000000000000000042",
	}, func(args []string) (*api.ExplainRequest, error) {
		chosen := &api.MessageSelector{MessageId: id}
		if (sequence == "") == (id == "") {
			return nil, exit.New(exit.Usage, errors.New("name one message"), "give --sequence or --message")
		}
		if sequence != "" {
			n, err := parseSequence("--sequence", sequence)
			if err != nil {
				return nil, err
			}
			chosen.SequenceNumber = n
		}
		return &api.ExplainRequest{Queue: qualifiedOf(args[0]), Subject: &api.ExplainMessage{Message: chosen}}, nil
	})
	c.Flags().StringVar(&sequence, "sequence", "", "sequence number, as seriatim msg peek and msg find print it")
	c.Flags().StringVar(&id, "message", "", "message id; the node reads the queue to find it")
	return c
}

// explanation is an explanation in JSON output.
type explanation struct {
	State    string           `json:"state"`
	Summary  string           `json:"summary"`
	Details  []string         `json:"details"`
	UntilMs  int64            `json:"untilMs,omitempty"`
	Next     string           `json:"next,omitempty"`
	Holder   *explainedHolder `json:"holder,omitempty"`
	Timeline []explainedEvent `json:"timeline,omitempty"`
	Commands []explainedLine  `json:"commands"`
}

type explainedHolder struct {
	Address   string `json:"address"`
	AccessKey string `json:"accessKey,omitempty"`
	Node      string `json:"node"`
	SinceMs   int64  `json:"sinceMs"`
}

type explainedEvent struct {
	AtMs  int64  `json:"atMs"`
	Event string `json:"event"`
}

type explainedLine struct {
	Line   string `json:"line"`
	Effect string `json:"effect"`
}

// explaining completes a command that prints an Explanation.
func explaining(o *options, c *cobra.Command, of func(args []string) (*api.ExplainRequest, error)) *cobra.Command {
	c.RunE = o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
		in, err := of(args)
		if err != nil {
			return err
		}
		found, err := native.Get(cmd.Context(), n, func(ctx context.Context, to *api.Client) (*api.Explanation, error) {
			return to.Explain(ctx, in)
		})
		if err != nil {
			return err
		}
		e := explanation{
			State: found.GetState(), Summary: found.GetSummary(), Details: emptyIfNil(found.GetDetails()), UntilMs: found.GetUntilMs(),
			Next: found.GetNext(), Commands: []explainedLine{},
		}
		if h := found.GetHolder(); h != nil {
			e.Holder = &explainedHolder{h.GetAddress(), h.GetAccessKey(), h.GetNode(), h.GetSinceMs()}
		}
		for _, event := range found.GetTimeline() {
			e.Timeline = append(e.Timeline, explainedEvent{event.GetAtMs(), event.GetEvent()})
		}
		for _, line := range found.GetCommands() {
			e.Commands = append(e.Commands, explainedLine{line.GetLine(), line.GetEffect()})
		}
		return p.print(e, e.table)
	})
	return c
}

func (e *explanation) table() table {
	t := table{rows: [][]string{{"State", e.State}, {"Why", e.Summary}}}
	for _, detail := range e.Details {
		t.add("", detail)
	}
	if e.Next != "" {
		t.add("Next", e.Next)
	}
	for _, event := range e.Timeline {
		t.add(clockTime(decimal(event.AtMs)), event.Event)
	}
	for _, c := range e.Commands {
		t.add("Command", c.Line+"   # "+c.Effect)
	}
	return t
}
