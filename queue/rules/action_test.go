package rules

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/property"
)

func TestAction(t *testing.T) {
	t.Parallel()
	m := messageOf(t, "n", "int:7", "s", "text", "d", 2.5, "b", true, "none", nil, "Color", "red", "at", "timestamp:2026-01-02T00:00:00Z",
		"id", "uuid:00000000-0000-0000-0000-000000000001", "f", "float:0.5", "u", "ubyte:200", "sys.Label", "label", "sys.SequenceNumber",
		5)
	for _, c := range []struct{ action, want string }{
		{"SET a = 1", "a = long 1"},
		{"SET a = 1.5; SET b2 = 'x'; SET c = TRUE", "a = double 1.5; b2 = string x; c = boolean True"},
		// Statements see those before.
		{"SET a = 1; SET a = a + 1; SET c = a * 10", "a = long 2; c = long 20"},
		{"SET a = 1; REMOVE a; SET c = a", "a removed; c = null"},
		{"REMOVE n; SET n = 5", "n = long 5"},
		{"SET A = 1; SET a = a + 1", "A = long 2"},
		// A name finds a property in any letter case.
		{"SET color = color + 's'", "color = string reds"},
		{"REMOVE missing", "missing removed"},
		// The type of a property remains if it can hold the value.
		{"SET n = n / 2", "n = int 3"},
		{"SET n = n * 1.5", "n = double 10.5"},
		{"SET n = n * 2.0", "n = int 14"},
		{"SET n = '9'", "n = int 9"},
		{"SET n = 'x'", "n = string x"},
		{"SET n = 3000000000", "n = long 3000000000"},
		{"SET u = u + 56", "u = long 256"},
		{"SET s = 5", "s = string 5"},
		{"SET s = s + n", "s = string text7"},
		{"SET b = 'false'", "b = boolean False"},
		{"SET f = 0.25", "f = float 0.25"},
		{"SET f = 0.1", "f = double 0.1"},
		{"SET at = '2026-01-03T00:00:00Z'", "at = timestamp 2026-01-03T00:00:00.000Z"},
		{"SET id = newid()", "id = uuid ff000000-0000-4f00-bf00-0000000000ff"},
		{"SET d = 3", "d = double 3"},
		{"SET none = 3", "none = long 3"},
		// Unknown values.
		{"SET a = missing", "a = null"},
		{"SET a = NULL", "a = null"},
		{"SET n = none", "n = null"},
		{"SET a = missing + 1", "a = null"},
		{"SET sys.Label = missing", "sys.Label removed"},
		{"SET sys.Label = NULL", "sys.Label removed"},
		{"REMOVE sys.Label", "sys.Label removed"},
		// System properties keep their type.
		{"SET sys.Label = sys.Label + '.x'; SET a = sys.Subject", "sys.Label = string label.x; a = string label.x"},
		{"SET sys.SessionId = n", "sys.SessionId = string 7"},
		{"SET sys.MessageId = sys.SequenceNumber", "sys.MessageId = string 5"},
		{"SET sys.TimeToLive = '00:05:00'", "sys.TimeToLive = timespan 00:05:00"},
		{"SET sys.ScheduledEnqueueTimeUtc = at", "sys.ScheduledEnqueueTimeUtc = timestamp 2026-01-02T00:00:00.000Z"},
		{"SET sys.ForcePersistence = b", "sys.ForcePersistence = boolean True"},
		{"SET sys.TimeToLive = n", "a value that the property cannot have"},
		{"SET sys.TimeToLive = s", "a value that the property cannot have"},
		{"SET a = 1; SET b = n / 0", "a division by zero"},
		{"SET a = p('Co' + 'lor')", "a = string red"},
	} {
		a, err := ParseAction(c.action, nil)
		if err != nil {
			t.Errorf("%s: %v", c.action, err)
			continue
		}
		changes, fault := a.Evaluate(m)
		got := describe(changes)
		if fault != property.OK {
			got += fault.String()
		}
		if got != c.want {
			t.Errorf("%s makes %q, want %q", c.action, got, c.want)
		}
	}
	a, err := ParseAction("SET at = @at; SET n = @n", []property.Named{
		{
			Name:  "at",
			Value: valueOf(t, "datetime-offset:2026-01-02T00:00:00.0000001Z"),
		},
		{Name: "@N", Value: property.Long(1)},
	})
	if err != nil {
		t.Fatal(err)
	}
	changes, _ := a.Evaluate(messageOf(t))
	if want := "at = datetime-offset 2026-01-02T00:00:00.0000001Z; n = long 1"; describe(changes) != want {
		t.Errorf("parameters make %q, want %q", describe(changes), want)
	}
}

