package offline

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster/offline"
	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

const forceRecoverLong = `Make a cluster that has lost its majority for good work again with the nodes that are left.

This is the last resort: use it only if a majority of the nodes will never come back. You lose the entries that only the
lost nodes had. Entries in the log of this node that the cluster never committed count from then on.

Stop every node that is left. If one node is left, run the command there with --keep-this-node-only. If several are left:

  1. Run the command on each of them without options. It changes nothing and prints one word: the end of the log.
  2. Run the command on each of them with --logs and the same list of all these words.
  3. Start the nodes, in any order.

The nodes with the longest log keep their data and are the voters. The logs of the others may contradict the longest, so
these nodes begin empty and join. Their old data move to another directory; delete it when the cluster works.

The cluster gets another id. A lost node that comes back stops, because its cluster has ended. Receipt handles from
before are refused, and sequence numbers continue far above the ones in this log.`

// recoverFlags holds the flags of force-recover.
type recoverFlags struct {
	alone, yes bool
	logs       []string
	nodeID     string
}

func forceRecoverCommand() *cobra.Command {
	o := &options{}
	flags := &recoverFlags{}
	c := &cobra.Command{
		Use: "force-recover --data-dir DIR", Short: "Recover a stopped node from the loss of a majority", Args: arguments.None,
		Long: forceRecoverLong,
		Example: "  seriatim cluster force-recover --data-dir /var/lib/seriatim " +
			"                             # prints the end of the log\n" +
			"  seriatim cluster force-recover --data-dir /var/lib/seriatim --keep-this-node-only        # prints the plan\n" +
			"  seriatim cluster force-recover --data-dir /var/lib/seriatim --keep-this-node-only --yes  " +
			"# asks for the node id, then does it",
		RunE: o.withDir(func(cmd *cobra.Command, s *offline.Stopped, _ []string) error {
			err := o.forceRecover(cmd, s, flags)
			if errors.Is(err, offline.ErrBadRecovery) {
				err = exit.New(exit.Usage, err, "")
			}
			return err
		}),
	}
	f := c.Flags()
	f.BoolVar(&flags.alone, "keep-this-node-only", false, "this node is the only one left")
	f.StringSliceVar(&flags.logs, "logs", nil,
		"the ends of the logs of all nodes that are left, as this command prints them without options")
	f.BoolVar(&flags.yes, "yes", false, "carry out the plan")
	f.StringVar(&flags.nodeID, "node-id", "", "the id of this node, instead of a question for it")
	return o.bindDir(c)
}

func (o *options) forceRecover(cmd *cobra.Command, s *offline.Stopped, flags *recoverFlags) error {
	own, err := s.LogEnd()
	if err != nil {
		return err
	}
	logs := []offline.LogEnd{own}
	switch {
	case flags.alone && len(flags.logs) > 0:
		return exit.New(exit.Usage, errors.New("--keep-this-node-only and --logs exclude each other"), "")
	case !flags.alone && len(flags.logs) == 0 && flags.yes:
		return exit.New(exit.Usage, errors.New("either --keep-this-node-only or --logs must be given"), "")
	case !flags.alone && len(flags.logs) == 0:
		return o.printLogEnd(cmd, own)
	case !flags.alone:
		logs = logs[:0]
		for _, text := range flags.logs {
			end, err := offline.ParseLogEnd(text)
			if err != nil {
				return err
			}
			logs = append(logs, end)
		}
	}
	plan, err := s.PlanRecovery(logs)
	if err != nil {
		return err
	}
	if err := o.printPlan(cmd, plan); err != nil {
		return err
	}
	if flags.alone && len(plan.Members) > 1 {
		fmt.Fprintln(cmd.ErrOrStderr(), aloneWarning) //nolint:errcheck // a failed write cannot be reported
	}
	if !flags.yes {
		return exit.New(exit.Usage, errors.New("nothing was changed"), "to do this, repeat the command with --yes")
	}
	if err := confirm(cmd, plan.NodeID, flags.nodeID); err != nil {
		return err
	}
	if err := s.Recover(plan); err != nil {
		return fmt.Errorf("the recovery was interrupted, repeat it: %w", err)
	}
	done := "Recovered. Start the node; it continues cluster %s.\n"
	if plan.Joins {
		done = "The data of this node are in " + plan.MovedTo + ". Start the node; it joins cluster %s as a new one.\n"
	}
	fmt.Fprintf(cmd.ErrOrStderr(), done, plan.NewClusterID) //nolint:errcheck // a failed write cannot be reported
	return nil
}

