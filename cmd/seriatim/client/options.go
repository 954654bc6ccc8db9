package client

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/top"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// Environment variables of the tool, beside those of the AWS tools.
const (
	EnvEndpoint   = "SERIATIM_ENDPOINT"
	EnvAdmin      = "SERIATIM_ADMIN"
	EnvAdminToken = "SERIATIM_ADMIN_TOKEN"
	EnvTokenFile  = "SERIATIM_ADMIN_TOKEN_FILE"
	EnvCAFile     = "SERIATIM_CA_FILE"
	EnvAccount    = "SERIATIM_ACCOUNT"
	EnvOutput     = "SERIATIM_OUTPUT"
	EnvTimeout    = "SERIATIM_TIMEOUT"
	EnvContext    = "SERIATIM_CONTEXT"
)

// Environment lists the variables that only the tool reads. The server refuses unknown SERIATIM_
// variables except these.
var Environment = []string{EnvEndpoint, EnvAdmin, EnvAdminToken, EnvTokenFile, EnvCAFile, EnvOutput, EnvTimeout, EnvContext, EnvSourceKey,
	EnvSourceSecret, EnvSourceToken}

// variables are the environment variables of flags.
var variables = map[string]string{"endpoint": EnvEndpoint, "admin": EnvAdmin, "admin-token-file": EnvTokenFile, "ca-file": EnvCAFile,
	"account": EnvAccount, "output": EnvOutput, "timeout": EnvTimeout, "context": EnvContext}

// VersionAnnotation is the annotation of the root command with the version of the program.
const VersionAnnotation = "version"

const (
	defaultEndpoint = "http://127.0.0.1:9324"
	defaultTimeout  = 30 * time.Second
)

// options holds the flags of every command of the tool.
type options struct {
	endpoints []string
	admins    []string
	caFile    string
	account   string
	tokenFile string
	output    string
	columns   []string
	sort      string
	timeout   time.Duration
	context   string
	screen    io.Writer // with --watch: the output of the process
}

// Commands returns the subcommands of the tool.
func Commands() []*cobra.Command {
	o := &options{}
	list := []*cobra.Command{
		statusCommand(o), checkCommand(o), doctorCommand(o), debugCommand(o), clusterCommand(o), backupCommand(o), upgradeCommand(o),
		queueCommand(o), messageCommand(o), groupCommand(o),
		sessionCommand(o), deduplicationCommand(o), topicCommand(o), deadLetterCommand(o), accountCommand(o), encryptionCommand(o),
		keyCommand(o), policyCommand(o), definitionsCommand(o), migrateCommand(o), benchCommand(o), contextCommand(o), explainCommand(o),
		connectionsCommand(o), auditCommand(o), logCommand(o), top.Command(o.openTop),
	}
	for _, c := range list {
		o.bind(c)
		o.watchAll(c)
	}
	return list
}

func (o *options) bind(c *cobra.Command) {
	f := c.PersistentFlags()
	f.StringSliceVar(&o.endpoints, "endpoint", listOr(EnvEndpoint, defaultEndpoint),
		"client ports of nodes, repeated or with commas: the next is asked if one does not answer; env "+EnvEndpoint)
	f.StringSliceVar(&o.admins, "admin", listOr(EnvAdmin),
		"admin ports of nodes, repeated or with commas; env "+EnvAdmin+" (default: the endpoints' hosts, port + 1)")
	f.StringVar(&o.caFile, "ca-file", os.Getenv(EnvCAFile),
		"PEM file of authorities to trust for https, beside the system's; env "+EnvCAFile)
	f.StringVar(&o.account, "account", os.Getenv(EnvAccount),
		"account of requests without a signature, 12 digits (default: that of the cluster); env "+EnvAccount)
	f.StringVar(&o.tokenFile, "admin-token-file", os.Getenv(EnvTokenFile), "file with the token for the admin port; env "+EnvTokenFile+
		" (default: the token in env "+EnvAdminToken+", else that of a node on this machine)")
	f.StringVar(&o.context, "context", os.Getenv(EnvContext), "name of a connection, see seriatim context; env "+EnvContext)
	if err := c.RegisterFlagCompletionFunc("context", completeContexts); err != nil {
		panic(err) // the flag is defined above
	}
	f.StringVarP(&o.output, "output", "o", envOr(EnvOutput, output.Table), output.Help+"; env "+EnvOutput)
	f.StringSliceVar(&o.columns, "columns", nil, output.ColumnsHelp)
	f.StringVar(&o.sort, "sort", "", output.SortHelp)
	f.Lookup("endpoint").DefValue = strings.Join(o.endpoints, ",")
	complete(c, "output", output.Values...)
	f.DurationVar(&o.timeout, "timeout", timeoutFrom(os.Getenv(EnvTimeout)),
		"give up after this time; a long poll adds its wait; env "+EnvTimeout)
}

// complete makes shells offer the values of a flag.
func complete(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is not defined, or completed twice
	}
}

// open checks the flags and makes the connections and the printer of a command.
func (o *options) open(cmd *cobra.Command) (*wire, *printer, error) {
	key, err := o.useContext(cmd)
	if err != nil {
		return nil, nil, err
	}
	p, err := o.printer(cmd)
	if err != nil {
		return nil, nil, err
	}
	if o.timeout <= 0 {
		return nil, nil, exit.New(exit.Usage, errors.New("--timeout and "+EnvTimeout+" must be a time above zero, such as 30s"), "")
	}
	endpoints, admin, err := o.ports()
	if err != nil {
		return nil, nil, err
	}
	trusted, err := trustedBy(o.caFile)
	if err != nil {
		return nil, nil, err
	}
	token, err := o.adminToken()
	if err != nil {
		return nil, nil, err
	}
	if err := o.checkAccount(); err != nil {
		return nil, nil, err
	}
	w := &wire{
		api:   native.Options{Addresses: endpoints, TLS: trusted, Timeout: o.timeout, Account: o.account, Key: key},
		admin: admin, token: token, timeout: o.timeout, ownTokens: new(sync.Map),
		http: httpClient(trusted, o.timeout, len(admin.addresses)),
	}
	return w, p, nil
}

