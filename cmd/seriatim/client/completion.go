package client

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// completionTimeout bounds how long a shell waits for names.
const completionTimeout = 2 * time.Second

// completeQueues offers the names of the queues that exist.
func (o *options) completeQueues(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return o.offer(cmd, args, func(ctx context.Context, w *wire) ([]string, error) {
		urls, err := w.listQueues(ctx, typed)
		names := make([]string, len(urls))
		for i, u := range urls {
			names[i] = nameOf(u)
		}
		return names, err
	})
}

// completeMembers offers the ids of the members and of the nodes that wait to become
// members.
func (o *options) completeMembers(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return o.offer(cmd, args, func(ctx context.Context, w *wire) (ids []string, err error) {
		list, err := w.members(ctx, true)
		for _, m := range list.Members {
			ids = append(ids, m.NodeID)
		}
		for _, waiting := range list.Waiting {
			ids = append(ids, waiting.NodeID)
		}
		return ids, err
	})
}

// completeKeys offers the ids of the access keys.
func (o *options) completeKeys(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return o.offer(cmd, args, func(ctx context.Context, w *wire) (ids []string, err error) {
		list, err := w.accessKeys(ctx)
		for _, k := range list.Keys {
			ids = append(ids, k.ID)
		}
		return ids, err
	})
}

// completeAccounts offers the accounts.
func (o *options) completeAccounts(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return o.offer(cmd, args, func(ctx context.Context, w *wire) (ids []string, err error) {
		list, err := w.accounts(ctx)
		for _, a := range list.Accounts {
			ids = append(ids, a.Account)
		}
		return ids, err
	})
}

// completeUsers offers the users that have a policy, in whichever account.
func (o *options) completeUsers(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return o.offer(cmd, args, func(ctx context.Context, w *wire) (names []string, err error) {
		list, err := w.userPolicies(ctx)
		for _, u := range list.Policies {
			if !slices.Contains(names, u.User) {
				names = append(names, u.User)
			}
		}
		return names, err
	})
}

// offer completes the first argument of a command with names that a server knows. It
// stays silent when none answers quickly.
func (o *options) offer(cmd *cobra.Command, args []string, list func(context.Context, *wire) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	w, _, err := o.open(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	names, err := list(ctx, w)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