const aloneWarning = "If another node is left, do not continue: run seriatim cluster force-recover without options on each node, and " +
	"then with\n" +
	"--logs. Two nodes that you each recover alone become two clusters with two ids, and never one again."

func (o *options) printLogEnd(cmd *cobra.Command, own offline.LogEnd) error {
	err := o.print(cmd, map[string]any{"nodeId": own.NodeID, "clusterId": own.ClusterID, "term": own.Term, "index": own.Index,
		"log": own.String()}, func() output.Grid {
		return output.Grid{Rows: [][]string{
			{"This node", own.NodeID},
			{"End of log", fmt.Sprintf("entry %d of term %d", own.Index, own.Term)},
			{"For --logs", own.String()},
		}}
	})
	const next = "Nothing was changed. Run this on every node that is left, then again with --logs and the words of all of them."
	fmt.Fprintln(cmd.ErrOrStderr(), next) //nolint:errcheck // a failed write cannot be reported
	return err
}

func (o *options) printPlan(cmd *cobra.Command, plan offline.RecoveryPlan) error {
	return o.print(cmd, plan, func() output.Grid {
		does, kept := "keeps its data and votes", fmt.Sprintf("everything up to entry %d of term %d; the newest snapshot ends at %d",
			plan.LastIndex, plan.LastTerm, plan.SnapshotIndex)
		if plan.Joins {
			does = "begins empty and joins; its data are moved to " + plan.MovedTo
			kept = fmt.Sprintf("everything up to entry %d of term %d, on %s", plan.LastIndex, plan.LastTerm, strings.Join(plan.Keep, ", "))
		}
		repeats := "no"
		if plan.Repeats {
			repeats = "yes, of one that was interrupted"
		}
		cut := "-"
		if plan.EndedAt > 0 && !plan.Joins {
			cut = cutText(plan)
		}
		return output.Grid{Rows: [][]string{
			{"This node", plan.NodeID},
			{"It", does},
			{"Members now", strings.Join(plan.Members, ", ")},
			{"Voters from then on", strings.Join(plan.Keep, ", ")},
			{"Join empty", valueOr(strings.Join(plan.Join, ", "), "-")},
			{"Members dropped", valueOr(strings.Join(plan.Drop, ", "), "-")},
			{"Kept", kept},
			{"Lost", fmt.Sprintf("everything that only the dropped members wrote after entry %d", plan.LastIndex)},
			{"Missing", cut},
			{"Cluster id", plan.ClusterID + " becomes " + plan.NewClusterID},
			{"Repetition", repeats},
		}}
	})
}

// cutText says which entries of the node's log are gone.
func cutText(plan offline.RecoveryPlan) string {
	first := plan.LastIndex + 1
	lost := plural.Form(plan.EndedAt-plan.LastIndex, fmt.Sprintf("entry %d, which was", first),
		fmt.Sprintf("entries %d to %d, which were", first, plan.EndedAt))
	return lost + " in this node's log: it was cut short or damaged, so keep another node if one is left"
}

// confirm asks the operator to type the node id, which catches the right directory on the wrong
// machine.
func confirm(cmd *cobra.Command, want, given string) error {
	if given == "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "Type the id of this node to continue: ") //nolint:errcheck // a failed write cannot be reported
		line, err := bufio.NewReader(arguments.Input(cmd)).ReadString('\n')
		if cmd.Context().Err() != nil {
			return exit.New(exit.Interrupted, errors.New("interrupted, nothing was changed"), "")
		}
		if err != nil && line == "" {
			return exit.New(exit.Usage, errors.New("the node id was not typed, nothing was changed"), "give it with --node-id")
		}
		given = strings.TrimSpace(line)
	}
	if given != want {
		return exit.New(exit.Usage, fmt.Errorf("%q is not the id of this node, nothing was changed", given), "")
	}
	return nil
}
