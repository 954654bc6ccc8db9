package awswire

import (
	"fmt"
	"strings"
	"testing"
)

// nested has lists and maps in the elements of a list.
type nested struct{ Outer []inner }

type inner struct {
	List  []string
	Map   []Pair
	Items []item
	Named []item
}

var nestedSchema = Structure(
	Structures("Outer", "Outer", Structure(
		Strings("List", "ListItem", func(v *inner) *[]string { return &v.List }),
		StringMap("Map", "Entry", "Key", "Value", func(v *inner) *[]Pair { return &v.Map }),
		Structures("Items", "Item", itemSchema, func(v *inner) *[]item { return &v.Items }),
		StructureMap("Named", "NamedItem", itemSchema, func(v *item) *string { return &v.Key }, func(v *inner) *[]item { return &v.Named }),
	), func(v *nested) *[]inner { return &v.Outer }),
)

// TestElementsOfAllLists: the elements of a request are bounded together, whichever of its
// lists and maps they are in, and however often it gives one of them.
func TestElementsOfAllLists(t *testing.T) {
	t.Parallel()
	fill := func(value string, n int) string { return strings.TrimSuffix(strings.Repeat(value+",", n), ",") }
	for _, tc := range []struct{ format, value string }{
		{`"List":[%s]`, `""`}, {`"Map":{%s}`, `"":""`}, {`"Items":[%s]`, `{}`}, {`"Named":{%s}`, `"":{}`},
	} {
		text := func(outer, inner int) string {
			return `{"Outer":[` + fill("{"+fmt.Sprintf(tc.format, fill(tc.value, inner))+"}", outer) + `]}`
		}
		if err := nestedSchema.DecodeJSON(text(64, 63), &nested{}); err != nil {
			t.Errorf("%s with as many elements as there may be: %v", tc.format, err)
		}
		if err := nestedSchema.DecodeJSON(text(65, 63), &nested{}); err == nil {
			t.Errorf("%s with more elements is read", tc.format)
		}
		again := fmt.Sprintf(tc.format, fill(tc.value, elementsMax/2))
		if err := nestedSchema.DecodeJSON(`{"Outer":[{`+again+`,`+again+`}]}`, &nested{}); err == nil {
			t.Errorf("%s that is given twice is read", tc.format)
		}
	}
}

// TestNodesOfForm: the names of parameters make no more nodes than two each, so that they do
// not take many times the memory of their text.
func TestNodesOfForm(t *testing.T) {
	t.Parallel()
	form := func(format string, n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, format+"&", i)
		}
		return text.String()
	}
	if _, err := ParseForm(form("Outer.%d", parametersMax)); err != nil {
		t.Errorf("a list of as many elements as there may be parameters: %v", err)
	}
	for _, format := range []string{"%d.1.1.1.1.1.1.1", "Outer.%d.Item.1.Text"} {
		if _, err := ParseForm(form(format, parametersMax)); err == nil {
			t.Errorf("%s is read", format)
		}
	}
}
