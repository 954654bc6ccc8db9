package attributes

import "testing"

func TestSince(t *testing.T) {
	rows := newTable(true,
		row("Old", 3, onAny, "Does.", either(words{{"a", 3}, {"b", 9}}, func(a *Topic) *bool { return &a.FIFO })),
		row("New", 9, onAny, "Does.", displayNameValue()),
	)
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
		"no version": func() { newTable(true, row("A", 0, onAny, "Does.", displayNameValue())) },
		"no values":  func() { newTable(true, row("A", 5, onAny, "Does.", attribute[Topic]{})) },
		"no meaning": func() { newTable(false, row("A", 1, onAny, "", policyValue())) },
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
