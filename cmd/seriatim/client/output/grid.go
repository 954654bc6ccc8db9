package output

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Grid is a table: a heading with rows of as many cells, or rows of a name and a value without a
// heading.
type Grid struct {
	Heading []string
	Rows    [][]string
	// WideFrom is the number of the first column that only -o wide, --columns, --sort and csv show; 0: none.
	WideFrom int
}

// Add adds a row.
func (g *Grid) Add(cells ...string) { g.Rows = append(g.Rows, cells) }

// choose sorts the rows and keeps the columns of a format.
func (g *Grid) choose(f Format) error {
	if f.sort != "" {
		at, err := g.column(f.sort)
		if err != nil {
			return err
		}
		slices.SortStableFunc(g.Rows, func(a, b []string) int {
			if f.falling {
				a, b = b, a
			}
			return CompareCells(a[at], b[at])
		})
	}
	switch {
	case len(f.columns) > 0 && len(g.Heading) == 0:
		return g.keepRows(f.columns)
	case len(f.columns) > 0:
		return g.keepColumns(f.columns)
	case g.WideFrom > 0 && (f.kind == Table || f.kind == ""):
		g.Heading = g.Heading[:g.WideFrom]
		for i := range g.Rows {
			g.Rows[i] = g.Rows[i][:g.WideFrom]
		}
	}
	return nil
}

// normal is the form in which names of columns are compared: "IN FLIGHT" is also in-flight.
func normal(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "", "_", "").Replace(name))
}

// column returns the number of a column.
func (g *Grid) column(name string) (int, error) {
	at := slices.IndexFunc(g.Heading, func(h string) bool { return normal(h) == normal(name) })
	if at < 0 {
		return 0, unknownColumn(name, g.Heading)
	}
	return at, nil
}

func unknownColumn(name string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("there is no column %q: this output has none to sort by", name)
	}
	names := make([]string, len(known))
	for i, one := range known {
		names[i] = strings.ToLower(strings.ReplaceAll(one, " ", "-"))
	}
	return fmt.Errorf("there is no column %q: the columns are %s", name, strings.Join(names, ", "))
}

func (g *Grid) keepColumns(names []string) error {
	kept := make([]int, len(names))
	for i, name := range names {
		var err error
		if kept[i], err = g.column(name); err != nil {
			return err
		}
	}
	keep := func(cells []string) []string {
		out := make([]string, len(kept))
		for i, at := range kept {
			out[i] = cells[at]
		}
		return out
	}
	g.Heading = keep(g.Heading)
	for i, row := range g.Rows {
		g.Rows[i] = keep(row)
	}
	return nil
}

// keepRows keeps the named rows of a table without a heading.
func (g *Grid) keepRows(names []string) error {
	var kept [][]string
	for _, name := range names {
		at := slices.IndexFunc(g.Rows, func(row []string) bool { return len(row) > 0 && normal(row[0]) == normal(name) })
		if at < 0 {
			var known []string
			for _, row := range g.Rows {
				known = append(known, row[:min(len(row), 1)]...)
			}
			return unknownColumn(name, known)
		}
		kept = append(kept, g.Rows[at])
	}
	g.Rows = kept
	return nil
}

// CompareCells compares numbers, durations and sizes by their value, and other texts by letters. A
// cell without a value is the smallest.
func CompareCells(a, b string) int {
	x, isNumber := valueOf(a)
	y, alsoNumber := valueOf(b)
	switch {
	case isNumber && alsoNumber:
		return cmp.Compare(x, y)
	case isNumber != alsoNumber:
		return cmp.Compare(boolNumber(isNumber), boolNumber(alsoNumber))
	}
	return strings.Compare(a, b)
}

func boolNumber(b bool) int {
	if b {
		return 1
	}
	return 0
}

var units = map[string]float64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "%": 1}

// valueOf returns the value of a cell such as 12, 3.5/s, 1m30s or 4.2 MiB.
func valueOf(cell string) (float64, bool) {
	cell = strings.TrimSuffix(strings.TrimSpace(cell), "/s")
	if n, err := strconv.ParseFloat(cell, 64); err == nil {
		return n, true
	}
	if d, err := time.ParseDuration(cell); err == nil {
		return d.Seconds(), true
	}
	number, unit, _ := strings.Cut(cell, " ")
	n, err := strconv.ParseFloat(number, 64)
	scale, known := units[unit]
	return n * scale, err == nil && known
}

// write writes the table in columns.
func (g *Grid) write(to io.Writer, colour bool) error {
	rows := g.Rows
	if len(g.Heading) > 0 {
		rows = slices.Insert(slices.Clone(rows), 0, g.Heading)
	}
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			row[i] = Harmless(cell)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	out := bufio.NewWriter(to)
	for n, row := range rows {
		for i, cell := range row {
			shown := cell
			if colour {
				shown = Coloured(cell, n == 0 && len(g.Heading) > 0)
			}
			_, _ = out.WriteString(shown) // Flush returns the error
			if i < len(row)-1 {
				_, _ = out.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		_ = out.WriteByte('\n')
	}
	return out.Flush()
}

func (g *Grid) writeCSV(to io.Writer) error {
	w := csv.NewWriter(to)
	if len(g.Heading) > 0 {
		if err := w.Write(g.Heading); err != nil {
			return err
		}
	}
	return w.WriteAll(g.Rows)
}

// writeNames writes the first cell of each row. A table without a heading describes one object, and
// its first value is the name.
func (g *Grid) writeNames(to io.Writer) error {
	rows, at := g.Rows, 0
	if len(g.Heading) == 0 {
		rows, at = rows[:min(len(rows), 1)], 1
	}
	for _, row := range rows {
		if at < len(row) {
			if _, err := fmt.Fprintln(to, Harmless(row[at])); err != nil {
				return err
			}
		}
	}
	return nil
}
