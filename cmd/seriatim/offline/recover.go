package offline

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster/offline"
	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

const forceRecoverLong = `Make a cluster that has lost its majority for good work again with the nodes that are left.

This is the last resort: use it only if a majority of the nodes will never come back. What only the lost nodes knew is
lost, and an entry that this node has and the cluster never committed counts from then on.

Stop every node that is left. If one is left, run this on it with --keep-this-node-only. If several are, run it on each
of them with --members first, which changes nothing and says in which term the log of the node ends. Keep those that end
in the latest term, run it on each of them with the same --members and that --last-term, and start them. All others, also
those whose logs end in an earlier term and may contradict the rest, join as new nodes with empty data directories.

The cluster gets another id, so that lost nodes that do come back are strangers. Receipt handles from before are refused
and sequence numbers go on far above the ones known here.`

func forceRecoverCommand() *cobra.Command {
	o := &options{}
	var alone, yes bool
	var members []string
	var nodeID string
	var lastTerm uint64
	c := &cobra.Command{
		Use: "force-recover --data-dir DIR", Short: "Recover a stopped node from the loss of a majority", Args: arguments.None,
		Long: forceRecoverLong,
		Example: "  seriatim cluster force-recover --data-dir /var/lib/seriatim --keep-this-node-only        # says what it would do\n" +
			"  seriatim cluster force-recover --data-dir /var/lib/seriatim --keep-this-node-only --yes  # asks for the node id, then does it",
		RunE: o.withDir(func(cmd *cobra.Command, s *offline.Stopped, _ []string) error {
			if alone == (len(members) > 0) {
				return exit.New(exit.Usage, errors.New("either --keep-this-node-only or --members must be given"), "")
			}
			plan, err := s.PlanRecovery(members, lastTerm)
			if err != nil {
				if errors.Is(err, offline.ErrBadRecovery) {
					err = exit.New(exit.Usage, err, "")
				}
				return err
			}
			if err := o.printPlan(cmd, plan); err != nil {
				return err
			}
			if !yes {
				return exit.New(exit.Usage, errors.New("nothing was changed"), howToGoOn(plan))
			}
			if plan.NewClusterID == "" {
				return exit.New(exit.Usage, errors.New("nothing was changed: the logs of the members must end in the same term"),
					"repeat the command with --last-term, the latest of the terms that it says on them without --yes")
			}
			if err := confirm(cmd, plan.NodeID, nodeID); err != nil {
				return err
			}
			if err := s.Recover(plan); err != nil {
				return fmt.Errorf("the recovery was interrupted, repeat it: %w", err)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "Recovered. Start the node; cluster %s goes on.\n", plan.NewClusterID) //nolint:errcheck // nobody is left to tell
			return nil
		}),
	}
	f := c.Flags()
	f.BoolVar(&alone, "keep-this-node-only", false, "this node is the only one left")
	f.StringSliceVar(&members, "members", nil, "node ids of all that are left, this one among them")
	f.Uint64Var(&lastTerm, "last-term", 0, "with --members: the latest of the terms in which the logs of the nodes that are left end")
	f.BoolVar(&yes, "yes", false, "do it")
	f.StringVar(&nodeID, "node-id", "", "the id of this node, instead of typing it when asked")
	return o.bindDir(c)
}

// howToGoOn says how to have a plan carried out. Without the term that several members have to agree on, --yes
// alone would be refused.
func howToGoOn(plan offline.RecoveryPlan) string {
	if plan.NewClusterID != "" {
		return "to do this, repeat the command with --yes"
	}
	return fmt.Sprintf("to do this, repeat the command with --yes and --last-term, the latest of the terms in which the logs of the members end: "+
		"that of this node ends in term %d", plan.LastTerm)
}

func (o *options) printPlan(cmd *cobra.Command, plan offline.RecoveryPlan) error {
	return o.print(cmd.OutOrStdout(), plan, func() [][]string {
		repeats := "no"
		if plan.Repeats {
			repeats = "yes, of one that was interrupted"
		}
		cut := "-"
		if plan.EndedAt > 0 {
			cut = cutText(plan)
		}
		return [][]string{
			{"This node", plan.NodeID},
			{"Members now", strings.Join(plan.Members, ", ")},
			{"Members kept", strings.Join(plan.Keep, ", ")},
			{"Members dropped", valueOr(strings.Join(plan.Drop, ", "), "-")},
			{"Kept", fmt.Sprintf("everything up to entry %d of term %d; the newest snapshot ends at %d", plan.LastIndex, plan.LastTerm, plan.SnapshotIndex)},
			{"Lost", fmt.Sprintf("everything the other nodes wrote after entry %d", plan.LastIndex)},
			{"Missing", cut},
			{"Cluster id", plan.ClusterID + " becomes " + valueOr(plan.NewClusterID, "another, which follows from --last-term")},
			{"Repetition", repeats},
		}
	})
}

// cutText says which entries of the node's log are gone.
func cutText(plan offline.RecoveryPlan) string {
	first := plan.LastIndex + 1
	lost := plural.Form(plan.EndedAt-plan.LastIndex, fmt.Sprintf("entry %d, which was", first), fmt.Sprintf("entries %d to %d, which were", first, plan.EndedAt))
	return lost + " in this node's log: it was cut short or damaged, so keep another node if one is left"
}

// confirm wants the node id in words of the operator's own: the right directory
// on the wrong machine is the mistake to fear.
func confirm(cmd *cobra.Command, want, given string) error {
	if given == "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "Type the id of this node to go on: ") //nolint:errcheck // nobody is left to tell
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
