package attributes

import "testing"

func TestSince(t *testing.T) {
	rows := sorted(settables[Topic]{
		{name: "Old", since: 3, takes: takesWords(words{{"a", 3}, {"b", 9}})},
		{name: "New", since: 9, takes: takesText("text")},
	})
	for _, test := range []struct {
		given []Attribute
		want  uint32
	}{
		{nil, 0},
		{[]Attribute{{"Unknown", "b"}}, 0},
		{[]Attribute{{"Old", "a"}}, 3},
		{[]Attribute{{"Old", "a"}, {"Old", "b"}}, 9},
		{[]Attribute{{"New", ""}}, 9},
	} {
		if got := rows.since(test.given); got != test.want {
			t.Errorf("%v needs format version %d, want %d", test.given, got, test.want)
		}
	}
}

func TestRowsMustSayTheirVersionAndValues(t *testing.T) {
	for name, build := range map[string]func(){
		"no version": func() { sorted(settables[Topic]{{name: "A", takes: takesText("text")}}) },
		"no values":  func() { sorted(settables[Topic]{{name: "A", since: 5}}) },
		"of a queue": func() { row("A", 0, anyQueue, "Does.", policyValue) },
		"no meaning": func() { row("A", 1, anyQueue, "", policyValue) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a row with %s was accepted", name)
				}
			}()
			build()
		}()
	}
}
