package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

const accessKeysPath = "/v1/access/keys"

func keyCommand(o *options) *cobra.Command {
	return group("key", "Create, list, rotate, disable and revoke access keys",
		"Create, list, rotate, disable and revoke access keys, with which clients sign their requests.\n\n"+
			"A key belongs to a user, whose policies limit it, or to the account itself, which may do everything.\n"+
			"These commands go to the admin port. New rights are valid on all nodes at once. Removed rights are invalid at the\n"+
			"asked node before it answers, and at the others commonly within milliseconds.",
		keyCreateCommand(o), keyListCommand(o), keyRotateCommand(o),
		keyChangeCommand(o, keyChange{
			use: "enable ID", path: "enable", past: "accepted again", short: "Accept a disabled key again",
			long: "Accept requests that are signed with a key that was disabled.",
		}),
		keyChangeCommand(o, keyChange{
			use: "disable ID", path: "disable", past: "disabled", short: "Refuse a key until it is enabled again",
			effect: "Requests that are signed with the key are refused until it is enabled again.",
			long:   "Refuse requests that are signed with a key, until it is enabled again.",
		}),
		keyChangeCommand(o, keyChange{
			use: "revoke ID", path: "delete", past: "revoked", short: "Revoke a key for good",
			effect: "Requests that are signed with the key are refused for good.",
			long:   "Revoke a key for good. Requests that are signed with it are refused.",
		}))
}

func keyCreateCommand(o *options) *cobra.Command {
	var in document.NewAccessKey
	secretFile := ""
	c := &cobra.Command{
		Use: "create", Short: "Make an access key and print it with its secret", Args: arguments.None,
		Long: "Make an access key and print it with its secret, which is shown only now.\n\n" +
			"Without --user the key is one of the account itself, which may do everything.",
		Example: "  seriatim key create\n  seriatim key create --user orders-service\n  seriatim key create --user ci -o json\n" +
			"  seriatim key create --id AKIAIOSFODNN7EXAMPLE --secret-file secret.txt",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) (err error) {
			if (in.ID == "") != (secretFile == "") {
				return exit.New(exit.Usage, errors.New("--id and --secret-file belong together"),
					"give both to use a key from elsewhere, or none to draw a new one")
			}
			if secretFile != "" {
				if in.Secret, err = readAccessFile("secret-file", secretFile, arguments.Input(cmd)); err != nil {
					return err
				}
				if in.Secret == "" {
					return exit.New(exit.Usage, fmt.Errorf("--secret-file %s is empty", secretFile), "")
				}
			}
			var made document.AccessKey
			if err := w.post(cmd.Context(), accessKeysPath, in, &made); err != nil {
				return err
			}
			return p.showKey(made)
		}),
	}
	c.Flags().StringVar(&in.User, "user", "", "name of the user the key belongs to (default: the account itself)")
	c.Flags().StringVar(&in.Account, "account", "", "account of the user, 12 digits (default: that of the cluster)")
	names(o.completeUsers).of(c, "user")
	names(o.completeAccounts).of(c, "account")
	c.Flags().StringVar(&in.ID, "id", "", "id of a key from elsewhere")
	c.Flags().StringVar(&secretFile, "secret-file", "", "file with its secret; -: standard input")
	return c
}

// accessFileMax bounds a file with a secret or a policy, in bytes.
const accessFileMax = 64 << 10

// readAccessFile reads a file, or standard input for -, and trims blanks.
func readAccessFile(flag, name string, stdin io.Reader) (string, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return "", exit.New(exit.Usage, fmt.Errorf("--%s: %w", flag, err), "")
		}
		defer func() { _ = file.Close() }() // it is only read
		stdin = file
	}
	text, err := io.ReadAll(io.LimitReader(stdin, accessFileMax+1))
	if errors.Is(err, context.Canceled) {
		return "", err
	}
	if err != nil {
		return "", exit.New(exit.Usage, fmt.Errorf("--%s: %w", flag, err), "")
	}
	if len(text) > accessFileMax {
		return "", exit.New(exit.Usage, fmt.Errorf("--%s %s is larger than %d KiB", flag, name, accessFileMax>>10), "is it the right file?")
	}
	return strings.TrimSpace(string(text)), checkText("--"+flag+" "+name, string(text), "is it the right file?")
}

