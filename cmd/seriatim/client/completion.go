package client

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/transport/aws"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/sns"
	"github.com/seriatimq/seriatim/transport/sqs"
)

// completionTimeout bounds the time in which a shell waits for names.
const completionTimeout = 2 * time.Second

// completeQueues offers the names of the queues that exist.
func (o *options) completeQueues(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return o.offerNative(cmd, args, func(ctx context.Context, n *native.Conn) ([]string, error) {
		list, err := listQueues(ctx, n, typed)
		return list.names, err
	})
}

// completeDeadLetterQueues offers the queues that a RedrivePolicy names.
func (o *options) completeDeadLetterQueues(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return o.offerNative(cmd, args, func(ctx context.Context, n *native.Conn) (names []string, err error) {
		found, err := deadLetterQueues(ctx, n)
		for _, d := range found {
			if !d.Missing && strings.HasPrefix(d.Name, typed) {
				names = append(names, d.Name)
			}
		}
		return names, err
	})
}

// names completes an argument with names. Its method of makes a flag offer the same names.
type names func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// of makes shells offer the names for a flag.
func (n names) of(c *cobra.Command, flag string) {
	err := c.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return n(cmd, nil, typed)
	})
	if err != nil {
		panic(err) // the flag is not defined, or completed twice
	}
}

// completeAttributes makes shells offer the attributes for --attribute.
func completeAttributes(c *cobra.Command, known []attributes.Described) {
	names(func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return offerAttributes(known, typed)
	}).of(c, "attribute")
}

// offerAttributes offers names of attributes, each with an equals sign. After the sign it offers the
// values, if the attribute takes only a few.
func offerAttributes(known []attributes.Described, typed string) (offered []string, _ cobra.ShellCompDirective) {
	name, value, valued := strings.Cut(typed, "=")
	for _, a := range known {
		if !valued && strings.HasPrefix(a.Name, name) {
			offered = append(offered, a.Name+"=")
		}
		for _, word := range a.Words {
			if valued && a.Name == name && strings.HasPrefix(word, value) {
				offered = append(offered, name+"="+word)
			}
		}
	}
	if valued {
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
	return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// namesOf returns the names of attributes.
func namesOf(list []attributes.Described) (names []string) {
	for _, a := range list {
		names = append(names, a.Name)
	}
	return names
}

// permissions lists the actions that policies can permit.
func permissions() []string {
	unique := map[string]bool{}
	for _, needed := range aws.Permissions(new(sqs.Service).API(), sns.API()) {
		unique[needed] = true
	}
	return slices.Sorted(maps.Keys(unique))
}

// unknownAttribute adds a hint with the known attributes to the error about an unknown one.
func unknownAttribute(err error, given map[string]string, known []string) error {
	e, refused := errors.AsType[*api.FailureError](err)
	if !refused || e.Reason != "InvalidAttributeName" && !strings.HasSuffix(e.Message, "AttributeName") {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(known, name) {
			continue
		}
		hint := "the attributes are " + strings.Join(known, ", ")
		if near := arguments.Nearest(name, known); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, " or ") + "?"
		}
		return exit.New(exit.CodeOf(err), err, hint)
	}
	return err
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

func (o *options) completeKeys(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return o.offer(cmd, args, func(ctx context.Context, w *wire) (ids []string, err error) {
		list, err := w.accessKeys(ctx)
		for _, k := range list.Keys {
			ids = append(ids, k.ID)
		}
		return ids, err
	})
}

func (o *options) completeAccounts(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return o.offer(cmd, args, func(ctx context.Context, w *wire) (ids []string, err error) {
		list, err := w.accounts(ctx)
		for _, a := range list.Accounts {
			ids = append(ids, a.Account)
		}
		return ids, err
	})
}

// completeUsers offers the users of all accounts that have a policy.
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

// offerNative is like offer, for names from the native API.
func (o *options) offerNative(cmd *cobra.Command, args []string, list func(context.Context, *native.Conn) ([]string, error)) ([]string,
	cobra.ShellCompDirective) {
	return o.offer(cmd, args, func(ctx context.Context, w *wire) ([]string, error) {
		n, err := native.Open(w.api)
		if err != nil {
			return nil, err
		}
		defer n.Close()
		return list(ctx, n)
	})
}

// offer completes the first argument of a command with names from a server. It offers none if no
// server answers within completionTimeout.
func (o *options) offer(cmd *cobra.Command, args []string, list func(context.Context, *wire) ([]string, error)) ([]string,
	cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	w, _, err := o.open(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	if names, err := list(ctx, w); err == nil {
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}
