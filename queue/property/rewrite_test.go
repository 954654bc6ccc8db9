package property

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRewrite(t *testing.T) {
	t.Parallel()
	id := GUID([16]byte{1})
	properties := propertiesSection(id, Binary("user"), Null, String("label"), Null, Null, Null, Null, Time(1))
	application := applicationSection([]Named{{"n", Integer(TypeInt, 5)}, {"Color", String("red")}, {"COLOR", Null}, {"m", Long(1)}})
	newProperties, newApplication, err := Rewrite(properties, application, []Change{
		{Name: "color", Value: String("blue")}, // COLOR is the first in the order of bytes
		{Name: "Color", Value: String("green")},
		{Name: "n"},
		{Name: "missing"},
		{Name: "added", Value: id},
		{System: Label},
		{System: SessionID, Value: String("s")},
		{System: ContentType, Value: String("text/plain")},
		{System: CorrelationID, Value: Null},
		{System: TimeToLive, Value: Duration(5)}, // in another section
	})
	if err != nil {
		t.Fatal(err)
	}
	want := applicationSection([]Named{{"Color", String("green")}, {"COLOR", String("blue")}, {"m", Long(1)}, {"added", id}})
	var s, wanted Set
	if err := s.Read(newProperties, newApplication); err != nil {
		t.Fatal(err)
	}
	if err := wanted.Read("", want); err != nil || !slices.Equal(s.All(), wanted.All()) {
		t.Errorf("the properties are %v (%v), want %v", s.All(), err, wanted.All())
	}
	got := []Value{s.System(MessageID), s.System(Label), s.System(SessionID), s.System(ContentType), s.System(TimeToLive)}
	if !slices.Equal(got, []Value{String(id.Text()), {}, String("s"), String("text/plain"), {}}) {
		t.Errorf("the system properties are %v", got)
	}
	// The id is still a UUID, and the fields that rules do not know remain.
	if !strings.Contains(newProperties, string(Append(nil, id))) || !strings.Contains(newProperties, string(Append(nil, Binary("user")))) ||
		!strings.Contains(newProperties, string(Append(nil, Time(1)))) {
		t.Errorf("the section is %x", newProperties)
	}
	// A section without changes is the same, also if it is absent.
	for _, c := range []struct{ properties, application string }{{properties, application}, {"", ""}} {
		p, a, err := Rewrite(c.properties, c.application, []Change{{System: TimeToLive, Value: Duration(5)}})
		if p != c.properties || a != c.application || err != nil {
			t.Errorf("%x %x: %v", p, a, err)
		}
	}
	p, a, err := Rewrite("", "", []Change{{System: ContentType, Value: String("é")}, {Name: "n", Value: Long(1)}})
	if err != nil || s.Read(p, a) != nil || s.System(ContentType) != String("é") || s.Application("n") != Long(1) {
		t.Errorf("new sections are %x and %x (%v)", p, a, err)
	}
	for _, c := range []struct{ properties, application, want string }{
		{"x", "", "properties section is malformed"},
		{"", "x", "application-properties section is malformed"},
		{"", applicationSection([]Named{{"big", String(strings.Repeat("x", SectionBytesMax-40))}}), "more than 64 KiB"},
	} {
		_, _, err := Rewrite(c.properties, c.application, []Change{
			{System: To, Value: String("x")}, {Name: "name", Value: String(strings.Repeat("y", 60))},
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%x %x: %v, want %q", c.properties, c.application, err, c.want)
		}
	}
}

// TestRewriteIsSeen changes random properties: a lookup finds the new value, and others are the same.
func TestRewriteIsSeen(t *testing.T) {
	t.Parallel()
	names := []string{"a", "A", "b", "é", "É", "c"}
	rapid.Check(t, func(t *rapid.T) {
		var properties []Named
		for _, name := range rapid.Permutation(names).Draw(t, "order")[:rapid.IntRange(0, 6).Draw(t, "count")] {
			properties = append(properties, Named{name, drawnValue(t)})
		}
		application := applicationSection(properties)
		c := Change{Name: rapid.SampledFrom(names).Draw(t, "name")}
		if rapid.Bool().Draw(t, "set") {
			c.Value = drawnValue(t)
		}
		_, changed, err := Rewrite("", application, []Change{c})
		if err != nil {
			t.Fatal(err)
		}
		var before, after Set
		if err := before.Read("", application); err != nil {
			t.Fatal(err)
		}
		if err := after.Read("", changed); err != nil {
			t.Fatal(err)
		}
		if c.Value.Kind() != KindNone && after.Application(c.Name) != c.Value {
			t.Fatalf("%q is %v, want %v", c.Name, after.Application(c.Name), c.Value)
		}
		kept := 0
		for _, n := range before.All() {
			if slices.Contains(after.All(), n) {
				kept++
			}
		}
		if kept < len(before.All())-1 || len(after.All()) > len(before.All())+1 || len(after.All()) < len(before.All())-1 {
			t.Fatalf("%v becomes %v", before.All(), after.All())
		}
	})
}
