package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

const accountsPath = "/v1/accounts"

func accountCommand(o *options) *cobra.Command {
	return group("account", "Create, list and delete accounts, and set their quotas",
		"Create, list and delete accounts, and set their quotas.\n\n"+
			"Queues and topics belong to an account. An account sees nothing of another one unless policies permit it, and two accounts\n"+
			"may have queues of one name. The account of the cluster, which the setting account names, always exists.\n"+
			"These commands go to the admin port.",
		accountCreateCommand(o), accountListCommand(o), accountShowCommand(o), accountQuotaCommand(o), accountDeleteCommand(o))
}

// quotaFlags adds a flag for each limit.
func quotaFlags(q *document.Quota, c *cobra.Command) {
	f := c.Flags()
	f.Int64Var(&q.Queues, "queues", 0, "most queues (0: any number)")
	f.Int64Var(&q.Topics, "topics", 0, "most topics (0: any number)")
	f.Int64Var(&q.Messages, "messages", 0, "most stored messages, in queues, archives of topics and for HTTP subscribers (0: any number)")
	f.Int64Var(&q.Bytes, "bytes", 0, "most bytes of stored messages, bodies and attributes (0: any number)")
	f.Int64Var(&q.RequestsPerSecond, "requests-per-second", 0, "most requests a second at each node (0: any number)")
}

func accountCreateCommand(o *options) *cobra.Command {
	var q document.Quota
	c := &cobra.Command{
		Use: "create ACCOUNT", Short: "Create an account", Args: arguments.Exactly("ACCOUNT"),
		Long: "Create an account. Its id has 12 digits. Without limits it has no quota.",
		Example: "  seriatim account create 111111111111\n  seriatim account create 111111111111 --queues 100 --messages 1000000\n" +
			"  seriatim key create --account 111111111111",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			in := document.NewAccount{Account: args[0], Quota: q}
			if err := w.post(cmd.Context(), accountsPath, in, &struct{}{}); err != nil {
				return err
			}
			return p.done(map[string]any{"account": args[0], "done": "created"}, "account %s is created", args[0])
		}),
	}
	quotaFlags(&q, c)
	return c
}

func (w *wire) accounts(ctx context.Context) (list document.Accounts, err error) {
	err = w.get(ctx, accountsPath, nil, &list)
	return list, err
}

func (w *wire) account(ctx context.Context, id string) (document.Account, error) {
	list, err := w.accounts(ctx)
	if err != nil {
		return document.Account{}, err
	}
	for _, a := range list.Accounts {
		if a.Account == id {
			return a, nil
		}
	}
	return document.Account{}, exit.New(exit.NotFound, fmt.Errorf("there is no account %s", id), "seriatim account list shows them")
}

// ofQuota formats a number with its limit, if there is one.
func ofQuota(has, most int64) string {
	if most == 0 {
		return decimal(has)
	}
	return decimal(has) + "/" + decimal(most)
}

func (p *printer) showAccounts(answer any, accounts []document.Account) error {
	return p.print(answer, func() table {
		t := table{heading: []string{"ACCOUNT", "QUEUES", "TOPICS", "MESSAGES", "BYTES", "REQUESTS/S", "CREATED"}}
		for _, a := range accounts {
			rate := "-"
			if a.Quota.RequestsPerSecond != 0 {
				rate = decimal(a.Quota.RequestsPerSecond)
			}
			t.add(a.Account, ofQuota(a.Usage.Queues, a.Quota.Queues), ofQuota(a.Usage.Topics, a.Quota.Topics),
				ofQuota(a.Usage.Messages, a.Quota.Messages), ofQuota(a.Usage.Bytes, a.Quota.Bytes), rate, orDash(a.CreatedAt))
		}
		return t
	})
}

func accountListCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the accounts with usage and limits", Args: arguments.None,
		Example: "  seriatim account list\n  seriatim account list -o json",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			list, err := w.accounts(cmd.Context())
			if err != nil {
				return err
			}
			return p.showAccounts(list, list.Accounts)
		}),
	}
}

func accountShowCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "show ACCOUNT", Short: "Show usage and limits of an account", Args: arguments.Exactly("ACCOUNT"),
		Example:           "  seriatim account show 111111111111",
		ValidArgsFunction: o.completeAccounts,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			a, err := w.account(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return p.showAccounts(a, []document.Account{a})
		}),
	}
}

func accountQuotaCommand(o *options) *cobra.Command {
	var wanted document.Quota
	c := &cobra.Command{
		Use: "quota ACCOUNT", Short: "Set the quota of an account", Args: arguments.Exactly("ACCOUNT"),
		Long: "Set the quota of an account. Limits that you do not name stay as they are, and 0 removes one. The account keeps its\n" +
			"queues, topics and messages, even beyond a limit.",
		Example: "  seriatim account quota 111111111111 --queues 100 --bytes 1073741824\n" +
			"  seriatim account quota 111111111111 --queues 0",
		ValidArgsFunction: o.completeAccounts,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			a, err := w.account(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			changed := false
			for _, limit := range []struct {
				flag string
				from int64
				to   *int64
			}{
				{"queues", wanted.Queues, &a.Quota.Queues},
				{"topics", wanted.Topics, &a.Quota.Topics},
				{"messages", wanted.Messages, &a.Quota.Messages},
				{"bytes", wanted.Bytes, &a.Quota.Bytes},
				{"requests-per-second", wanted.RequestsPerSecond, &a.Quota.RequestsPerSecond},
			} {
				if cmd.Flags().Changed(limit.flag) {
					*limit.to, changed = limit.from, true
				}
			}
			if !changed {
				return exit.New(exit.Usage, errors.New("no limit is given"),
					"name one, such as --queues 100; seriatim account show prints the present ones")
			}
			if err := w.post(cmd.Context(), accountsPath+"/"+url.PathEscape(args[0])+"/quota", a.Quota, &struct{}{}); err != nil {
				return err
			}
			return p.done(map[string]any{"account": args[0], "quota": a.Quota}, "the quota of account %s is changed", args[0])
		}),
	}
	quotaFlags(&wanted, c)
	return c
}

func accountDeleteCommand(o *options) *cobra.Command {
	q := &question{}
	return q.of(&cobra.Command{
		Use: "delete ACCOUNT", Short: "Delete an empty account", Args: arguments.Exactly("ACCOUNT"),
		Long:              "Delete an account without queues, topics, access keys and policies.",
		Example:           "  seriatim account delete 111111111111 --yes",
		ValidArgsFunction: o.completeAccounts,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			if err := q.ask(cmd, p, "The account "+args[0]+" and its quota are deleted if it is empty.", "the number of the account",
				args[0]); err != nil {
				return err
			}
			err := w.post(cmd.Context(), accountsPath+"/"+url.PathEscape(args[0])+"/delete", struct{}{}, &struct{}{})
			if exit.CodeOf(err) == exit.NotFound {
				return exit.New(exit.NotFound, fmt.Errorf("there is no account %s", args[0]), "seriatim account list shows them")
			}
			if err != nil {
				return err
			}
			return p.done(map[string]any{"account": args[0], "done": "deleted"}, "account %s is deleted", args[0])
		}),
	})
}