// printer returns the printer of a command.
func (o *options) printer(cmd *cobra.Command) (*printer, error) {
	format, err := output.Parse(o.output, o.columns, o.sort)
	if err != nil {
		return nil, exit.New(exit.Usage, err, "use -o "+output.Help)
	}
	screen := cmd.OutOrStdout()
	if o.screen != nil {
		screen = o.screen
	}
	format.Colour = output.WantsColour(screen)
	return &printer{out: cmd.OutOrStdout(), words: cmd.ErrOrStderr(), format: format}, nil
}

func (o *options) checkAccount() error {
	if o.account != "" && !isAccount(o.account) {
		return exit.New(exit.Usage, fmt.Errorf("--account %q is not an account", o.account),
			"an account has 12 digits; seriatim account list shows them")
	}
	return nil
}

// isAccount reports whether text has the form of an account id.
func isAccount(text string) bool { return len(text) == 12 && strings.Trim(text, "0123456789") == "" }

// adminToken returns the token for the admin port, empty without one.
func (o *options) adminToken() (string, error) {
	if o.tokenFile == "" {
		return strings.TrimSpace(os.Getenv(EnvAdminToken)), nil
	}
	text, err := os.ReadFile(o.tokenFile)
	if err != nil {
		return "", exit.New(exit.Usage, fmt.Errorf("--admin-token-file: %w", err), "")
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", exit.New(exit.Usage, fmt.Errorf("--admin-token-file %s is empty", o.tokenFile), "")
	}
	return token, nil
}

// timeoutFrom parses the value of EnvTimeout. An invalid one is 0, which open refuses.
func timeoutFrom(text string) time.Duration {
	if text == "" {
		return defaultTimeout
	}
	d, _ := time.ParseDuration(text)
	return d
}

// ports parses the addresses of the client and admin ports.
func (o *options) ports() (endpoints []string, admin *port, err error) {
	admin = &port{}
	for _, text := range o.endpoints {
		u, err := parseAddress("endpoint", strings.TrimSpace(text))
		if err != nil {
			return nil, nil, err
		}
		endpoints = append(endpoints, u.String())
		if len(o.admins) == 0 {
			admin.addresses = append(admin.addresses, adminOf(u))
			admin.guessed = admin.guessed || u.Scheme == "https" && !isLoopback(u.Hostname())
		}
	}
	for _, text := range o.admins {
		u, err := parseAddress("admin", strings.TrimSpace(text))
		if err != nil {
			return nil, nil, err
		}
		admin.addresses = append(admin.addresses, u.String())
	}
	if len(endpoints) == 0 || len(admin.addresses) == 0 {
		return nil, nil, exit.New(exit.Usage, errors.New("--endpoint is empty"), "write it like "+defaultEndpoint)
	}
	return endpoints, admin, nil
}

// parseAddress parses a URL, or host:port, which means http.
func parseAddress(flag, text string) (*url.URL, error) {
	if strings.Contains(text, "@") { // errors would show the password
		return nil, exit.New(exit.Usage, fmt.Errorf("--%s: an address has no user and password", flag),
			"name the token for the admin port with --admin-token-file, and a key in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	full := text
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(strings.TrimRight(full, "/"))
	if err == nil && (u.Scheme != "http" && u.Scheme != "https") {
		err = fmt.Errorf("scheme %q is neither http nor https", u.Scheme)
	}
	if err == nil && u.Host == "" {
		err = errors.New("the host is missing")
	}
	if err == nil && (u.Path != "" || u.RawQuery != "" || u.Fragment != "") {
		err = errors.New("it has more than scheme, host and port")
	}
	if err != nil {
		return nil, exit.New(exit.Usage, fmt.Errorf("--%s %q: %w", flag, text, err), "write it like "+defaultEndpoint)
	}
	return u, nil
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// adminOf guesses the admin port from the client port: by default it is the next one.
func adminOf(endpoint *url.URL) string {
	port := endpoint.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[endpoint.Scheme]
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		n = 9324
	}
	return "http://" + net.JoinHostPort(endpoint.Hostname(), strconv.Itoa(n+1))
}

// listOr reads a comma-separated list from the environment.
func listOr(name string, other ...string) []string {
	if v := os.Getenv(name); v != "" {
		return strings.Split(v, ",")
	}
	return other
}

func envOr(name, other string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return other
}

// group makes a command that only holds others.
func group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: long, RunE: arguments.Group}
	c.AddCommand(commands...)
	return c
}

// run adapts a function for a command: it opens the connections and adds exit codes to errors.
func (o *options) run(do func(cmd *cobra.Command, w *wire, p *printer, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		w, p, err := o.open(cmd)
		if err != nil {
			return err
		}
		return ended(do(cmd, w, p, args))
	}
}

// ended adds an exit code to the error of a command. A dry run is a success.
func ended(err error) error {
	if errors.Is(err, errDryRun) {
		return nil
	}
	return exit.Wrap(err)
}

// runNative is like run, for a command that calls the native API.
func (o *options) runNative(do func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		w, p, err := o.open(cmd)
		if err != nil {
			return err
		}
		n, err := native.Open(w.api)
		if err != nil {
			return err
		}
		defer n.Close()
		return ended(do(cmd, n, p, args))
	}
}
