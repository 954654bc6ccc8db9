package offline

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster/offline"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// Environment variables that the server and the other commands read, too.
const (
	envDataDir = "SERIATIM_DATA_DIR"
	envOutput  = "SERIATIM_OUTPUT"
	envKeyFile = "SERIATIM_ENCRYPTION_KEY_FILE"
)

// AddTo adds the commands to the tree. A group may exist already.
func AddTo(root *cobra.Command) {
	groupOf(root, "log", "Look into the log of a stopped node").AddCommand(logPrintCommand())
	groupOf(root, "snapshot", "Look into the snapshots of a stopped node").AddCommand(snapshotListCommand(), snapshotInspectCommand())
	groupOf(root, "state", "Compute the state of a stopped node").AddCommand(stateHashCommand())
	groupOf(root, "backup", "Back up and verify").AddCommand(backupVerifyCommand())
	groupOf(root, "encryption-key", "Make, list and watch the keys that encrypt data at rest").AddCommand(keyCreateCommand(),
		keyAddCommand(), keyListCommand())
	groupOf(root, "cluster", "Show the cluster and change its members").AddCommand(forceRecoverCommand())
}

func groupOf(root *cobra.Command, name, short string) *cobra.Command {
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c
		}
	}
	c := &cobra.Command{Use: name, Short: short, RunE: arguments.Group}
	root.AddCommand(c)
	return c
}

// options holds the flags of these commands.
type options struct {
	dataDir string
	output  string
	columns []string
	sort    string
	format  output.Format // from check
	keyFile string
}

// keys reads the key file, nil if none is named.
func (o *options) keys() (*encryption.Keyring, error) {
	if o.keyFile == "" {
		return nil, nil
	}
	keys, err := encryption.ReadKeyFile(o.keyFile, rand.Reader)
	if err != nil {
		return nil, exit.New(exit.Usage, fmt.Errorf("--encryption-key-file: %w", err), "")
	}
	return keys, nil
}

// bindKeys adds the flag for the key file.
func (o *options) bindKeys(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&o.keyFile, "encryption-key-file", os.Getenv(envKeyFile),
		"key file of the cluster, if it encrypts data at rest, env "+envKeyFile)
	return c
}

func (o *options) bind(c *cobra.Command) *cobra.Command {
	c.Flags().StringVarP(&o.output, "output", "o", valueOr(os.Getenv(envOutput), output.Table), output.Help+"; env "+envOutput)
	c.Flags().StringSliceVar(&o.columns, "columns", nil, output.ColumnsHelp)
	c.Flags().StringVar(&o.sort, "sort", "", output.SortHelp)
	values := cobra.FixedCompletions(output.Values, cobra.ShellCompDirectiveNoFileComp)
	if err := c.RegisterFlagCompletionFunc("output", values); err != nil {
		panic(err) // the flag is defined above
	}
	return c
}

func (o *options) bindDir(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&o.dataDir, "data-dir", os.Getenv(envDataDir), "data directory of a stopped node, env "+envDataDir)
	return o.bindKeys(o.bind(c))
}

// check parses the format of the output.
func (o *options) check() (err error) {
	if o.format, err = output.Parse(o.output, o.columns, o.sort); err != nil {
		return exit.New(exit.Usage, err, "use -o "+output.Help)
	}
	return nil
}

// open opens the data directory. Warnings go to the standard error of the command.
func (o *options) open(cmd *cobra.Command) (*offline.Stopped, error) {
	if o.dataDir == "" {
		return nil, exit.New(exit.Usage, errors.New("--data-dir is missing"),
			"name the data directory of a stopped node, or set "+envDataDir)
	}
	keys, err := o.keys()
	if err != nil {
		return nil, err
	}
	s, err := offline.Open(cmd.Context(), o.dataDir, keys,
		slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	switch {
	case errors.Is(err, offline.ErrDataDirInUse):
		return nil, exit.New(exit.Conflict, err, "stop the node first")
	case errors.Is(err, fs.ErrNotExist):
		return nil, exit.New(exit.NotFound, err, "")
	case errors.Is(err, encryption.ErrKeyMissing):
		return nil, exit.New(exit.Failed, err, "name the key file of the cluster with --encryption-key-file")
	case err != nil:
		return nil, exit.New(exit.Failed, err, "")
	}
	return s, nil
}

// withDir adapts a command that works on a data directory.
func (o *options) withDir(do func(cmd *cobra.Command, s *offline.Stopped, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := o.check(); err != nil {
			return err
		}
		s, err := o.open(cmd)
		if err != nil {
			return err
		}
		return exit.Wrap(errors.Join(do(cmd, s, args), s.Close()))
	}
}

// print writes document, or the table from asTable, in the format of -o.
func (o *options) print(cmd *cobra.Command, document any, asTable func() output.Grid) error {
	o.format.Colour = output.WantsColour(cmd.OutOrStdout())
	return o.format.Write(cmd.OutOrStdout(), document, asTable)
}

func valueOr(value, other string) string {
	if value == "" {
		return other
	}
	return value
}

func clockTime(millis int64) string {
	if millis == 0 {
		return "-"
	}
	return time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000Z")
}
