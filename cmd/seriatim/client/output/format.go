package output

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"
)

// Format is a way to write data. The zero value writes tables.
type Format struct {
	kind     string
	template *template.Template // of kind templated
	columns  []string           // shown columns, in order; empty: all
	sort     string             // column to sort by; empty: the order of the command
	falling  bool               // sort from the largest value
	Colour   bool               // colours the states in tables
}

// Values of -o.
const (
	Table = "table"
	Wide  = "wide" // the table with all columns
	JSON  = "json"
	Lines = "jsonl" // one JSON document for each entry of a list
	YAML  = "yaml"
	CSV   = "csv"
	Name  = "name" // the first column
	// templated is followed by a template of text/template.
	templated = "template="
)

// Values lists the values of -o, for shells that complete them.
var Values = []string{Table, Wide, JSON, Lines, YAML, CSV, Name, templated}

// Help describes the values of -o.
const Help = "table, wide, json, jsonl, yaml, csv, name or template=TEMPLATE (of Go's text/template)"

// Help of the flags --columns and --sort.
const (
	ColumnsHelp = "columns of the table to show, in this order: names with commas"
	SortHelp    = "column to sort the table by; with - before the name, from the largest value"
)

// Parse returns the format of the flags -o, --columns and --sort.
func Parse(kind string, columns []string, sort string) (Format, error) {
	f := Format{kind: kind, columns: columns}
	f.sort, f.falling = strings.TrimPrefix(sort, "-"), strings.HasPrefix(sort, "-")
	if text, ok := strings.CutPrefix(kind, templated); ok {
		parsed, err := template.New("-o").Funcs(template.FuncMap{"json": compact}).Parse(text)
		if err != nil {
			return Format{}, fmt.Errorf("the template of -o is wrong: %w", err)
		}
		f.kind, f.template = templated, parsed
	}
	switch f.kind {
	case Table, Wide, CSV, Name:
		return f, nil
	case JSON, Lines, YAML, templated:
		if sort != "" || len(columns) > 0 {
			return Format{}, errors.New("--columns and --sort need a table: use -o table, wide, csv or name")
		}
		return f, nil
	}
	return Format{}, fmt.Errorf("unknown output format %q", kind)
}

// Kind returns the value of -o, without the text of a template.
func (f Format) Kind() string { return f.kind }

// ForPeople reports whether the output is a table for people, with hints beside it.
func (f Format) ForPeople() bool { return f.kind == Table || f.kind == Wide || f.kind == "" }

// OfDocument reports whether the output shows the document and not the table.
func (f Format) OfDocument() bool {
	return f.kind == JSON || f.kind == Lines || f.kind == YAML || f.kind == templated
}

// UsageError is an error of --columns, --sort or the template of -o. Other errors are those of the
// writer.
type UsageError struct{ error }

// Unwrap returns the error itself.
func (e UsageError) Unwrap() error { return e.error }

// Write writes a document, or the table from asTable, as the format needs.
func (f Format) Write(to io.Writer, document any, asTable func() Grid) error {
	if f.OfDocument() {
		return f.writeDocument(to, document)
	}
	g := asTable()
	if err := g.choose(f); err != nil {
		return UsageError{err}
	}
	switch f.kind {
	case CSV:
		return g.writeCSV(to)
	case Name:
		return g.writeNames(to)
	}
	return g.write(to, f.Colour)
}
