package backlog

import (
	"fmt"
	"strings"
	"testing"
)

// scene is an account of two groups with three acknowledged messages each, with the deliveries of
// all.
func scene() (*Account, []Message) {
	a := NewAccount(2, 100)
	var messages []Message
	for group := range 2 {
		a.next(group, 3)
		for number := range 3 {
			m := Message{Group: groupName(group), Body: a.body(group, number), ID: fmt.Sprintf("id-%d-%d", group, number),
				Sequence: fmt.Sprintf("%020d", 10*group+number)}
			a.acknowledged(group, number, m.ID, m.Sequence)
			messages = append(messages, m)
		}
	}
	return a, messages
}

// drain receives and deletes one message after the other, and closes the account.
func drain(a *Account, messages []Message) {
	for _, m := range messages {
		a.received([]Message{m})
		a.wasDeleted(m.Body)
	}
	a.close()
}

func TestAccount(t *testing.T) {
	for name, c := range map[string]struct {
		play func(a *Account, m []Message)
		want []string // parts of all problems, in order
	}{
		"sound":                             {drain, nil},
		"received again, but never deleted": {func(a *Account, m []Message) { a.received(m[:2]); drain(a, m) }, nil},
		"deleted in another order": {func(a *Account, m []Message) {
			a.received(m)
			for _, i := range []int{2, 0, 1, 5, 3, 4} {
				a.wasDeleted(m[i].Body)
			}
			a.counted("n1", 0)
			a.close()
		}, nil},
		"the last one lost": {func(a *Account, m []Message) { drain(a, m[:5]) },
			[]string{"parked-1: 1 of 3 acknowledged messages never came"}},
		"one in the middle lost": {
			func(a *Account, m []Message) { drain(a, append(m[:1:1], m[2:]...)) },
			[]string{"parked-0:2 came before 1", "parked-0: 1 of 3 acknowledged messages never came"},
		},
		"a duplicate": {func(a *Account, m []Message) { drain(a, append(m[:4:4], m[0], m[4], m[5])) },
			[]string{"parked-0:0 came again after it was deleted"}},
		"two swapped": {
			func(a *Account, m []Message) { m[0], m[1] = m[1], m[0]; drain(a, m) },
			[]string{"parked-0:1 came before 0", "parked-0:0 came after a later one of its group"},
		},
		"another body": {func(a *Account, m []Message) { m[3].Body = m[3].Body[:99] + "!"; drain(a, m) },
			[]string{"parked-1:0 came with another body"}},
		"in another group": {
			func(a *Account, m []Message) { m[5].Group = groupName(0); drain(a, m) },
			[]string{"parked-1:2 came in group parked-0", "1 of 3 acknowledged messages never came"},
		},
		"never sent": {func(a *Account, m []Message) { drain(a, append(m, Message{Body: a.body(1, 3)}, Message{Body: "who?"})) },
			[]string{"never sent", "never sent"}},
		"another id": {func(a *Account, m []Message) { m[2].ID = "x"; drain(a, m) }, []string{"parked-0: messages came with other ids"}},
		"another sequence number": {
			func(a *Account, m []Message) { m[1].Sequence = m[0].Sequence; drain(a, m) },
			[]string{"parked-0:1 has sequence number", "parked-0: messages came with other ids or sequence numbers"},
		},
		"a counter too low": {func(a *Account, m []Message) { a.counted("n2", 5); drain(a, m) },
			[]string{"n2 counts 5 messages, 6 were acknowledged and 0 deleted"}},
		"acknowledged out of turn": {func(a *Account, m []Message) { a.acknowledged(0, 7, "", "") },
			[]string{"parked-0:7 was acknowledged after 3 others"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, messages := scene()
			c.play(a, messages)
			problems := a.Problems()
			if len(problems) != len(c.want) {
				t.Fatalf("problems %q, want %q", problems, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(problems[i], want) {
					t.Errorf("problem %q, want %q", problems[i], want)
				}
			}
		})
	}
}

// TestUncertainMessagesMayCome sends messages with unknown outcome.
func TestUncertainMessagesMayCome(t *testing.T) {
	a, messages := scene()
	if from, to := a.next(0, 2); from != 3 || to != 5 {
		t.Errorf("%d to %d come next", from, to)
	}
	drain(a, append(messages[:3:3], append([]Message{{Group: groupName(0), Body: a.body(0, 3), Sequence: "1"}}, messages[3:]...)...))
	if problems := a.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	a := NewAccount(1, 100)
	for range problemsMax + 3 {
		a.received([]Message{{Body: "?"}})
	}
	if problems := a.Problems(); len(problems) != problemsMax+1 || problems[problemsMax] != "and 3 more" {
		t.Error(problems)
	}
}

func TestBodiesSayWhichTheyAre(t *testing.T) {
	a := NewAccount(1, 1024)
	body := a.body(17, 123456)
	if group, number, ok := parse(body); len(body) != 1024 || group != 17 || number != 123456 || !ok {
		t.Errorf("%d bytes, of %d:%d, %v", len(body), group, number, ok)
	}
	if body == a.body(17, 123457) {
		t.Error("two messages have one body")
	}
}
