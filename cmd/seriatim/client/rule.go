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
	api "github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/grpc/ruletext"
)

func ruleCommand(o *options) *cobra.Command {
	return group("rule", "List, add, remove and test the rules of a subscription",
		"List, add, remove and test the rules of a subscription.\n\n"+
			"A topic and the subscribed queue name the subscription. It begins with the rule $Default, which selects every message.\n"+
			"A message that a rule selects goes to the queue. Each rule with an action delivers a copy of its own.",
		ruleListCommand(o), ruleAddCommand(o), ruleRemoveCommand(o), ruleTestCommand(o))
}

func ruleListCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "list TOPIC QUEUE", Short: "List the rules of a subscription by name", Args: arguments.Exactly("TOPIC", "QUEUE"),
		Example:           "  seriatim topic rule list sales.fifo fraud.fifo\n  seriatim topic rule list sales.fifo fraud.fifo -o json",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			s, err := findSubscription(cmd.Context(), n, args[0], args[1])
			if err != nil {
				return err
			}
			found, err := native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) ([]*api.Rule, error) {
				return c.Rules(ctx, s.arn)
			})
			if err != nil {
				return err
			}
			list := []ruletext.Rule{}
			for _, r := range found {
				list = append(list, ruletext.Of(r))
			}
			return p.print(map[string]any{"rules": list}, func() table {
				t := table{heading: []string{"NAME", "FILTER", "ACTION"}}
				for i := range list {
					t.add(list[i].Name, list[i].Filter(), strings.Join(append([]string{list[i].Action}, list[i].ActionParameters...), "  "))
				}
				return t
			})
		}),
	}
}

// ruleFlags holds the flags of a rule.
type ruleFlags struct {
	sql, action       string
	where, parameters []string
	all, none         bool
}

func (f *ruleFlags) bind(c *cobra.Command) {
	c.Flags().StringVar(&f.sql, "sql", "", "select messages by a condition in SQL, such as \"amount > 1000\"")
	c.Flags().StringArrayVar(&f.where, "where", nil,
		"select messages by a property, as name=text or name:TYPE=value with the types integer, number and boolean, may be repeated")
	c.Flags().StringVar(&f.action, "action", "", "change the selected messages, such as \"SET checked = FALSE; REMOVE draft\"")
	c.Flags().StringArrayVar(&f.parameters, "parameter", nil,
		"the value of a parameter @name in --sql and --action, as name=text or name:TYPE=value, may be repeated")
}

// read returns the rule of the flags.
func (f *ruleFlags) read(name string) (*api.Rule, error) {
	d := ruletext.Rule{Name: name, SQL: f.sql, Where: f.where, Action: f.action}
	if f.none {
		d.All = new(false)
	}
	for _, text := range f.parameters {
		used, err := d.AddParameter(text)
		if err != nil {
			return nil, propertyError("parameter", err)
		}
		if !used {
			return nil, exit.New(exit.Usage, fmt.Errorf("--parameter %q: neither --sql nor --action mentions it", text), "")
		}
	}
	r, err := d.Message()
	if err != nil {
		return nil, propertyError("where", err)
	}
	return r, nil
}

func propertyError(flag string, err error) error {
	return exit.New(exit.Usage, fmt.Errorf("--%s %w", flag, err), "write it as --"+flag+" name=text or --"+flag+" name:integer=5")
}

