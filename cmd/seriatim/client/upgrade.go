package client

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// upgrade is the answer of GET /v1/upgrade.
type upgrade cluster.Upgrade

func upgradeCommand(o *options) *cobra.Command {
	return group("upgrade", "Show, check and finalize an upgrade of the nodes",
		"Show, check and finalize an upgrade of the nodes.\n\n"+
			"Replace the program node by node, and wait each time until seriatim cluster status reports a healthy cluster. The cluster\n"+
			"keeps the old format meanwhile, and every node can go back. When all nodes run the new program, finalize activates the\n"+
			"new format. After that no older program can read the data.",
		upgradeStatusCommand(o), upgradeCheckCommand(o), upgradeFinalizeCommand(o))
}

func (u upgrade) sentence() string {
	switch {
	case u.Ready:
		return fmt.Sprintf("Format %d is in force, all members can read %d: seriatim upgrade finalize", u.FormatVersion, u.Possible)
	case u.Missing != "":
		return fmt.Sprintf("Format %d is in force; %s", u.FormatVersion, u.Missing)
	default:
		return fmt.Sprintf("Format %d is in force, the newest that the members know", u.FormatVersion)
	}
}

func (u upgrade) table() table {
	t := table{heading: []string{"NODE", "NAME", "VERSION", "READS FORMAT"}}
	for _, m := range u.Members {
		format := "unknown"
		if m.FormatMax > 0 {
			format = "up to " + strconv.FormatUint(uint64(m.FormatMax), 10)
		}
		t.add(m.NodeID, m.Name, orDash(m.Version), format)
	}
	return t
}

func (p *printer) showUpgrade(u upgrade) error {
	if p.format.ForPeople() {
		if _, err := fmt.Fprintf(p.out, "%s\n\n", u.sentence()); err != nil {
			return err
		}
	}
	return p.print(u, u.table)
}

func upgradeStatusCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the format in force and what each member can read", Args: arguments.None,
		Example: "  seriatim upgrade status\n  seriatim upgrade status -o json | jq .ready",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			var u upgrade
			if err := w.get(cmd.Context(), "/v1/upgrade", nil, &u); err != nil {
				return err
			}
			return p.showUpgrade(u)
		}),
	}
}

func upgradeCheckCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Check whether every member can read the newest format", Args: arguments.None,
		Long: "Check whether every member can read the newest format.\n\nExit code 0: all can, and finalize is possible or done.\n" +
			"Exit code 1: some cannot, or do not answer.",
		Example: "  seriatim upgrade check && seriatim upgrade finalize",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			var u upgrade
			if err := w.get(cmd.Context(), "/v1/upgrade", nil, &u); err != nil {
				return err
			}
			if err := p.showUpgrade(u); err != nil {
				return err
			}
			if u.Missing != "" {
				return exit.New(exit.Failed, errors.New("not every member can read the newest format: "+u.Missing),
					"upgrade or start these nodes first")
			}
			return nil
		}),
	}
}

func upgradeFinalizeCommand(o *options) *cobra.Command {
	q := &question{}
	return q.of(&cobra.Command{
		Use: "finalize", Short: "Activate the newest format that all members can read", Args: arguments.None,
		Long: "Activate the newest format that all members can read. The cluster refuses while a member runs an older program or does\n" +
			"not answer. There is no way back: an older program stops when it finds the new format.",
		Example: "  seriatim upgrade finalize --dry-run\n  seriatim upgrade finalize --yes",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			var u upgrade
			if !q.skipped() {
				if err := w.get(cmd.Context(), "/v1/upgrade", nil, &u); err != nil {
					return err
				}
				effect := fmt.Sprintf("Format version %d is in force, and all members can read %d. No node can go back to an older "+
					"program afterwards.", u.FormatVersion, u.Possible)
				if err := q.ask(cmd, p, effect, "finalize to continue", "finalize"); err != nil {
					return err
				}
			}
			if err := w.post(cmd.Context(), "/v1/upgrade/finalize", map[string]any{}, &u); err != nil {
				return err
			}
			return p.showUpgrade(u)
		}),
	})
}
