package client

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/contexts"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

func contextCommand(o *options) *cobra.Command {
	return group("context", "Name connections to clusters, and choose one",
		"Name connections to clusters, and choose one.\n\n"+
			"A context holds addresses, an authority, a token file, an access key or AWS profile, an account and an output format.\n"+
			"A flag comes before an environment variable, which comes before the context. The tool ignores the current context if a\n"+
			"flag or a variable names an endpoint or an admin port. To choose a context for one command, use --context or\n"+
			EnvContext+". Its key and token never go to an address that the context does not have.",
		contextAddCommand(o), contextUseCommand(o), contextListCommand(o), contextShowCommand(o), contextRemoveCommand(o))
}

// given reports whether a flag or its variable has a value.
func given(cmd *cobra.Command, flag string) bool {
	return cmd.Flags().Changed(flag) || os.Getenv(variables[flag]) != ""
}

// useContext sets the options that no flag and no variable gives to those of the context, and returns
// the access key for the client port, nil without one.
func (o *options) useContext(cmd *cobra.Command) (*api.Key, error) {
	c, err := o.chosenContext(cmd)
	if err != nil {
		return nil, err
	}
	if len(c.Endpoints) > 0 && !given(cmd, "endpoint") {
		o.endpoints = c.Endpoints
	}
	if !given(cmd, "admin") && !given(cmd, "endpoint") { // otherwise a command would address two clusters
		o.admins = c.Admins
	}
	if err := o.keepSecrets(&c); err != nil {
		return nil, err
	}
	for flag, value := range map[string]struct {
		to   *string
		from string
	}{
		"ca-file": {&o.caFile, c.CAFile}, "admin-token-file": {&o.tokenFile, c.TokenFile}, "account": {&o.account, c.Account},
		"output": {&o.output, c.Output},
	} {
		if value.from != "" && !given(cmd, flag) && (flag != "admin-token-file" || os.Getenv(EnvAdminToken) == "") {
			*value.to = value.from
		}
	}
	return findKey(c)
}

// chosenContext returns the context of --context, or the current one unless a flag or a variable has
// an address. It reads the file only for these, because a wrong file must not break other commands.
func (o *options) chosenContext(cmd *cobra.Command) (c contexts.Context, err error) {
	if o.context == "" && (given(cmd, "endpoint") || given(cmd, "admin")) {
		return c, nil
	}
	if _, err := contexts.Path(); err != nil && o.context == "" { // without a home directory there is no context
		return c, nil
	}
	f, err := contextFile()
	if err != nil {
		return c, err
	}
	if name := cmp.Or(o.context, f.Current); name != "" {
		return findContext(f, name)
	}
	return c, nil
}

// keepSecrets removes the key and the token from a context if they would go to addresses that the
// context does not have.
func (o *options) keepSecrets(c *contexts.Context) error {
	own := options{endpoints: c.Endpoints, admins: c.Admins}
	if len(own.endpoints) == 0 {
		own.endpoints = []string{defaultEndpoint}
	}
	endpoints, admin, err := own.ports()
	if err != nil {
		return err
	}
	usedEndpoints, usedAdmin, err := o.ports()
	if err != nil {
		return err
	}
	isOther := func(all []string) func(string) bool {
		return func(address string) bool { return !slices.Contains(all, address) }
	}
	if slices.ContainsFunc(usedEndpoints, isOther(endpoints)) {
		c.Profile, c.KeyID, c.Secret = "", "", ""
	}
	if slices.ContainsFunc(usedAdmin.addresses, isOther(admin.addresses)) {
		c.TokenFile = ""
	}
	return nil
}

// findKey returns the access key of the environment or of a context. A flag for the secret would show
// it to other users of the machine.
func findKey(c contexts.Context) (*api.Key, error) {
	key := contexts.Key{ID: os.Getenv("AWS_ACCESS_KEY_ID"), Secret: os.Getenv("AWS_SECRET_ACCESS_KEY")}
	switch {
	case key.ID != "" && key.Secret != "":
	case c.KeyID != "":
		key.ID, key.Secret = c.KeyID, c.Secret
	case c.Profile != "":
		var err error
		if key, err = contexts.Profile(c.Profile); err != nil {
			return nil, exit.New(exit.Usage, err, "")
		}
	default:
		return nil, nil
	}
	region := cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), key.Region, "us-east-1")
	return &api.Key{ID: key.ID, Secret: key.Secret, Region: region}, nil
}