func ruleAddCommand(o *options) *cobra.Command {
	f := &ruleFlags{}
	var replace bool
	c := &cobra.Command{
		Use: "add TOPIC QUEUE NAME --sql CONDITION|--where PROPERTY|--all|--none", Short: "Add a rule to a subscription",
		Args: arguments.Exactly("TOPIC", "QUEUE", "NAME"),
		Long: "Add a rule to a subscription. It applies to messages that are published from now on. Remove $Default, or the\n" +
			"subscription keeps getting every message.\n\n" +
			"Names of system properties begin with sys. The page docs/reference/rules.md describes the SQL.",
		Example: "  seriatim topic rule add sales.fifo fraud.fifo large --sql \"amount > 1000\" --action \"SET checked = FALSE\"\n" +
			"  seriatim topic rule add sales.fifo abroad.fifo fr --where country=FR --where sys.Label=order\n" +
			"  seriatim topic rule add sales.fifo fraud.fifo limit --sql \"amount > @limit\" --parameter limit:integer=1000\n" +
			"  seriatim topic rule add sales.fifo fraud.fifo large --sql \"amount > 500\" --replace",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			r, err := f.read(args[2])
			if err != nil {
				return err
			}
			s, err := findSubscription(cmd.Context(), n, args[0], args[1])
			if err != nil {
				return err
			}
			if err := n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error {
				if replace {
					return c.PutRule(ctx, s.arn, r)
				}
				return c.AddRule(ctx, s.arn, r)
			}); err != nil {
				return err
			}
			return p.done(map[string]any{"subscriptionArn": s.arn, "rule": args[2], "added": true}, "rule %s added", args[2])
		}),
	}
	f.bind(c)
	c.Flags().BoolVar(&f.all, "all", false, "select every message")
	c.Flags().BoolVar(&f.none, "none", false, "select no message")
	c.Flags().BoolVar(&replace, "replace", false, "replace the rule of this name if there is one")
	c.MarkFlagsOneRequired("sql", "where", "all", "none")
	c.MarkFlagsMutuallyExclusive("sql", "where", "all", "none")
	return c
}

func ruleRemoveCommand(o *options) *cobra.Command {
	q := &question{}
	return q.of(&cobra.Command{
		Use: "remove TOPIC QUEUE NAME", Short: "Remove a rule of a subscription", Args: arguments.Exactly("TOPIC", "QUEUE", "NAME"),
		Long:              "Remove a rule of a subscription. A subscription without rules gets no message.",
		Example:           "  seriatim topic rule remove sales.fifo fraud.fifo '$Default' --yes",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			s, err := findSubscription(cmd.Context(), n, args[0], args[1])
			if err != nil {
				return err
			}
			effect := fmt.Sprintf("%s gets no further messages that only the rule %s selects.", s.subscriber(), args[2])
			if err := q.ask(cmd, p, effect, "the name of the rule", args[2]); err != nil {
				return err
			}
			if err := n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error {
				return c.RemoveRule(ctx, s.arn, args[2])
			}); err != nil {
				return err
			}
			return p.done(map[string]any{"subscriptionArn": s.arn, "rule": args[2], "removed": true}, "rule %s removed", args[2])
		}),
	})
}

func ruleTestCommand(o *options) *cobra.Command {
	f := &ruleFlags{}
	var given []string
	c := &cobra.Command{
		Use: "test TOPIC QUEUE", Short: "Show which rules of a subscription would select a message, and why",
		Args: arguments.Exactly("TOPIC", "QUEUE"),
		Long: "Show which rules of a subscription would select a message with some properties, and what their actions would change.\n" +
			"Nothing is published. With --sql, --where or --action you test another rule before you add it. The exit code is 1 if\n" +
			"no rule selects the message.",
		Example: "  seriatim topic rule test sales.fifo fraud.fifo --property amount:integer=1200 --property sys.Label=order\n" +
			"  seriatim topic rule test sales.fifo fraud.fifo --property amount:integer=700 --sql \"amount > 500\"",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			var other *api.Rule
			if slices.ContainsFunc([]string{"sql", "where", "action", "parameter"}, cmd.Flags().Changed) {
				var err error
				if other, err = f.read(""); err != nil {
					return err
				}
			}
			return testRules(cmd, n, p, args, other, given)
		}),
	}
	c.Flags().StringArrayVarP(&given, "property", "p", nil,
		"a property of the message as name=text or name:TYPE=value, of the system as sys.NAME=text, may be repeated")
	f.bind(c)
	c.MarkFlagsMutuallyExclusive("sql", "where")
	return c
}

