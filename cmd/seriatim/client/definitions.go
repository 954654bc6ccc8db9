package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/atomicfile"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/definitions"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

func definitionsCommand(o *options) *cobra.Command {
	return group("definitions", "Write the definitions of a cluster to a file, apply them, and compare them",
		"Write the definitions of a cluster to a file, apply them to a cluster, and compare both.\n\n"+
			"Definitions are queues, topics with their subscriptions, accounts with quotas, policies of users, and access keys without\n"+
			"secrets. Queues and topics are those of one account. ARNs in the file have {region} and {account} in place of those of the\n"+
			"cluster, so that the file fits any cluster. Accounts, policies and keys need the admin port: leave them out with --only.",
		definitionsExportCommand(o), definitionsImportCommand(o), definitionsDiffCommand(o))
}

// partsFlag bounds a command to parts of the definitions.
type partsFlag struct{ only []string }

func (f *partsFlag) bind(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.only, "only", definitions.Parts(), "parts, with commas")
	complete(c, "only", definitions.Parts()...)
}

// cluster returns the cluster with the parts of the flag.
func (f *partsFlag) cluster(w *wire, n *native.Conn) (*definitions.Cluster, error) {
	c := &definitions.Cluster{Native: n, Get: w.get, Post: w.post, Parts: map[string]bool{}}
	for _, part := range f.only {
		if !slices.Contains(definitions.Parts(), part) {
			return nil, exit.New(exit.Usage, fmt.Errorf("--only: unknown part %q", part), "the parts are "+
				strings.Join(definitions.Parts(), ", "))
		}
		c.Parts[part] = true
	}
	return c, nil
}

// runDefinitions runs a command about the definitions of a cluster, and passes its definitions.
func (o *options) runDefinitions(f *partsFlag, do func(cmd *cobra.Command, c *definitions.Cluster, have *definitions.Document, p *printer,
	args []string) error) func(*cobra.Command, []string) error {
	return o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
		n, err := native.Open(w.api)
		if err != nil {
			return err
		}
		defer n.Close()
		c, err := f.cluster(w, n)
		if err != nil {
			return err
		}
		have, err := definitions.Collect(cmd.Context(), c)
		if err != nil {
			return err
		}
		return do(cmd, c, have, p, args)
	})
}

func definitionsExportCommand(o *options) *cobra.Command {
	f, force := &partsFlag{}, false
	c := &cobra.Command{
		Use: "export [FILE]", Short: "Write the definitions of the cluster to a file, or to standard output",
		Args: arguments.Optional("FILE"),
		Long: "Write the definitions of the cluster to a file, or to standard output. The format is JSON if FILE ends in .json or with\n" +
			"-o json, else YAML. The order is stable, so you can keep the file under version control.",
		Example: "  seriatim definitions export cluster.yaml\n  seriatim definitions export -o json | jq '.queues[].name'\n" +
			"  seriatim definitions export --only queues,topics",
		RunE: o.runDefinitions(f, func(cmd *cobra.Command, _ *definitions.Cluster, have *definitions.Document, p *printer,
			args []string) error {
			if len(args) == 0 || args[0] == "-" {
				return have.Write(cmd.OutOrStdout(), p.format.OfDocument())
			}
			var text bytes.Buffer
			if err := have.Write(&text, strings.HasSuffix(args[0], ".json")); err != nil {
				return err
			}
			if err := writeDefinitions(args[0], text.Bytes(), force); err != nil {
				return err
			}
			p.say("%s: %s, %s", args[0], plural.Count(len(have.Queues), "queue", "queues"),
				plural.Count(len(have.Topics), "topic", "topics"))
			return nil
		}),
	}
	c.Flags().BoolVar(&force, "force", false, "replace FILE if it exists")
	f.bind(c)
	return c
}

// writeDefinitions writes a file in one step. It replaces an existing file only with force, and keeps
// its mode.
func writeDefinitions(path string, text []byte, force bool) error {
	mode := os.FileMode(0o600)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return exit.New(exit.Usage, err, "")
	case !force:
		return exit.New(exit.Usage, fmt.Errorf("%s exists", path), "add --force to replace it, or choose another name")
	case !info.Mode().IsRegular(): // such as /dev/stdout
		return os.WriteFile(path, text, mode)
	default:
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil { // the link stays
			return err
		}
	}
	if err := atomicfile.Replace(path, text, mode); err != nil {
		return exit.New(exit.Usage, err, "")
	}
	return nil
}

// readDefinitions reads a file, or standard input for - or without a name. It keeps only some parts.
func readDefinitions(cmd *cobra.Command, c *definitions.Cluster, args []string) (*definitions.Document, error) {
	name, in := "standard input", io.Reader(nil)
	if len(args) > 0 && args[0] != "-" {
		file, err := os.Open(args[0])
		if err != nil {
			return nil, exit.New(exit.Usage, err, "")
		}
		defer func() { _ = file.Close() }() // it is only read
		name, in = args[0], file
	} else {
		from, err := stdin(cmd, "file", len(args) > 0)
		if err != nil {
			return nil, err
		}
		in = from
	}
	d, err := definitions.Read(in)
	if cmd.Context().Err() != nil {
		return nil, cmd.Context().Err()
	}
	if err != nil {
		return nil, exit.New(exit.Usage, fmt.Errorf("%s: %w", name, err), "seriatim definitions export writes such a file")
	}
	d.Keep(c.Parts)
	return d, nil
}