// contextFile reads the file with the contexts.
func contextFile() (*contexts.File, error) {
	path, err := contexts.Path()
	if err != nil {
		return nil, exit.New(exit.Failed, err, "")
	}
	f, err := contexts.Read(path)
	if err != nil {
		return nil, exit.New(exit.Failed, err, "")
	}
	return f, nil
}

// onContexts adapts a command that works on the file.
func (o *options) onContexts(do func(f *contexts.File, p *printer, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		p, err := o.printer(cmd)
		if err != nil {
			return err
		}
		f, err := contextFile()
		if err != nil {
			return err
		}
		return exit.Wrap(do(f, p, args))
	}
}

// findContext is Find with the exit code of things that do not exist.
func findContext(f *contexts.File, name string) (contexts.Context, error) {
	c, err := f.Find(name)
	if err != nil {
		err = exit.New(exit.NotFound, err, "seriatim context add makes one")
	}
	return c, err
}

func contextAddCommand(o *options) *cobra.Command {
	var profile string
	var withKey bool
	c := &cobra.Command{
		Use: "add NAME", Short: "Store the connection of this command under a name", Args: arguments.Exactly("the name"),
		Long: "Store the connection of this command under a name: the flags, and the environment variables of flags that you leave out.\n" +
			"The first context becomes the current one. A context of that name is replaced.",
		Example: "  seriatim context add prod --endpoint https://q1:9324,https://q2:9324,https://q3:9324 --ca-file ca.crt \\\n" +
			"    --admin-token-file prod.token --aws-profile prod\n" +
			"  seriatim context add local --endpoint http://127.0.0.1:9324",
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.onContexts(func(f *contexts.File, p *printer, args []string) error {
				added, err := o.contextOf(cmd, profile, withKey)
				if err != nil {
					return err
				}
				f.Contexts[args[0]] = added
				if f.Current == "" {
					f.Current = args[0]
				}
				if err := f.Write(); err != nil {
					return err
				}
				return p.done(map[string]any{"name": args[0], "current": f.Current == args[0]}, "context %s stored%s", args[0],
					map[bool]string{true: ", and current"}[f.Current == args[0]])
			})(cmd, args)
		},
	}
	c.Flags().StringVar(&profile, "aws-profile", "", "profile of the AWS tools with the access key")
	c.Flags().BoolVar(&withKey, "with-key", false, "store the key from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	return c
}

// contextOf returns the connection that the flags and variables of a command describe.
func (o *options) contextOf(cmd *cobra.Command, profile string, withKey bool) (contexts.Context, error) {
	c := contexts.Context{CAFile: o.caFile, TokenFile: o.tokenFile, Account: o.account, Admins: o.admins, Profile: profile}
	if given(cmd, "endpoint") {
		c.Endpoints = o.endpoints
	}
	if given(cmd, "output") {
		c.Output = o.output
	}
	for _, file := range []*string{&c.CAFile, &c.TokenFile} { // you use the context in any folder
		if *file == "" {
			continue
		}
		absolute, err := filepath.Abs(*file)
		if err != nil {
			return c, err
		}
		*file = absolute
	}
	if _, _, err := o.ports(); err != nil {
		return c, err
	}
	if err := o.checkAccount(); err != nil {
		return c, err
	}
	if profile != "" && withKey {
		return c, exit.New(exit.Usage, errors.New("--aws-profile and --with-key exclude each other"), "")
	}
	if profile != "" {
		if _, err := contexts.Profile(profile); err != nil {
			return c, exit.New(exit.NotFound, err, "")
		}
	}
	if withKey {
		c.KeyID, c.Secret = os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
		if c.KeyID == "" || c.Secret == "" {
			return c, exit.New(exit.Usage, errors.New("--with-key: no key is in the environment"),
				"set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
		}
	}
	return c, nil
}

func contextUseCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Make a context the current one", Args: arguments.Exactly("the name"),
		Example: "  seriatim context use prod", ValidArgsFunction: completeContexts,
		RunE: o.onContexts(func(f *contexts.File, p *printer, args []string) error {
			if _, err := findContext(f, args[0]); err != nil {
				return err
			}
			f.Current = args[0]
			if err := f.Write(); err != nil {
				return err
			}
			return p.done(map[string]any{"name": args[0], "current": true}, "context %s is current", args[0])
		}),
	}
}

