package awswire

import (
	"fmt"
	"strings"
	"testing"
)

// nested has lists and maps inside the elements of a list.
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

// TestElementsOfAllLists checks that the bound on elements is for the whole request, whichever
// lists and maps contain them, also if a member is given several times.
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

// TestNodesOfForm checks that a form has at most two nodes for each parameter, so that it takes
// little more memory than its text.
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
