package client

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

const (
	formatTable = "table"
	formatJSON  = "json"
)

// printer writes what a command found: data to out, words to words.
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

// print writes document as JSON, or the table made of it.
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

// emptyIfNil is a list that is one in JSON also when it is empty.
func emptyIfNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// done says what was done, in words or as a document.
func (p *printer) done(document map[string]any, format string, args ...any) error {
	if p.format == formatJSON {
		return p.print(document, nil)
	}
	p.say(format, args...)
	return nil
}

// say writes one line of words for people.
func (p *printer) say(format string, args ...any) {
	fmt.Fprintf(p.words, format+"\n", args...) //nolint:errcheck // nobody is left to tell
}

// oneLine keeps a cell in its row and column: the exact text is what JSON
// output is for.
func oneLine(cell string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) { // those above 0x7f, too: to some terminals they are the beginning of a sequence
			return ' '
		}
		return r
	}, cell)
}
