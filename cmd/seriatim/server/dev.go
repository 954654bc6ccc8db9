package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
	"github.com/seriatimq/seriatim/transport/servicebus/emulator"
)

// devPortStep is the distance between the ports of two nodes that dev starts.
const devPortStep = 10

// devAMQP is the port that Azure Service Bus clients use with an emulator. One node opens it if it is
// free.
const devAMQP = "127.0.0.1:5672"

const (
	devNodesMax     = 9
	defaultBasePort = 9324
)

// ownedByDev lists the settings that dev chooses for each node.
var ownedByDev = []string{
	"node-name", "data-dir", "bootstrap-expect", "join", "client-addr", "admin-addr", "peer-addr", "gossip-addr",
	"advertise-peer", "advertise-gossip", "tls-cert", "tls-key", "admin-cert", "admin-key", "admin-tokens-file", "insecure-admin",
	"peer-cert", "peer-key", "peer-ca", "gossip-key-file", "encryption-key-file", "insecure-peers",
}

// shownByDev lists the flags in the help of dev.
var shownByDev = []string{
	"nodes", "data-dir", "base-port", "restart", "verbose", "auth", "account", "region", "check-arn-region", "minimum-window",
	"aws-cooldowns", "sns-allow-endpoints", "servicebus-config", "log-level", "log-store", "body-store",
}

type devFlags struct {
	nodes    int
	dataDir  string
	basePort int
	restart  bool
	verbose  bool

	auth    bool
	keyFile string // with auth, of all nodes

	serviceBusConfig string
	entities         emulator.Config
}

// withAuth fills in the settings of auth. Auth is off by default, because the ports are on the
// loopback address.
func (f devFlags) withAuth(flags *pflag.FlagSet, dir string) devFlags {
	given := flagsLayer(flags).values
	f.auth = given["auth"] == "true"
	if f.keyFile = given["first-key-file"]; f.auth && f.keyFile == "" {
		f.keyFile = filepath.Join(dir, "first-key")
	}
	return f
}

// addresses holds the addresses of the four ports of one node.
type addresses struct{ client, admin, peer, gossip string }

func (f devFlags) addresses(node int) addresses {
	at := func(offset int) string {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(f.basePort+devPortStep*(node-1)+offset))
	}
	return addresses{client: at(0), admin: at(1), peer: at(2), gossip: at(3)}
}

func devCommand(version string) *cobra.Command {
	f := devFlags{}
	c := &cobra.Command{
		Use: "dev", Short: "Run one node, or a whole cluster, on this machine for development",
		Long: "Run one node, or with --nodes a cluster of real server processes, on this machine for development.\n\n" +
			"Node i, counted from 1, has its client, admin, peer and gossip ports at base + 10*(i-1) + 0, 1, 2 and 3.\n" +
			"When all nodes answer, the command prints a line that begins with 'ready'. Without --data-dir it removes all data at\n" +
			"the end. Kill a node to try a failover: the others continue. With --restart the command starts the node again.\n\n" +
			"You can add settings of 'seriatim server' except names and addresses, for example --minimum-window 1 or\n" +
			"--log-level debug. Requests need no access key unless you add --auth.",
		Example: "  seriatim dev\n  seriatim dev --nodes 3 --data-dir ./data\n  seriatim dev --nodes 3 --restart --base-port 19324",
		Args:    arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return exit.Wrap(dev(cmd, version, f))
		},
	}
	fl := c.Flags()
	fl.IntVar(&f.nodes, "nodes", 1, "number of nodes")
	fl.StringVar(&f.dataDir, "data-dir", "", "directory for the nodes' data; empty: a temporary one, removed at the end")
	fl.IntVar(&f.basePort, "base-port", defaultBasePort, "client port of node 1; the other ports follow from it")
	fl.BoolVar(&f.restart, "restart", false, "start a node again after it was killed")
	fl.StringVar(&f.serviceBusConfig, "servicebus-config", "",
		"configuration file of the Azure Service Bus emulator, whose queues are created at the start")
	fl.BoolVar(&f.verbose, "verbose", false, "show the nodes' logs here instead of writing them to node-i/seriatim.log")
	bindFlags(fl, func(name string) bool { return !slices.Contains(ownedByDev, name) })
	fl.VisitAll(func(flag *pflag.Flag) {
		flag.Hidden = !slices.Contains(shownByDev, flag.Name)
	})
	fl.Lookup("auth").DefValue = "false" // see withAuth
	return c
}

