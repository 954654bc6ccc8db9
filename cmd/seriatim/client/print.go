package client

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/progress"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/queue/attributes"
)

// printer writes the output of a command: data to out, messages to words.
type printer struct {
	out    io.Writer
	words  io.Writer
	format output.Format
}

// table is a heading with rows of as many cells. The columns from wideFrom on are those of -o wide.
type table struct {
	heading  []string
	rows     [][]string
	wideFrom int
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes document, or the table from asTable, in the format of -o.
func (p *printer) print(document any, asTable func() table) error {
	err := p.format.Write(p.out, document, func() output.Grid {
		t := asTable()
		return output.Grid{Heading: t.heading, Rows: t.rows, WideFrom: t.wideFrom}
	})
	if wrong, ok := errors.AsType[output.UsageError](err); ok {
		return exit.New(exit.Usage, wrong, "")
	}
	return exit.Wrap(err)
}

// emptyIfNil replaces a nil list, which would be null in JSON.
func emptyIfNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// done reports a change, in words or as a document.
func (p *printer) done(document map[string]any, format string, args ...any) error {
	if p.format.OfDocument() {
		return p.print(document, nil)
	}
	p.say(format, args...)
	return nil
}

// say writes one line to standard error.
func (p *printer) say(format string, args ...any) {
	fmt.Fprintln(p.words, output.Harmless(fmt.Sprintf(format, args...))) //nolint:errcheck // a failed write cannot be reported
}

// progress returns the bar of a command. Lines on standard error then take the place of the bar.
func (p *printer) progress(form string) (*progress.Bar, error) {
	bar, err := progress.New(p.words, form)
	if err == nil {
		p.words = bar
	}
	return bar, err
}

// question is the confirmation of a destructive command. It prints the loss, and the user types
// the name of the object to confirm.
type question struct{ yes, dryRun bool }

// destructive marks the commands that have a question.
const destructive = "destructive"

// errDryRun ends a dry run. It is no failure.
var errDryRun = errors.New("dry run")

// of adds the flags of the question to a command.
func (q *question) of(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&q.yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&q.dryRun, "dry-run", false, "print the effect and change nothing")
	c.Annotations = map[string]string{destructive: "true"}
	return c
}

// skipped reports whether ask prints no effect. The command then need not ask the server for it.
func (q *question) skipped() bool { return q.yes && !q.dryRun }

// ask returns nil if the user confirms. effect describes the loss.
func (q *question) ask(cmd *cobra.Command, p *printer, effect, what, name string) error {
	switch {
	case q.dryRun && p.format.OfDocument():
		return errors.Join(errDryRun, p.print(map[string]any{"dryRun": true, "effect": effect}, nil))
	case q.dryRun:
		_, err := fmt.Fprintf(p.out, "%s\nDry run: nothing was changed.\n", effect)
		return errors.Join(errDryRun, err)
	case q.yes:
		return nil
	}
	p.say("%s", effect)
	return p.confirm(cmd, what, name)
}

// askLoss asks about changes of attributes that lose something: a lower value of some attributes of a
// queue or topic does, which is its kind. read returns the present values.
func (q *question) askLoss(cmd *cobra.Command, p *printer, kind, object string, known []attributes.Described,
	changes map[string]string, read func() (map[string]string, error)) error {
	known = slices.DeleteFunc(slices.Clone(known), func(d attributes.Described) bool {
		_, changed := changes[d.Name]
		return !changed || d.Loses == ""
	})
	if q.skipped() || len(known) == 0 && !q.dryRun {
		return nil
	}
	have, err := read()
	if err != nil {
		return err
	}
	var effects []string
	for _, d := range known {
		from, to := cmp.Or(have[d.Name], d.Default), changes[d.Name]
		if loss := d.Loss(from, to); loss != "" {
			effects = append(effects, d.Name+" was "+from+" and becomes "+to+": "+loss+".")
		}
	}
	name := nameOf(qualifiedOf(object))
	switch {
	case len(effects) > 0:
		return q.ask(cmd, p, strings.Join(effects, "\n"), "the name of the "+kind+" to change", name)
	case q.dryRun:
		return q.ask(cmd, p, "The change deletes and forgets nothing.", "", "")
	}
	return nil
}

// confirm asks the user to type a name. what describes the name in the prompt.
func (p *printer) confirm(cmd *cobra.Command, what, name string) error {
	fmt.Fprintf(p.words, "Type %s: ", what) //nolint:errcheck // a failed write cannot be reported
	line, err := bufio.NewReader(arguments.Input(cmd)).ReadString('\n')
	if cmd.Context().Err() != nil {
		return exit.New(exit.Interrupted, errors.New("interrupted, nothing was changed"), "")
	}
	if name != "" && strings.TrimSpace(line) == name {
		return nil
	}
	if err != nil {
		return exit.New(exit.Usage, errors.New("not confirmed"), "add --yes to skip the question")
	}
	return exit.New(exit.Usage, fmt.Errorf("that is not %q, nothing was changed", name), "")
}

// watchedNames are the names of the commands that only show something.
var watchedNames = []string{"list", "status", "show", "stats", "explain", "tasks", "peek"}

const (
	watchDefault = "2s"
	clearScreen  = "\x1b[H\x1b[2J"
)

// watchAll adds --watch to all commands that only show something.
func (o *options) watchAll(c *cobra.Command) {
	for _, sub := range c.Commands() {
		o.watchAll(sub)
	}
	if c.RunE == nil || c.HasSubCommands() || !slices.Contains(watchedNames, c.Name()) {
		return
	}
	every, once := time.Duration(0), c.RunE
	c.Flags().DurationVar(&every, "watch", 0, "repeat at this interval until you interrupt the command (without a value: "+watchDefault+")")
	c.Flags().Lookup("watch").NoOptDefVal = watchDefault
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("watch") {
			return once(cmd, args)
		}
		if every < 100*time.Millisecond {
			return exit.New(exit.Usage, fmt.Errorf("--watch %v is too short", every), "use 100ms or more")
		}
		return o.watch(cmd, every, func() error { return once(cmd, args) })
	}
}

// watch repeats a command. On a terminal each output replaces the one before, and an error is shown
// like an output. Elsewhere the outputs follow each other, and an error ends the command.
func (o *options) watch(cmd *cobra.Command, every time.Duration, once func() error) error {
	to, words := cmd.OutOrStdout(), cmd.ErrOrStderr()
	o.screen = to
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		var err error
		if output.IsTerminal(to) {
			err = redraw(cmd, every, to, words, once)
		} else {
			err = once()
		}
		if cmd.Context().Err() != nil {
			return exit.Interruption("")
		}
		if err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-cmd.Context().Done():
			return exit.Interruption("")
		}
	}
}

// redraw replaces the screen by the output of a command in one write.
func redraw(cmd *cobra.Command, every time.Duration, to, words io.Writer, once func() error) error {
	var screen bytes.Buffer
	fmt.Fprintf(&screen, "%sEvery %v: %s    %s\n\n", clearScreen, every, cmd.CommandPath(), time.Now().Format(time.TimeOnly))
	cmd.SetOut(&screen)
	cmd.SetErr(&screen)
	err := once()
	cmd.SetOut(to)
	cmd.SetErr(words)
	if err != nil {
		fmt.Fprintln(&screen, output.Harmless(err.Error()))
		if hint := exit.HintOf(err); hint != "" {
			fmt.Fprintln(&screen, strings.TrimSpace(hint))
		}
	}
	_, err = to.Write(screen.Bytes())
	return err
}
