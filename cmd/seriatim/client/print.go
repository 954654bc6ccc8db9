package client

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

const (
	formatTable = "table"
	formatJSON  = "json"
)

// printer writes the output of a command: data to out, messages to words.
type printer struct {
	out    io.Writer
	words  io.Writer
	format string
}

// table is a heading with rows of as many cells.
type table struct {
	heading []string
	rows    [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes document as JSON, or the table from asTable.
func (p *printer) print(document any, asTable func() table) error {
	if p.format == formatJSON {
		enc := json.NewEncoder(p.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(document)
	}
	t := asTable()
	tw := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	if len(t.heading) > 0 {
		if _, err := fmt.Fprintln(tw, strings.Join(t.heading, "\t")); err != nil {
			return err
		}
	}
	for _, row := range t.rows {
		for i, cell := range row {
			row[i] = oneLine(cell)
		}
		if _, err := fmt.Fprintln(tw, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return tw.Flush()
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
	if p.format == formatJSON {
		return p.print(document, nil)
	}
	p.say(format, args...)
	return nil
}

// say writes one line to standard error.
func (p *printer) say(format string, args ...any) {
	fmt.Fprintf(p.words, format+"\n", args...) //nolint:errcheck // a failed write cannot be reported
}

// oneLine replaces control characters in a cell. JSON output has the exact text.
func oneLine(cell string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) { // also those above 0x7f, which begin a sequence on some terminals
			return ' '
		}
		return r
	}, cell)
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
	case q.dryRun && p.format == formatJSON:
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