// showKey prints a new key as lines that a shell can read.
func (p *printer) showKey(k document.AccessKey) error {
	if p.format.OfDocument() {
		return p.print(k, nil)
	}
	_, err := fmt.Fprintf(p.out, "export AWS_ACCESS_KEY_ID=%s\nexport AWS_SECRET_ACCESS_KEY=%s\n", k.ID, k.Secret)
	p.say("The secret is shown only now. With these variables set, seriatim context add NAME --with-key stores the key.")
	return err
}

func (w *wire) accessKeys(ctx context.Context) (list document.AccessKeys, err error) {
	err = w.get(ctx, accessKeysPath, nil, &list)
	return list, err
}

func keyListCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the access keys, without their secrets", Args: arguments.None,
		Example: "  seriatim key list\n  seriatim key list -o json | jq -r '.keys[].id'",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			list, err := w.accessKeys(cmd.Context())
			if err != nil {
				return err
			}
			return p.print(list, func() table {
				t := table{heading: []string{"ID", "ACCOUNT", "USER", "ACTIVE", "CREATED"}}
				for _, k := range list.Keys {
					t.add(k.ID, k.Account, orDash(k.User), map[bool]string{true: "yes", false: "no"}[k.Active], k.CreatedAt)
				}
				return t
			})
		}),
	}
}

func keyRotateCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "rotate ID", Short: "Make another key for the user of a key", Args: arguments.Exactly("ID"),
		Long: "Make another key for the user of the key ID, and print it with its secret, which is shown only now. Both are accepted\n" +
			"until you revoke the old one: give the new one to all clients, then run seriatim key revoke ID.",
		Example:           "  seriatim key rotate SRTMEXAMPLE\n  seriatim key revoke SRTMEXAMPLE",
		ValidArgsFunction: o.completeKeys,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			list, err := w.accessKeys(cmd.Context())
			if err != nil {
				return err
			}
			for _, k := range list.Keys {
				if k.ID != args[0] {
					continue
				}
				var made document.AccessKey
				if err := w.post(cmd.Context(), accessKeysPath, document.NewAccessKey{Account: k.Account, User: k.User},
					&made); err != nil {
					return err
				}
				return p.showKey(made)
			}
			return exit.New(exit.NotFound, fmt.Errorf("there is no access key %s", args[0]), "seriatim key list shows them")
		}),
	}
}

// keyChange describes a command that changes a key.
type keyChange struct {
	use, path, past, short, long string
	effect                       string // the loss for users of the key; empty: none, and no question
}

func keyChangeCommand(o *options, change keyChange) *cobra.Command {
	q := &question{}
	c := &cobra.Command{
		Use: change.use, Short: change.short, Long: change.long, Args: arguments.Exactly("ID"),
		Example:           "  seriatim key " + change.use[:len(change.use)-len(" ID")] + " SRTMEXAMPLE",
		ValidArgsFunction: o.completeKeys,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			if change.effect != "" {
				if err := q.ask(cmd, p, change.effect, args[0]+" again to "+change.use[:len(change.use)-len(" ID")]+" it",
					args[0]); err != nil {
					return err
				}
			}
			if err := w.post(cmd.Context(), accessKeysPath+"/"+url.PathEscape(args[0])+"/"+change.path, struct{}{},
				&struct{}{}); err != nil {
				return err
			}
			return p.done(map[string]any{"id": args[0], "done": change.past}, "%s is %s", args[0], change.past)
		}),
	}
	if change.effect != "" {
		return q.of(c)
	}
	return c
}
