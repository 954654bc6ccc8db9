package offline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster/offline"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func snapshotListCommand() *cobra.Command {
	o := &options{}
	return o.bindDir(&cobra.Command{
		Use: "list --data-dir DIR", Short: "List the snapshots, newest first", Args: arguments.None,
		Example: "  seriatim snapshot list --data-dir /var/lib/seriatim",
		RunE: o.withDir(func(cmd *cobra.Command, s *offline.Stopped, _ []string) error {
			list, err := s.Snapshots()
			if err != nil {
				return err
			}
			return o.print(cmd, list, func() output.Grid {
				g := output.Grid{Heading: []string{"ID", "INDEX", "TERM", "BYTES", "MEMBERS"}}
				for _, snapshot := range list {
					g.Add(snapshot.ID, fmt.Sprint(snapshot.Index), fmt.Sprint(snapshot.Term), fmt.Sprint(snapshot.Bytes),
						strings.Join(snapshot.Members, ", "))
				}
				return g
			})
		}),
	})
}

func snapshotInspectCommand() *cobra.Command {
	o := &options{}
	return o.bindDir(&cobra.Command{
		Use: "inspect [FILE | --data-dir DIR [ID]]", Short: "Verify a snapshot and print its contents",
		Args: arguments.Optional("the file or id"),
		Long: "Verify a snapshot and print its contents: the command checks every checksum, builds the state, and compares its hash " +
			"with the recorded one.\n\nWithout --data-dir the argument is a file: a backup or the state file of a snapshot. " +
			"With it, the argument is the id of a snapshot (default: the newest one).",
		Example: "  seriatim snapshot inspect --data-dir /var/lib/seriatim\n  seriatim snapshot inspect nightly.backup -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			// If only the environment names a directory, the argument is a file, not an id.
			if len(args) == 1 && !cmd.Flags().Changed("data-dir") {
				return o.inspectFile(cmd, args[0])
			}
			return o.withDir(o.inspectStored)(cmd, args)
		},
	})
}

func (o *options) inspectStored(cmd *cobra.Command, s *offline.Stopped, args []string) error {
	list, err := s.Snapshots()
	if err != nil {
		return err
	}
	id := ""
	switch {
	case len(args) == 1:
		id = args[0]
		// Otherwise a mistyped id would be reported as a damaged snapshot.
		if !slices.ContainsFunc(list, func(one offline.StoredSnapshot) bool { return one.ID == id }) {
			return exit.New(exit.NotFound, fmt.Errorf("the node has no snapshot %s", id), "seriatim snapshot list shows its snapshots")
		}
	case len(list) == 0:
		return exit.New(exit.NotFound, errors.New("the node has no snapshot yet"), "seriatim log print shows its log")
	default:
		id = list[0].ID
	}
	contents, err := s.InspectSnapshot(id)
	if err != nil {
		return err
	}
	return o.printContents(cmd, contents)
}

func (o *options) inspectFile(cmd *cobra.Command, name string) error {
	file, err := os.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return exit.New(exit.NotFound, err, "")
		}
		return exit.Wrap(err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	keys, err := o.keys()
	if err != nil {
		return err
	}
	var contents offline.SnapshotContents
	text, err := offline.Decrypt(reading{cmd.Context(), file}, keys)
	if err == nil {
		contents, err = offline.InspectSnapshot(text)
	}
	if err != nil && cmd.Context().Err() != nil {
		return exit.Interruption("")
	}
	if errors.Is(err, encryption.ErrKeyMissing) {
		return exit.New(exit.Failed, fmt.Errorf("%s: %w", name, err), "name the key file of its cluster with --encryption-key-file")
	}
	if err != nil {
		return exit.New(exit.Failed, fmt.Errorf("%s: %w", name, err), "")
	}
	return exit.Wrap(o.printContents(cmd, contents))
}

// reading is a reader that ends with ctx, because a large file takes long.
type reading struct {
	ctx  context.Context //nolint:containedctx // an io.Reader has no other
	from io.Reader
}

// Read fails with the error of ctx once that has ended.
func (r reading) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

func backupVerifyCommand() *cobra.Command {
	o := &options{}
	return o.bindKeys(o.bind(&cobra.Command{
		Use: "verify FILE", Short: "Verify a backup file", Args: arguments.Exactly("FILE"),
		Long: "Verify a backup file without a server: the command checks every checksum, builds the state, and compares its hash with " +
			"the recorded one. The exit code is 1 if the file is damaged or cut off.\n\n" +
			"The command needs about as much memory as a server with this state.",
		Example: "  seriatim backup verify nightly.backup",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return o.inspectFile(cmd, args[0])
		},
	}))
}

func (o *options) printContents(cmd *cobra.Command, c offline.SnapshotContents) error {
	return o.print(cmd, c, func() output.Grid {
		g := output.Grid{Rows: [][]string{
			{"Cluster", valueOr(c.ClusterID, "-")},
			{"Index", fmt.Sprint(c.Index)},
			{"Term", fmt.Sprint(c.Term)},
			{"Log time", clockTime(c.LogTimeMs)},
			{"State hash", c.StateHash + " (verified)"},
			{"Epoch", fmt.Sprint(c.Epoch)},
			{"Format version", fmt.Sprint(c.FormatVersion)},
			{"Queues", fmt.Sprint(len(c.Queues))},
			{"Topics", fmt.Sprint(len(c.Topics))},
			{"Messages", fmt.Sprint(c.Messages)},
			{"Deduplication ids", fmt.Sprint(c.DeduplicationIDs)},
			{"Receive attempts", fmt.Sprint(c.ReceiveAttempts)},
			{"Move tasks", fmt.Sprint(c.MoveTasks)},
			{"Sections", fmt.Sprint(c.Sections)},
		}}
		if len(c.Queues) > 0 {
			g.Rows = append(g.Rows, nil, []string{"QUEUE", "VISIBLE", "IN FLIGHT", "DELAYED", "DEFERRED"})
		}
		for _, q := range c.Queues {
			g.Add(q.Name, fmt.Sprint(q.Visible), fmt.Sprint(q.InFlight), fmt.Sprint(q.Delayed),
				fmt.Sprint(q.Deferred))
		}
		if len(c.Topics) > 0 {
			g.Rows = append(g.Rows, nil, []string{"TOPIC", "SUBSCRIBED"})
		}
		for _, t := range c.Topics {
			g.Add(t.Name, strings.Join(t.Subscriptions, ", "))
		}
		return g
	})
}
