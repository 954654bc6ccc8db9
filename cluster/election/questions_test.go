package election

import (
	"encoding/json"
	"testing"
)

// Field names on the wire are part of the protocol between versions.
func TestQuestionsOnTheWire(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{question{}, `{"leader":"","term":0}`},
		{
			question{Leader: "a-1", Term: 5, Isolated: "c-3", Successor: "b-2", Leaderless: true},
			`{"leader":"a-1","term":5,"stranded":"c-3","successor":"b-2","vacant":true}`,
		},
		{answer{LastTerm: 5, LastIndex: 9}, `{"lastTerm":5,"lastIndex":9}`},
		{
			answer{Leads: true, Misses: true, LastTerm: 5, LastIndex: 9, Heard: []string{"b-2"}},
			`{"leads":true,"misses":true,"lastTerm":5,"lastIndex":9,"heard":["b-2"]}`,
		},
	} {
		if got, err := json.Marshal(c.value); err != nil || string(got) != c.want {
			t.Errorf("%T is %s, %v, want %s", c.value, got, err, c.want)
		}
	}
}
