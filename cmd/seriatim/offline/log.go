package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster/offline"
	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

func logPrintCommand() *cobra.Command {
	o := &options{}
	var from, to uint64
	c := &cobra.Command{
		Use: "print --data-dir DIR", Short: "Print the entries of the log", Args: arguments.None,
		Long: "Print the entries of the log of a stopped node, and whether their checksums are right.\n\n" +
			"With -o json every entry is an object on its own line. Contents of messages are not printed. " +
			"The exit code is 1 if an entry is damaged.",
		Example: "  seriatim log print --data-dir /var/lib/seriatim --from 1000 --to 1010",
		RunE: func(cmd *cobra.Command, args []string) error {
			if from > to { // an empty list would look like an empty log
				return exit.New(exit.Usage, fmt.Errorf("--from %d is behind --to %d", from, to),
					"give --to an index that is at least --from")
			}
			return o.withDir(func(cmd *cobra.Command, s *offline.Stopped, _ []string) error {
				return printSound(cmd, o, s, from, to)
			})(cmd, args)
		},
	}
	c.Flags().Uint64Var(&from, "from", 0, "index of the first entry to print")
	c.Flags().Uint64Var(&to, "to", math.MaxUint64, "index of the last entry to print")
	c.Flags().Lookup("to").DefValue = "the last"
	return o.bindDir(c)
}

// printSound prints entries. It returns an error if some are damaged.
func printSound(cmd *cobra.Command, o *options, s *offline.Stopped, from, to uint64) error {
	damaged, err := printLog(cmd, o, s, from, to)
	if err == nil && damaged > 0 {
		err = exit.New(exit.Failed, errors.New(plural.Count(damaged, "entry of the log is", "entries of the log are")+" damaged"),
			"while a majority of the other nodes is sound, nothing is lost: move the data directory away, and start the node as a new one")
	}
	return err
}

// rowsPerPage is the number of rows that are aligned and printed together. A log has millions of
// entries, so the output must not wait for the last one.
const rowsPerPage = 1000

func printLog(cmd *cobra.Command, o *options, s *offline.Stopped, from, to uint64) (damaged int, err error) {
	entries := func(show func(offline.LoggedEntry) error) error {
		return s.Entries(from, to, func(e offline.LoggedEntry) error {
			if err := cmd.Context().Err(); err != nil {
				return exit.Interruption("")
			}
			return show(e)
		})
	}
	switch {
	case o.format.Kind() == output.JSON || o.format.Kind() == output.Lines:
		encoder := json.NewEncoder(cmd.OutOrStdout())
		err = entries(func(e offline.LoggedEntry) error {
			if e.Damage != "" {
				damaged++
			}
			return encoder.Encode(e)
		})
		return damaged, err
	case !o.format.ForPeople():
		return 0, exit.New(exit.Usage, fmt.Errorf("the log has no -o %s", o.format.Kind()), "use -o table, json or jsonl")
	}
	tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	if _, err := fmt.Fprintln(tw, "INDEX\tTERM\tLOG TIME\tTYPE\tBYTES\tCRC\tCONTENT"); err != nil {
		return 0, err
	}
	rows := 0
	err = entries(func(e offline.LoggedEntry) error {
		state, content := "ok", contentOf(e)
		if e.Damage != "" {
			damaged++
			state, content = "DAMAGED", e.Damage
		}
		_, err := fmt.Fprintf(tw, "%d\t%d\t%s\t%s\t%d\t%s\t%s\n", e.Index, e.Term, clockTime(e.LogTimeMs), e.Type, e.Bytes, state, content)
		if rows++; err == nil && rows%rowsPerPage == 0 {
			err = tw.Flush()
		}
		return err
	})
	return damaged, errors.Join(err, tw.Flush()) // the rows before an error may explain it
}

// contentOf lists the commands of an entry. Equal ones in a row are one item.
func contentOf(e offline.LoggedEntry) string {
	if len(e.Members) > 0 {
		return strings.Join(e.Members, ", ")
	}
	var parts []string
	for i := 0; i < len(e.Commands); {
		count, bytes, name := 0, 0, e.Commands[i].Name
		for ; i < len(e.Commands) && e.Commands[i].Name == name; i++ {
			count++
			bytes += e.Commands[i].Bytes
		}
		part := fmt.Sprintf("%s (%d B)", name, bytes)
		if count > 1 {
			part = fmt.Sprintf("%d x %s", count, part)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func stateHashCommand() *cobra.Command {
	o := &options{}
	var index uint64
	c := &cobra.Command{
		Use: "hash --data-dir DIR", Short: "Compute the state hash from snapshot and log", Args: arguments.None,
		Long: "Compute the state hash from the newest snapshot and the log of a stopped node.\n\n" +
			"Without --index the command applies the whole log. The log does not record which entries the cluster has committed, so " +
			"the last ones may be replaced when the node starts. Compare nodes at an index that both have.",
		Example: "  seriatim state hash --data-dir /var/lib/seriatim --index 4711",
		RunE: o.withDir(func(cmd *cobra.Command, s *offline.Stopped, _ []string) error {
			state, err := s.State(index)
			if err != nil {
				return belowSnapshot(s, index, err)
			}
			if index == 0 {
				const note = "The whole log was applied; its last entries may not be committed."
				fmt.Fprintln(cmd.ErrOrStderr(), note) //nolint:errcheck // a failed write cannot be reported
			}
			return o.print(cmd, state, func() output.Grid {
				return output.Grid{Rows: [][]string{
					{"Index", fmt.Sprint(state.Index)},
					{"Term", fmt.Sprint(state.Term)},
					{"Log time", clockTime(state.LogTimeMs)},
					{"State hash", state.StateHash},
					{"Chain hash", state.ChainHash},
					{"Snapshot", fmt.Sprint(state.SnapshotIndex)},
					{"Entries applied", fmt.Sprint(state.Replayed)},
				}}
			})
		}),
	}
	c.Flags().Uint64Var(&index, "index", 0, "apply the log up to this entry; 0: all of it")
	return o.bindDir(c)
}

// belowSnapshot explains the error for an index below the newest snapshot: nodes may delete the
// log before a snapshot.
func belowSnapshot(s *offline.Stopped, index uint64, err error) error {
	snapshots, failed := s.Snapshots()
	if failed != nil || len(snapshots) == 0 || index == 0 || index >= snapshots[0].Index {
		return err
	}
	newest := snapshots[0].Index
	return exit.New(exit.Failed, fmt.Errorf("entry %d is below the newest snapshot, which is at index %d: %w", index, newest, err),
		fmt.Sprintf("nodes may delete the log below a snapshot: give --index %d or a later one, or leave it out", newest))
}
