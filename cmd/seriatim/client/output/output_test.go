package output

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
)

type queues struct {
	Queues []queue `json:"queues"`
	Next   string  `json:"next"`
}

type queue struct {
	Name    string `json:"name"`
	Visible int64  `json:"visible"`
	Age     string `json:"age"`
}

var listed = queues{Queues: []queue{{"b.fifo", 9, "1m30s"}, {"a<&>.fifo", 10, "-"}, {"yes", 2, "45s"}}}

func grid() Grid {
	g := Grid{Heading: []string{"NAME", "VISIBLE", "OLDEST AGE"}, WideFrom: 2}
	for _, q := range listed.Queues {
		g.Add(q.Name, strconv.FormatInt(q.Visible, 10), q.Age)
	}
	return g
}

// written returns the output of a format.
func written(t *testing.T, kind string, columns []string, sort string) (string, error) {
	t.Helper()
	f, err := Parse(kind, columns, sort)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = f.Write(&out, listed, grid)
	return out.String(), err
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind    string
		columns []string
		sort    string
		want    string
	}{
		{kind: "table", want: "NAME       VISIBLE\nb.fifo     9\na<&>.fifo  10\nyes        2\n"},
		{kind: "wide", sort: "oldest-age",
			want: "NAME       VISIBLE  OLDEST AGE\na<&>.fifo  10       -\nyes        2        45s\nb.fifo     9        1m30s\n"},
		{kind: "table", sort: "-visible", want: "NAME       VISIBLE\na<&>.fifo  10\nb.fifo     9\nyes        2\n"},
		{kind: "table", columns: []string{"OLDEST_AGE", "name"}, sort: "name",
			want: "OLDEST AGE  NAME\n-           a<&>.fifo\n1m30s       b.fifo\n45s         yes\n"},
		{kind: "csv", want: "NAME,VISIBLE,OLDEST AGE\nb.fifo,9,1m30s\na<&>.fifo,10,-\nyes,2,45s\n"},
		{kind: "name", want: "b.fifo\na<&>.fifo\nyes\n"},
		{kind: "jsonl", want: `{"name":"b.fifo","visible":9,"age":"1m30s"}` + "\n" + `{"name":"a<&>.fifo","visible":10,"age":"-"}` + "\n" +
			`{"name":"yes","visible":2,"age":"45s"}` + "\n"},
		{kind: "yaml", want: "queues:\n  - name: b.fifo\n    visible: 9\n    age: 1m30s\n" +
			"  - name: a<&>.fifo\n    visible: 10\n    age: '-'\n" +
			"  - name: \"yes\"\n    visible: 2\n    age: 45s\nnext: \"\"\n"},
		{kind: `template={{range .queues}}{{.name}}={{.visible}} {{end}}{{json .next}}`, want: `b.fifo=9 a<&>.fifo=10 yes=2 ""`},
	} {
		got, err := written(t, tc.kind, tc.columns, tc.sort)
		if err != nil || got != tc.want {
			t.Errorf("-o %s --columns %v --sort %q: %v\n%s\nwant\n%s", tc.kind, tc.columns, tc.sort, err, got, tc.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind    string
		columns []string
		sort    string
		want    string
	}{
		{kind: "xml", want: "unknown output format"},
		{kind: "template={{", want: "template"},
		{kind: "template={{.queues.x}}", want: "template"},
		{kind: "table", sort: "size", want: "the columns are name, visible, oldest-age"},
		{kind: "csv", columns: []string{"size"}, want: "the columns are name, visible, oldest-age"},
		{kind: "json", columns: []string{"name"}, want: "need a table"},
		{kind: "yaml", sort: "name", want: "need a table"},
	} {
		if got, err := written(t, tc.kind, tc.columns, tc.sort); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("-o %s --columns %v --sort %q: %q, %v", tc.kind, tc.columns, tc.sort, got, err)
		}
	}
}

// A table without a heading describes one object.
func TestDetails(t *testing.T) {
	t.Parallel()
	g := Grid{Rows: [][]string{{"Name", "a.fifo"}, {"In flight", "3"}}}
	f, err := Parse("csv", []string{"in-flight"}, "")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := f.Write(&out, nil, func() Grid { return g }); err != nil || out.String() != "In flight,3\n" {
		t.Errorf("%v %q", err, out.String())
	}
	f, _ = Parse("name", nil, "")
	out.Reset()
	if err := f.Write(&out, nil, func() Grid { return g }); err != nil || out.String() != "a.fifo\n" {
		t.Errorf("%v %q", err, out.String())
	}
}

// Stored text cannot control the terminal.
func TestHarmless(t *testing.T) {
	t.Parallel()
	g := Grid{Heading: []string{"NAME", "STATE"}}
	g.Add("a\x1b[31m\u202eb\u2028\r\n\u009b", "failed")
	f := Format{Colour: true}
	var out bytes.Buffer
	if err := f.Write(&out, nil, func() Grid { return g }); err != nil {
		t.Fatal(err)
	}
	want := bold + "NAME" + reset + "          " + bold + "STATE" + reset + "\na [31m b      " + red + "failed" + reset + "\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