func dev(cmd *cobra.Command, version string, f devFlags) error {
	started := time.Now()
	if f.nodes < 1 || f.nodes > devNodesMax {
		return exit.New(exit.Usage, fmt.Errorf("--nodes %d: it must be 1 to %d", f.nodes, devNodesMax), "")
	}
	if highest := f.basePort + devPortStep*(f.nodes-1) + 3; f.basePort < 1 || highest > 65535 {
		return exit.New(exit.Usage, fmt.Errorf("--base-port %d: ports %d to %d do not exist", f.basePort, f.basePort, highest), "")
	}
	entities, err := readEntities(f.serviceBusConfig)
	if err != nil {
		return err
	}
	f.entities = entities
	if err := checkPorts(f); err != nil {
		return err
	}
	dir, remove, err := devDirectory(f)
	if err != nil {
		return err
	}
	defer remove()
	f = f.withAuth(cmd.Flags(), dir)
	// When the terminal is closed, the command must still remove its data.
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGHUP)
	defer stop()
	cmd.SetContext(ctx)
	if f.nodes == 1 {
		return devAlone(cmd, version, f, dir, started)
	}
	return devCluster(cmd, f, dir, started)
}

// devDirectory returns the directory for the data of all nodes and a function for the end, which
// removes a temporary directory.
func devDirectory(f devFlags) (string, func(), error) {
	if f.dataDir == "" {
		dir, err := os.MkdirTemp("", "seriatim-dev-")
		if err != nil {
			return "", nil, fmt.Errorf("temporary data directory: %w", err)
		}
		return dir, func() { _ = os.RemoveAll(dir) }, nil // the system cleans the temporary folder
	}
	dir, err := filepath.Abs(f.dataDir)
	if err != nil {
		return "", nil, fmt.Errorf("--data-dir: %w", err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", nil, fmt.Errorf("--data-dir: %w", err)
	}
	// A single node with the data of three would wait for the other two forever.
	found, err := filepath.Glob(filepath.Join(dir, "node-*"))
	if err != nil {
		return "", nil, fmt.Errorf("--data-dir %s: %w", dir, err)
	}
	if len(found) > 0 && len(found) != f.nodes {
		return "", nil, exit.New(exit.Conflict,
			fmt.Errorf("%s holds the data of %s, not of %d", dir, plural.Count(len(found), "node", "nodes"), f.nodes),
			fmt.Sprintf("start it with --nodes %d, or choose another --data-dir", len(found)))
	}
	return dir, func() {}, nil
}

func nodeDirectory(dir string, node int) string {
	return filepath.Join(dir, "node-"+strconv.Itoa(node))
}

// checkPorts returns an error if a port is in use, before any node starts.
func checkPorts(f devFlags) error {
	for node := 1; node <= f.nodes; node++ {
		a := f.addresses(node)
		for _, port := range []struct{ network, use, address string }{
			{"tcp", "client", a.client}, {"tcp", "admin", a.admin}, {"tcp", "peer", a.peer}, {"tcp", "gossip", a.gossip},
			{"udp", "gossip", a.gossip},
		} {
			if err := checkPort(port.network, port.address); err != nil {
				return exit.New(exit.Failed, fmt.Errorf("the %s port of node %d is not free: %w", port.use, node, err),
					"end the program that uses it, or choose other ports with --base-port")
			}
		}
	}
	return nil
}

func checkPort(network, address string) error {
	var c io.Closer
	var err error
	if network == "udp" {
		c, err = net.ListenPacket(network, address)
	} else {
		c, err = net.Listen(network, address)
	}
	if err != nil {
		return err
	}
	return c.Close()
}

func nodeLine(node, pid int, a addresses) string {
	return fmt.Sprintf("node %d  pid %d  client %s  admin %s  peer %s  gossip %s\n", node, pid, a.client, a.admin, a.peer, a.gossip)
}

// printReady prints the time of the start, the endpoints and the first commands to try.
func printReady(out io.Writer, f devFlags, took time.Duration) error {
	var b strings.Builder
	endpoint := "http://" + f.addresses(1).client
	var all []string
	for node := 1; node <= f.nodes; node++ {
		all = append(all, "http://"+f.addresses(node).client)
	}
	fmt.Fprintf(&b, "ready after %v: %s", took.Round(time.Millisecond), strings.Join(all, " "))
	b.WriteString("\n\nexport AWS_ENDPOINT_URL=" + endpoint + "\n")
	key := "AWS_ACCESS_KEY_ID=dev AWS_SECRET_ACCESS_KEY=dev"
	if f.auth {
		key = "$(cat '" + f.keyFile + "')"
	}
	b.WriteString("export " + key + " AWS_DEFAULT_REGION=us-east-1\n")
	// Version 1 of the AWS tool ignores AWS_ENDPOINT_URL for SQS in old regions.
	b.WriteString("aws --endpoint-url \"$AWS_ENDPOINT_URL\" sqs create-queue --queue-name hello.fifo --attributes FifoQueue=true\n\n")
	b.WriteString("or without the AWS tool:\n")
	if f.nodes > 1 || f.basePort != defaultBasePort {
		b.WriteString("export " + client.EnvEndpoint + "=" + strings.Join(all, ",") + "\n")
	}
	b.WriteString("seriatim queue create hello.fifo\n\n")
	b.WriteString("or in a browser, the console: http://" + f.addresses(1).admin + "/\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// devAlone runs one node inside this process.
func devAlone(cmd *cobra.Command, version string, f devFlags, dir string, started time.Time) error {
	file := layer{source: "no file"}
	if path := os.Getenv(EnvConfig); path != "" {
		l, err := fileLayer(path)
		if err != nil {
			return exit.New(exit.Usage, fmt.Errorf("configuration: %w", err), "")
		}
		file = l
	}
	cfg, err := devConfig(cmd.Flags(), file, f, dir)
	if err != nil {
		return exit.New(exit.Usage, fmt.Errorf("configuration: %w", err), "")
	}
	log, closeLog, err := devLog(cmd.ErrOrStderr(), f.verbose, cfg.Node.DataDir)
	if err != nil {
		return err
	}
	defer closeLog()
	a := f.addresses(1)
	logger, recent := newLogger(log, cfg.Logging)
	p := program{version: version, log: logger, recent: recent, out: cmd.OutOrStdout(), words: cmd.ErrOrStderr(), exit: os.Exit}
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	var failed error
	err = p.run(ctx, cfg, func() {
		if failed = f.createEntities(ctx); failed != nil {
			cancel(failed)
			return
		}
		took := time.Since(started)
		if _, err := io.WriteString(cmd.OutOrStdout(), nodeLine(1, os.Getpid(), a)); err != nil {
			p.log.Warn("standard output is gone", "error", err)
			return
		}
		if err := printReady(cmd.OutOrStdout(), f, took); err != nil {
			p.log.Warn("standard output is gone", "error", err)
		}
	})
	return cmp.Or(failed, err)
}

// devConfig returns the configuration of a single node. A short heartbeat timeout makes it ready
// at once, because it needs no votes of other nodes.
func devConfig(flags *pflag.FlagSet, file layer, f devFlags, dir string) (Config, error) {
	a := f.addresses(1)
	given := flagsLayer(flags)
	if _, set := given.values["heartbeat-timeout"]; !set {
		given.values["heartbeat-timeout"] = "20ms"
	}
	if _, set := given.values["amqp-addr"]; !set && checkPort("tcp", devAMQP) == nil {
		given.values["amqp-addr"] = devAMQP
	}
	maps.Copy(given.values, map[string]string{
		"node-name": "node-1", "data-dir": nodeDirectory(dir, 1), "bootstrap-expect": "1", "join": "",
		"client-addr": a.client, "admin-addr": a.admin, "peer-addr": a.peer, "gossip-addr": a.gossip,
		"auth": strconv.FormatBool(f.auth), "first-key-file": f.keyFile, "insecure-admin": "true", "insecure-peers": "true",
	})
	cfg, err := load(file, os.Environ(), given)
	if err != nil {
		return Config{}, err
	}
	return cfg, cfg.validate()
}

// devLog returns the writer for the log of a node: a file beside its data, or standard error.
func devLog(stderr io.Writer, verbose bool, nodeDir string) (io.Writer, func(), error) {
	if verbose {
		return stderr, func() {}, nil
	}
	if err := os.MkdirAll(nodeDir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, nil, fmt.Errorf("log directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(nodeDir, "seriatim.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, nil, fmt.Errorf("log file: %w", err)
	}
	return file, func() { _ = file.Close() }, nil // no line is buffered
}

func devCluster(cmd *cobra.Command, f devFlags, dir string, started time.Time) error {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program to start it again: %w", err)
	}
	s := &supervisor{
		flags: f, dir: dir, binary: binary, pass: passedOn(cmd.Flags()),
		out: cmd.OutOrStdout(), words: cmd.ErrOrStderr(),
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	return s.run(ctx, started)
}

// passedOn returns the settings for every node, as flags.
func passedOn(flags *pflag.FlagSet) []string {
	given := flagsLayer(flags)
	var list []string
	for _, s := range settings() {
		value, set := given.values[s.name]
		if set && !slices.Contains(ownedByDev, s.name) {
			list = append(list, "--"+s.name+"="+value)
		}
	}
	return list
}