func TestCorrelationFilter(t *testing.T) {
	t.Parallel()
	m := messageOf(t, "n", "int:5", "s", "5", "d", 5.0, "Color", "red", "sym", "symbol:x", "none", nil, "m", "decimal:1.50", "b", true,
		"sys.CorrelationId", "high", "sys.To", "")
	f := func(name string, v any) []property.Named { return []property.Named{{Name: name, Value: valueOf(t, v)}} }
	for _, c := range []struct {
		system      []SystemCondition
		application []property.Named
		text        string
		want        Truth
	}{
		{[]SystemCondition{{property.CorrelationID, "high"}}, nil, "sys.CorrelationId = 'high'", True},
		{[]SystemCondition{{property.CorrelationID, "High"}}, nil, "sys.CorrelationId = 'High'", False},
		{[]SystemCondition{{property.Label, ""}}, nil, "sys.Label = ''", False},
		{
			[]SystemCondition{{property.To, ""}, {property.CorrelationID, "high"}},
			f("color", "red"),
			"sys.CorrelationId = 'high' AND sys.To = '' AND color = 'red'", True,
		},
		{[]SystemCondition{{property.CorrelationID, "high"}}, f("color", "Red"), "sys.CorrelationId = 'high' AND color = 'Red'", False},
		{nil, f("n", 5), "n = 5", True},
		{nil, f("n", "ulong:5"), "n = 5", True},
		{nil, f("n", "5"), "n = '5'", False},
		{nil, f("n", 5.0), "n = 5.0", False},
		{nil, f("d", 5.0), "d = 5.0", True},
		{nil, f("s", 5), "s = 5", False},
		{nil, f("s", "5"), "s = '5'", True},
		{nil, f("sym", "x"), "sym = 'x'", True},
		{nil, f("m", "decimal:1.5"), "m = 1.5", True},
		{nil, f("missing", 1), "missing = 1", False},
		{nil, f("none", ""), "none = ''", False},
		{nil, f("b", true), "b = TRUE", True},
		{nil, f("a b", "timespan:00:00:01"), "[a b] = 00:00:01", False},
	} {
		filter, err := NewCorrelationFilter(c.system, c.application)
		if err != nil {
			t.Fatal(err)
		}
		got, fault := filter.Evaluate(m)
		if got != c.want || fault != property.OK || filter.String() != c.text {
			t.Errorf("%s is %s (%v), want %s of %s", filter, got, fault, c.want, c.text)
		}
		x := filter.Explain(m)
		all := True
		for _, part := range x.Parts {
			if part.Result == False {
				all = False
			}
		}
		if x.Result != c.want || all != c.want || len(x.Parts) != len(c.system)+len(c.application) {
			t.Errorf("%s: the explanation is %+v", filter, x)
		}
	}
	for _, c := range []struct {
		system      []SystemCondition
		application []property.Named
		want        string
	}{
		{nil, nil, "needs a condition"},
		{[]SystemCondition{{property.SequenceNumber, "5"}}, nil, "cannot have a condition for sys.SequenceNumber"},
		{[]SystemCondition{{property.To, "5"}, {property.To, "6"}}, nil, "two conditions for sys.To"},
		{[]SystemCondition{{property.To, "\xff"}}, nil, "the value of sys.To is invalid: it is not valid UTF-8"},
		{nil, append(f("a", 1), f("A", 2)...), "two conditions for A"},
		{nil, f("a", nil), "the value of a is invalid: it is null"},
		{nil, f("a", []byte{1}), "binary values cannot be compared"},
		{nil, f("", 1), "an invalid name"},
		{make([]SystemCondition, 101), nil, "can have 100 conditions"},
	} {
		if _, err := NewCorrelationFilter(c.system, c.application); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %v: %v, want %q", c.system, c.application, err, c.want)
		}
	}
}

