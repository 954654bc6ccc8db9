package rules

import (
	"fmt"
	"testing"

	"github.com/seriatimq/seriatim/queue/property"
)

// common are filters as programs have them.
var common = []struct{ name, filter string }{
	{"equal strings", "color = 'red'"},
	{"other string", "color = 'blue'"},
	{"integers", "quantity > 5"},
	{"double", "price >= 2.08"},
	{"decimal", "cost > 19"},
	{"system property", "sys.Label = 'order'"},
	{"and", "color = 'red' AND quantity = 10"},
	{"in", "color IN ('blue', 'green', 'yellow', 'red')"},
	{"like", "sys.Label LIKE 'ord%'"},
	{"like inside", "description LIKE '%brown_fox%'"},
	{"arithmetic", "quantity * 2 + 1 > 20 AND quantity % 2 = 0"},
	{"missing", "absent = 1 OR EXISTS(color) AND absent IS NULL"},
	{"times", "at - at2 < @limit"},
}

func benchMessage(t testing.TB) *testMessage {
	return messageOf(t, "color", "red", "quantity", "int:10", "price", 2.5, "cost", "decimal:19.99", "priority", "high", "tenant", "t-17",
		"description", "the quick brown fox jumps over the lazy dog", "at", "timestamp:2026-01-02T00:00:00Z",
		"at2", "timestamp:2026-01-01T00:00:00Z", "region", "eu", "sys.Label", "order")
}

func benchFilter(t testing.TB, text string) *SQLFilter {
	return mustParse(t, text, property.Named{Name: "limit", Value: property.Duration(1)})
}

// TestCommonFiltersAllocateNothing evaluates filters of which the state machine may evaluate thousands
// for a message.
func TestCommonFiltersAllocateNothing(t *testing.T) {
	m := benchMessage(t)
	correlation, err := NewCorrelationFilter([]SystemCondition{{property.Label, "order"}}, []property.Named{{
		Name:  "color",
		Value: property.String("red"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	filters := []Filter{TrueFilter{}, FalseFilter{}, correlation}
	for _, c := range common {
		filters = append(filters, benchFilter(t, c.filter))
	}
	for _, f := range filters {
		if n := testing.AllocsPerRun(100, func() { f.Evaluate(m) }); n != 0 {
			t.Errorf("%s: %v allocations", f, n)
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	m := benchMessage(b)
	for _, c := range common {
		f := benchFilter(b, c.filter)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.Evaluate(m)
			}
		})
	}
}

// BenchmarkSubscriptions evaluates a rule of each of 2,000 subscriptions for one message, which it
// reads from its sections.
func BenchmarkSubscriptions(b *testing.B) {
	const subscriptions = 2000
	application := encoded(0x74, 0xd1, property.String("tenant"), property.String("t-17"), property.String("color"), property.String("red"),
		property.String("quantity"), property.Integer(property.TypeInt, 10))
	section := encoded(0x73, 0xd0, property.String("id"), property.Null, property.Null, property.String("order"))
	for _, c := range []struct {
		name   string
		filter func(i int) (Filter, error)
	}{
		{"sql", func(i int) (Filter, error) { return ParseSQL(fmt.Sprintf("tenant = 't-%d' AND quantity > 5", i), nil) }},
		{"like", func(i int) (Filter, error) {
			return ParseSQL(fmt.Sprintf("tenant LIKE '%%-%d' OR sys.Label LIKE 'x%%'", i), nil)
		}},
		{"correlation", func(i int) (Filter, error) {
			return NewCorrelationFilter([]SystemCondition{{property.Label, fmt.Sprint("order-", i)}}, nil)
		}},
	} {
		var filters []Filter
		for i := range subscriptions {
			f, err := c.filter(i)
			if err != nil {
				b.Fatal(err)
			}
			filters = append(filters, f)
		}
		b.Run(c.name, func(b *testing.B) {
			m := &testMessage{}
			b.ReportAllocs()
			for b.Loop() {
				if err := m.Read(section, application); err != nil {
					b.Fatal(err)
				}
				for _, f := range filters {
					f.Evaluate(m)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/subscriptions, "ns/rule")
		})
	}
}

func BenchmarkParseSQL(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseSQL("sys.Label LIKE '%bus%' OR user.tag IN ('queue', 'topic', 'subscription') AND quantity > 5",
			nil); err != nil {
			b.Fatal(err)
		}
	}
}
