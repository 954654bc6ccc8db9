package policy

import "testing"

func TestGrammarSince(t *testing.T) {
	g := Grammar{{"old", 1}, {"new", 5}, {"word", 4}, {"aws:tag/", 3}}
	for text, want := range map[string]uint32{
		"": 0, "{}": 0, "no JSON, new": 0, `{"other":1}`: 0,
		`{"old":1}`: 1, `{"old":{"a":[{"new":1}]}}`: 5, `{"old":["word"]}`: 4, `["new"]`: 5,
		"{\"n\\u0065w\":1}": 5, `{"newIfExists":{"AWS:Tag/x":"y"}}`: 5, `{"AWS:Tag/x":"y"}`: 3, `{"aws:tag/":1}`: 3,
	} {
		if got := g.Since(text); got != want {
			t.Errorf("%s needs format version %d, want %d", text, got, want)
		}
	}
}