// outline returns an explanation as indented lines.
func outline(x Explanation, depth int) string {
	text := strings.Repeat("  ", depth) + x.Text + ": " + x.Result.String()
	if x.Reason != "" {
		text += " (" + x.Reason + ")"
	}
	for _, v := range x.Values {
		text += " [" + v.Name + " " + v.Value.Type().String() + " " + v.Value.Text() + "]"
	}
	text += "\n"
	for _, part := range x.Parts {
		text += outline(part, depth+1)
	}
	return text
}

func TestExplain(t *testing.T) {
	t.Parallel()
	m := messageOf(t, "color", "blue", "n", "int:5", "none", nil, "b", true, "sys.Label", "x")
	for _, c := range []struct{ filter, want string }{
		{"color = 'red' AND (n > 1 OR NOT missing = 5)", `
color = 'red' AND (n > 1 OR NOT missing = 5): false
  color = 'red': false [color string blue]
  n > 1 OR NOT missing = 5: true
    n > 1: true [n int 5]
    NOT missing = 5: unknown
      missing = 5: unknown (the message has no missing) [missing none ]
`},
		{"color > 5", "\ncolor > 5: unknown (a string and an integer have no relation) [color string blue]\n"},
		{"none = sys.Label", "\nnone = sys.Label: unknown (none is null) [none null ] [sys.Label string x]\n"},
		{"n LIKE '5'", "\nn LIKE '5': unknown (LIKE takes strings, not an integer) [n int 5]\n"},
		{"color LIKE n", "\ncolor LIKE n: unknown (LIKE takes strings, not an integer) [color string blue] [n int 5]\n"},
		{
			"color LIKE 'x' + '!' ESCAPE color",
			"\ncolor LIKE 'x' + '!' ESCAPE color: unknown (the pattern or its escape character is invalid) [color string blue]\n",
		},
		{"b > FALSE", "\nb > FALSE: unknown (values such as a boolean have no order) [b boolean True]\n"},
		{"n / 0 = 1", "\nn / 0 = 1: unknown (the evaluation fails: a division by zero) [n int 5]\n"},
		{"n = NULL", "\nn = NULL: unknown (an operand is unknown) [n int 5]\n"},
		{"n IN (1, 'x')", "\nn IN (1, 'x'): unknown (an integer and a string have no relation) [n int 5]\n"},
		{"p('no' + 'ne') = 1", "\nproperty('no' + 'ne') = 1: unknown (property('no' + 'ne') is null) [property('no' + 'ne') null ]\n"},
		{"n + n = 10 AND EXISTS(sys.To)", `
n + n = 10 AND EXISTS(sys.To): false
  n + n = 10: true [n int 5]
  EXISTS(sys.To): false [sys.To none ]
`},
	} {
		if got := "\n" + outline(mustParse(t, c.filter).Explain(m), 0); got != c.want {
			t.Errorf("%s: the explanation is %s, want %s", c.filter, got, c.want)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	m := messageOf(t, "n", 5)
	a, err := ParseAction("SET n = n / (n - 5)", nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := Test(mustParse(t, "n = 5"), a, m); !r.Selected || r.Fault != property.OK || r.ActionFault != property.DivisionByZero ||
		r.Changes != nil {
		t.Errorf("the report is %+v", r)
	}
	if r := Test(mustParse(t, "n = 6"), a, m); r.Selected || r.ActionFault != property.OK || r.Explanation.Result != False {
		t.Errorf("the report is %+v", r)
	}
	if r := Test(mustParse(t, "n / 0 = 6"), nil, m); r.Selected || r.Fault != property.DivisionByZero {
		t.Errorf("the report is %+v", r)
	}
	if r := Test(TrueFilter{}, nil, m); !r.Selected || r.Explanation.Text != "1 = 1" {
		t.Errorf("the report is %+v", r)
	}
	if r := Test(FalseFilter{}, a, m); r.Selected || r.Explanation.Result != False || r.Changes != nil {
		t.Errorf("the report is %+v", r)
	}
}