// ruleResult is the result of a rule in JSON output.
type ruleResult struct {
	Rule        string           `json:"rule"`
	Selected    bool             `json:"selected"`
	Fault       string           `json:"fault,omitempty"` // why the rule fails
	Explanation *ruleExplanation `json:"explanation"`
	Changes     []string         `json:"changes,omitempty"` // properties with their values, or "REMOVE name"
}

// ruleExplanation is the result of a part of a filter.
type ruleExplanation struct {
	Text   string             `json:"text"`
	Result string             `json:"result"` // true, false or unknown
	Reason string             `json:"reason,omitempty"`
	Values []string           `json:"values,omitempty"`
	Parts  []*ruleExplanation `json:"parts,omitempty"`
}

func explanationOf(x *api.RuleExplanation) *ruleExplanation {
	out := &ruleExplanation{Text: x.GetText(), Result: x.GetResult(), Reason: x.GetReason(), Values: ruletext.Properties(x.GetValues())}
	for _, part := range x.GetParts() {
		out.Parts = append(out.Parts, explanationOf(part))
	}
	return out
}

func testRules(cmd *cobra.Command, n *native.Conn, p *printer, args []string, other *api.Rule, given []string) error {
	system, application := map[string]*api.PropertyValue{}, map[string]*api.PropertyValue{}
	for _, text := range given {
		name, v, err := ruletext.ParseProperty(text)
		if err != nil {
			return propertyError("property", err)
		}
		if of, is := ruletext.SystemProperty(name); is {
			system[of] = v
		} else {
			application[name] = v
		}
	}
	s, err := findSubscription(cmd.Context(), n, args[0], args[1])
	if err != nil {
		return err
	}
	tests, err := native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) ([]*api.RuleTest, error) {
		return c.TestRules(ctx, s.arn, other, system, application)
	})
	if err != nil {
		return err
	}
	selected := slices.ContainsFunc(tests, func(t *api.RuleTest) bool { return t.GetSelected() && t.GetFault() == "" })
	results := []ruleResult{}
	for _, t := range tests {
		r := ruleResult{Rule: t.GetName(), Selected: t.GetSelected(), Fault: t.GetFault(), Explanation: explanationOf(t.GetExplanation())}
		for _, change := range t.GetChanges() {
			text := "REMOVE " + change.GetName()
			if change.GetValue() != nil {
				text = ruletext.FormatProperty(change.GetName(), change.GetValue())
			}
			r.Changes = append(r.Changes, text)
		}
		results = append(results, r)
	}
	if err := p.print(map[string]any{"selected": selected, "tests": results}, func() table { return resultTable(results) }); err != nil {
		return err
	}
	switch {
	case selected:
		return nil
	case slices.ContainsFunc(results, func(r ruleResult) bool { return r.Fault != "" }):
		return exit.New(exit.Failed, errors.New("a rule fails: the message goes to the dead-letter queue of the subscription"),
			"with DeadLetterOnFilterError=false it does not")
	default:
		return exit.New(exit.Failed, errors.New("no rule selects the message: "+s.subscriber()+" does not get it"), "")
	}
}

// resultTable has a row for each rule, and one for each part of its filter.
func resultTable(results []ruleResult) table {
	t := table{heading: []string{"RULE", "FILTER", "RESULT", "PROPERTIES", "CHANGES"}}
	var parts func(indent string, x *ruleExplanation)
	parts = func(indent string, x *ruleExplanation) {
		for _, part := range x.Parts {
			t.add("", indent+part.Text, part.outcome(), strings.Join(part.Values, "  "), "")
			parts(indent+"  ", part)
		}
	}
	for i := range results {
		r := &results[i]
		x, outcome := r.Explanation, r.Explanation.outcome()
		if r.Fault != "" {
			outcome = "fails: " + r.Fault
		}
		t.add(cmp.Or(r.Rule, "(given)"), x.Text, outcome, strings.Join(x.Values, "  "), strings.Join(r.Changes, "  "))
		parts("  ", x)
	}
	return t
}

func (x *ruleExplanation) outcome() string {
	if x.Reason == "" {
		return x.Result
	}
	return x.Result + ": " + x.Reason
}
