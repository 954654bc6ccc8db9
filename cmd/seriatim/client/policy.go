package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

const (
	userPoliciesPath = "/v1/access/policies"
	simulatePath     = "/v1/access/simulate"
)

func policyCommand(o *options) *cobra.Command {
	return group("policy", "Store, show, list, delete and simulate the policies of users",
		"Store, show, list, delete and simulate the policies of users, which grant permissions.\n\n"+
			"A policy is an IAM policy. docs/operate/security.md lists the supported part of the language.\n"+
			"A user without a policy has only the permissions that policies of queues and topics grant.",
		policyPutCommand(o), policyGetCommand(o), policyListCommand(o), policyDeleteCommand(o), policySimulateCommand(o))
}

func policyPutCommand(o *options) *cobra.Command {
	account, file := "", ""
	c := &cobra.Command{
		Use: "put USER --file FILE", Short: "Store the policy of a user", Args: arguments.Exactly("USER"),
		Long: "Store the policy of a user in place of the present one. The cluster refuses a policy with unsupported elements.",
		Example: `  seriatim policy put orders-service --file policy.json
  echo '{"Statement":{"Effect":"Allow","Action":"sqs:*","Resource":"arn:aws:sqs:*:*:orders*"}}' | seriatim policy put orders-service --file -`,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			if file == "" {
				return exit.New(exit.Usage, errors.New("--file is missing"), "name the file with the policy, or - for standard input")
			}
			text, err := readAccessFile("file", file, arguments.Input(cmd))
			if err != nil {
				return err
			}
			if text == "" {
				return exit.New(exit.Usage, fmt.Errorf("--file %s is empty", file), "seriatim policy delete deletes a policy")
			}
			return w.putPolicy(cmd, p, document.UserPolicy{Account: account, User: args[0], Policy: text}, "stored")
		}),
	}
	c.Flags().StringVar(&account, "account", "", "account of the user, 12 digits (default: that of the cluster)")
	names(o.completeAccounts).of(c, "account")
	c.Flags().StringVar(&file, "file", "", "file with the policy; -: standard input")
	return c
}

func policyDeleteCommand(o *options) *cobra.Command {
	account, q := "", &question{}
	c := &cobra.Command{
		Use: "delete USER", Short: "Delete the policy of a user", Args: arguments.Exactly("USER"),
		Example:           "  seriatim policy delete orders-service --yes",
		ValidArgsFunction: o.completeUsers,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			if _, err := w.userPolicy(cmd.Context(), args[0], account); err != nil {
				return err
			}
			if err := q.ask(cmd, p, args[0]+" keeps only the permissions from policies of queues and topics.", "the name of the user",
				args[0]); err != nil {
				return err
			}
			return w.putPolicy(cmd, p, document.UserPolicy{Account: account, User: args[0]}, "deleted")
		}),
	}
	c.Flags().StringVar(&account, "account", "", "account of the user, 12 digits (default: that of the cluster)")
	names(o.completeAccounts).of(c, "account")
	return q.of(c)
}

func (w *wire) putPolicy(cmd *cobra.Command, p *printer, policy document.UserPolicy, past string) error {
	var stored document.UserPolicy
	if err := w.post(cmd.Context(), userPoliciesPath, policy, &stored); err != nil {
		return err
	}
	return p.done(map[string]any{"account": stored.Account, "user": stored.User, "done": past}, "the policy of %s is %s", stored.User, past)
}

func (w *wire) userPolicies(ctx context.Context) (list document.UserPolicies, err error) {
	err = w.get(ctx, userPoliciesPath, nil, &list)
	return list, err
}

// userPolicy finds the policy of a user, in any account if account is empty.
func (w *wire) userPolicy(ctx context.Context, user, account string) (document.UserPolicy, error) {
	list, err := w.userPolicies(ctx)
	if err != nil {
		return document.UserPolicy{}, err
	}
	for _, u := range list.Policies {
		if u.User == user && (account == "" || u.Account == account) {
			return u, nil
		}
	}
	return document.UserPolicy{}, exit.New(exit.NotFound, fmt.Errorf("the user %s has no policy", user),
		"seriatim policy list shows the users with a policy")
}

func policyListCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the users that have a policy", Args: arguments.None,
		Example: "  seriatim policy list\n  seriatim policy list -o json",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			list, err := w.userPolicies(cmd.Context())
			if err != nil {
				return err
			}
			return p.print(list, func() table {
				t := table{heading: []string{"ACCOUNT", "USER", "POLICY"}}
				for _, u := range list.Policies {
					t.add(u.Account, u.User, plural.Count(len(u.Policy), "byte", "bytes"))
				}
				return t
			})
		}),
	}
}

func policyGetCommand(o *options) *cobra.Command {
	account := ""
	c := &cobra.Command{
		Use: "get USER", Short: "Print the policy of a user", Args: arguments.Exactly("USER"),
		Example:           "  seriatim policy get orders-service > policy.json",
		ValidArgsFunction: o.completeUsers,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			u, err := w.userPolicy(cmd.Context(), args[0], account)
			if err != nil {
				return err
			}
			if p.format.OfDocument() {
				return p.print(u, nil)
			}
			_, err = fmt.Fprintln(p.out, u.Policy)
			return err
		}),
	}
	c.Flags().StringVar(&account, "account", "", "account of the user, 12 digits (default: any)")
	return c
}

// verdict formats effect and statement.
func verdict(v *document.Verdict) string {
	switch {
	case v == nil:
		return "no statement"
	case v.Sid != "":
		return fmt.Sprintf("%s, statement %d (%s)", v.Effect, v.Statement, v.Sid)
	}
	return fmt.Sprintf("%s, statement %d", v.Effect, v.Statement)
}

func policySimulateCommand(o *options) *cobra.Command {
	query, flags := url.Values{}, []string{"user", "key", "account", "action", "resource"}
	var given []string
	c := &cobra.Command{
		Use:   "simulate --user USER|--key ID --action ACTION --resource RESOURCE",
		Short: "Show whether a request would be allowed, and the deciding statement", Args: arguments.None,
		Long: "Show whether the stored policies would allow a request, and the policy and statement that decide. The command sends\n" +
			"nothing to the queue or topic. The exit code is 0 if the request is allowed and 4 if it is denied.",
		Example: `  seriatim policy simulate --user orders-service --action sqs:SendMessage --resource orders.fifo
  seriatim policy simulate --key SRTMEXAMPLE --action sns:Publish --resource arn:aws:sns:us-east-1:000000000000:events --condition aws:SourceIp=10.0.0.7`,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			for _, name := range flags {
				query.Set(name, cmd.Flag(name).Value.String())
			}
			query["context"] = given
			var s document.Simulation
			if err := w.get(cmd.Context(), simulatePath, query, &s); err != nil {
				return err
			}
			return p.simulated(&s)
		}),
	}
	for i, usage := range []string{
		"name of the calling user", "id of the key that signs the request", "account of the user, 12 digits (default: that of the cluster)",
		"requested action, such as sqs:SendMessage", "name or ARN of a queue or topic; * for an action without one",
	} {
		c.Flags().String(flags[i], "", usage)
	}
	names(o.completeUsers).of(c, "user")
	names(o.completeKeys).of(c, "key")
	names(o.completeAccounts).of(c, "account")
	complete(c, "action", permissions()...)
	names(o.completeQueues).of(c, "resource")
	c.Flags().StringArrayVar(&given, "condition", nil,
		"NAME=VALUE of a condition key, repeated: aws:SourceIp, aws:UserAgent, aws:SecureTransport, aws:CurrentTime")
	return c
}

// simulated prints a decision. A denial is an error.
func (p *printer) simulated(s *document.Simulation) error {
	word := map[bool]string{true: "allowed", false: "denied"}[s.Allowed]
	if err := p.print(s, func() table {
		t := table{}
		t.add("Decision", word)
		t.add("Decided by", s.DecidedBy)
		t.add("User policy", verdict(s.UserPolicy))
		t.add("Resource policy", verdict(s.ResourcePolicy))
		t.add("Caller", s.Caller)
		t.add("Action", s.Action)
		t.add("Resource", s.Resource)
		return t
	}); err != nil {
		return err
	}
	if !s.Exists {
		p.say("%s does not exist", s.Resource)
	}
	if !s.Enforced {
		p.say("auth is off at this node: its client port serves every request and ignores policies")
	}
	if s.Allowed {
		return nil
	}
	hint := native.PolicyHint
	if s.DecidedBy == "disabled key" {
		hint = "seriatim key enable enables the key again"
	}
	return exit.New(exit.Denied, fmt.Errorf("%s may not %s", s.Caller, s.Action), hint)
}