// listedContext is a context in the listing, without its secret.
type listedContext struct {
	Name    string `json:"name"`
	Current bool   `json:"current"`
	contexts.Context
}

func contextListCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the contexts", Args: arguments.None, Example: "  seriatim context list",
		RunE: o.onContexts(func(f *contexts.File, p *printer, _ []string) error {
			list := []listedContext{}
			for _, name := range f.Names() {
				list = append(list, listedContext{Name: name, Current: name == f.Current, Context: f.Contexts[name]})
			}
			return p.print(map[string]any{"contexts": list}, func() table {
				t := table{heading: []string{"NAME", "CURRENT", "ENDPOINTS", "KEY"}}
				for _, c := range list {
					current := map[bool]string{true: "yes", false: "-"}[c.Current]
					t.add(c.Name, current, orDash(strings.Join(c.Endpoints, ",")), orDash(c.key()))
				}
				return t
			})
		}),
	}
}

// key describes the access key of a context.
func (c listedContext) key() string {
	if c.Profile != "" {
		return "profile " + c.Profile
	}
	return c.KeyID
}

func contextShowCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "show [NAME]", Short: "Show a context, or the current one", Args: arguments.Optional("the name"),
		Example: "  seriatim context show\n  seriatim context show prod -o json", ValidArgsFunction: completeContexts,
		RunE: o.onContexts(func(f *contexts.File, p *printer, args []string) error {
			name := f.Current
			if len(args) > 0 {
				name = args[0]
			}
			if name == "" {
				return exit.New(exit.NotFound, errors.New("no context is current"), "seriatim context use NAME chooses one")
			}
			found, err := findContext(f, name)
			if err != nil {
				return err
			}
			c := listedContext{Name: name, Current: name == f.Current, Context: found}
			return p.print(c, func() table {
				return table{rows: [][]string{
					{"Name", c.Name}, {"Current", fmt.Sprint(c.Current)}, {"Endpoints", orDash(strings.Join(c.Endpoints, ","))},
					{"Admin ports", orDash(strings.Join(c.Admins, ","))}, {"CA file", orDash(c.CAFile)},
					{"Token file", orDash(c.TokenFile)},
					{"Account", orDash(c.Account)}, {"Key", orDash(c.key())}, {"Output", orDash(c.Output)},
				}}
			})
		}),
	}
}

func contextRemoveCommand(o *options) *cobra.Command {
	q := &question{}
	return q.of(&cobra.Command{
		Use: "remove NAME", Short: "Remove a context", Args: arguments.Exactly("the name"),
		Example: "  seriatim context remove old", ValidArgsFunction: completeContexts,
		RunE: func(cmd *cobra.Command, args []string) error {
			return ended(o.onContexts(func(f *contexts.File, p *printer, args []string) error {
				if _, err := findContext(f, args[0]); err != nil {
					return err
				}
				const effect = "The address and the key of this cluster are deleted from your contexts."
				if err := q.ask(cmd, p, effect, "the name of the context", args[0]); err != nil {
					return err
				}
				delete(f.Contexts, args[0])
				if f.Current == args[0] {
					f.Current = ""
				}
				if err := f.Write(); err != nil {
					return err
				}
				return p.done(map[string]any{"name": args[0], "removed": true}, "context %s removed", args[0])
			})(cmd, args))
		},
	})
}

// completeContexts offers the names of the contexts.
func completeContexts(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	f, err := contextFile()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return f.Names(), cobra.ShellCompDirectiveNoFileComp
}
