package client

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// Counts are a bar on a terminal and an object in JSON. The last counts are always reported.
func TestCountedProgress(t *testing.T) {
	t.Parallel()
	for form, wants := range map[string][]string{
		progressAuto: {"[============            ] 50 % 5 sent, ", "[========================] 100 % 10 sent, ", "/s \n"},
		progressNone: {},
	} {
		var words strings.Builder
		p := &progress{words: &words, form: form, begun: time.Now()} // the last report is long ago
		p.counted("sent", 5, 10)
		p.counted("sent", 10, 10)
		p.over()
		for _, want := range wants {
			if !strings.Contains(words.String(), want) {
				t.Errorf("%s: no %q in %q", form, want, words.String())
			}
		}
		if len(wants) == 0 && words.Len() > 0 {
			t.Errorf("%s: %q", form, words.String())
		}
	}
	var words strings.Builder
	p, err := newProgress(&words, progressJSON)
	if err != nil {
		t.Fatal(err)
	}
	p.counted("exported", 7, 0)
	p.over()
	var got map[string]float64
	if err := json.Unmarshal([]byte(words.String()), &got); err != nil || got["exported"] != 7 || len(got) != 3 {
		t.Errorf("%s, %v", words.String(), err)
	}
	if _, err := newProgress(&words, "bar"); exit.CodeOf(err) != exit.Usage {
		t.Errorf("%v", err)
	}
}