// applyFlags holds the flags of commands that apply definitions.
type applyFlags struct {
	prune bool
	asked question
}

func (f *applyFlags) bind(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&f.prune, "prune", false, "delete what the cluster has and the file lacks, after a question")
	return f.asked.of(c)
}

func definitionsImportCommand(o *options) *cobra.Command {
	f, parts := &applyFlags{}, &partsFlag{}
	c := &cobra.Command{
		Use: "import [FILE]", Short: "Apply the definitions in a file to the cluster", Args: arguments.Optional("FILE"),
		Long: "Apply the definitions in a file, or on standard input, to the cluster: create what is missing, and change what differs.\n" +
			"A second run changes nothing. With --prune, it deletes queues with their messages, topics, subscriptions, policies,\n" +
			"accounts, attributes and tags that the file lacks. It asks before it deletes, and before it shortens a retention period\n" +
			"or a deduplication window.\n\n" +
			"The file has no secrets, so access keys are not created: the command lists the missing ones.",
		Example: "  seriatim definitions import cluster.yaml --dry-run\n  seriatim definitions import cluster.yaml\n" +
			"  seriatim definitions import cluster.yaml --only queues --prune",
		RunE: o.runDefinitions(parts, func(cmd *cobra.Command, c *definitions.Cluster, have *definitions.Document, p *printer,
			args []string) error {
			want, err := readDefinitions(cmd, c, args)
			if err != nil {
				return err
			}
			return f.apply(cmd, c, have, want, p)
		}),
	}
	parts.bind(c)
	return f.bind(c)
}

// apply makes a plan, asks if it deletes anything, and carries it out.
func (f *applyFlags) apply(cmd *cobra.Command, c *definitions.Cluster, have, want *definitions.Document, p *printer) error {
	plan, err := definitions.NewPlan(c, have, want, f.prune)
	if err != nil {
		return err
	}
	if f.asked.dryRun {
		return p.printPlan(plan)
	}
	var drops []string
	for _, step := range plan.Steps {
		if step.Drops {
			drops = append(drops, "  "+step.Text)
		}
	}
	if len(drops) > 0 {
		effect := "These steps delete or forget something:\n" + strings.Join(drops, "\n")
		if err := f.asked.ask(cmd, p, effect, "import to confirm", "import"); err != nil {
			return err
		}
	}
	return p.carryOut(cmd.Context(), plan)
}

// printPlan prints the steps of a plan.
func (p *printer) printPlan(plan *definitions.Plan) error {
	steps := []string{}
	for _, step := range plan.Steps {
		steps = append(steps, step.Text)
	}
	if p.format.OfDocument() {
		return p.print(map[string]any{"dryRun": true, "steps": steps, "notes": emptyIfNil(plan.Notes)}, nil)
	}
	for _, text := range steps {
		if _, err := fmt.Fprintln(p.out, output.Harmless(text)); err != nil {
			return err
		}
	}
	p.notes(plan)
	p.say("Dry run: nothing was changed. The plan has %s.", plural.Count(len(steps), "step", "steps"))
	return nil
}

func (p *printer) notes(plan *definitions.Plan) {
	for _, note := range plan.Notes {
		p.say("note: %s", output.Harmless(note))
	}
}

// carryOut makes the changes of a plan and prints each.
func (p *printer) carryOut(ctx context.Context, plan *definitions.Plan) error {
	steps := []string{}
	err := plan.Apply(ctx, func(step definitions.Step) {
		steps = append(steps, step.Text)
		if !p.format.OfDocument() {
			p.say("done: %s", output.Harmless(step.Text))
		}
	})
	if err != nil {
		return err
	}
	p.notes(plan)
	return p.done(map[string]any{"steps": steps, "notes": emptyIfNil(plan.Notes)}, "%s",
		plural.Count(len(steps), "change", "changes"))
}

func definitionsDiffCommand(o *options) *cobra.Command {
	f := &partsFlag{}
	c := &cobra.Command{
		Use: "diff [FILE]", Short: "Compare the definitions in a file with those of the cluster", Args: arguments.Optional("FILE"),
		Long: "Compare the definitions in a file, or on standard input, with those of the cluster. A line with + is only in the file,\n" +
			"one with - only in the cluster, and ~ marks a value that differs. The exit code is 1 if there are differences.",
		Example: "  seriatim definitions diff cluster.yaml\n  seriatim definitions diff cluster.yaml -o json | jq '.differences[].name'",
		RunE: o.runDefinitions(f, func(cmd *cobra.Command, c *definitions.Cluster, have *definitions.Document, p *printer,
			args []string) error {
			want, err := readDefinitions(cmd, c, args)
			if err != nil {
				return err
			}
			return p.printDifferences(definitions.Compare(have, want))
		}),
	}
	f.bind(c)
	return c
}

// printDifferences prints differences. It returns an error if there are any.
func (p *printer) printDifferences(list []definitions.Difference) error {
	if p.format.OfDocument() {
		if err := p.print(map[string]any{"differences": emptyIfNil(list)}, nil); err != nil {
			return err
		}
	} else {
		for _, d := range list {
			if _, err := fmt.Fprintln(p.out, output.Harmless(d.String())); err != nil {
				return err
			}
		}
	}
	if len(list) == 0 {
		p.say("no differences")
		return nil
	}
	return exit.New(exit.Failed, errors.New(plural.Count(len(list), "difference", "differences")), "")
}
