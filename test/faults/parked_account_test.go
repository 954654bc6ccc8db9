package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// scene is an account of two groups with three acknowledged messages each, with the deliveries of
// all.
func scene() (*account, []parkedMessage) {
	a := newAccount(2, 100)
	var messages []parkedMessage
	for group := range 2 {
		a.next(group, 3)
		for number := range 3 {
			m := parkedMessage{group: groupName(group), body: a.body(group, number), id: fmt.Sprintf("id-%d-%d", group, number),
				sequence: fmt.Sprintf("%020d", 10*group+number)}
			a.acknowledged(group, number, m.id, m.sequence)
			messages = append(messages, m)
		}
	}
	return a, messages
}

// drainAll receives and deletes one message after the other, and closes the account.
func drainAll(a *account, messages []parkedMessage) {
	for _, m := range messages {
		a.received(m)
		a.wasDeleted(m.body)
	}
	a.close()
}

func TestAccount(t *testing.T) {
	for name, c := range map[string]struct {
		play func(a *account, m []parkedMessage)
		want []string // parts of all problems, in order
	}{
		"sound":                             {drainAll, nil},
		"received again, but never deleted": {func(a *account, m []parkedMessage) { a.received(m[0]); drainAll(a, m) }, nil},
		"deleted in another order": {func(a *account, m []parkedMessage) {
			for _, one := range m {
				a.received(one)
			}
			for _, i := range []int{2, 0, 1, 5, 3, 4} {
				a.wasDeleted(m[i].body)
			}
			a.counted("n1", 0)
			a.close()
		}, nil},
		"the last one lost": {func(a *account, m []parkedMessage) { drainAll(a, m[:5]) },
			[]string{"parked-1: 1 of 3 acknowledged messages never came"}},
		"one in the middle lost": {
			func(a *account, m []parkedMessage) { drainAll(a, append(m[:1:1], m[2:]...)) },
			[]string{"parked-0:2 came before 1"},
		},
		"a duplicate": {func(a *account, m []parkedMessage) { drainAll(a, append(m[:4:4], m[0], m[4], m[5])) },
			[]string{"parked-0:0 came again after it was deleted"}},
		"two swapped": {
			func(a *account, m []parkedMessage) { m[0], m[1] = m[1], m[0]; drainAll(a, m) },
			[]string{"parked-0:1 came before 0"},
		},
		"another body": {func(a *account, m []parkedMessage) { m[3].body = m[3].body[:99] + "!"; drainAll(a, m) },
			[]string{"parked-1:0 came with another body"}},
		"in another group": {
			func(a *account, m []parkedMessage) { m[5].group = groupName(0); drainAll(a, m) },
			[]string{"parked-1:2 came in group parked-0", "1 of 3 acknowledged messages never came"},
		},
		"never sent": {func(a *account, m []parkedMessage) {
			drainAll(a, append(m, parkedMessage{body: a.body(1, 3)}, parkedMessage{body: "who?"}))
		},
			[]string{"never sent", "never sent"}},
		"another id": {func(a *account, m []parkedMessage) { m[2].id = "x"; drainAll(a, m) },
			[]string{"parked-0: messages came with other ids"}},
		"another sequence number": {
			func(a *account, m []parkedMessage) { m[1].sequence = m[0].sequence; drainAll(a, m) },
			[]string{"parked-0:1 has sequence number"},
		},
		"a counter too low": {func(a *account, m []parkedMessage) { a.counted("n2", 5); drainAll(a, m) },
			[]string{"n2 counts 5 messages, 6 were acknowledged and 0 deleted"}},
		"acknowledged out of turn": {func(a *account, m []parkedMessage) { a.acknowledged(0, 7, "", "") },
			[]string{"parked-0:7 was acknowledged after 3 others"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, messages := scene()
			c.play(a, messages)
			problems := a.all()
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
	uncertain := parkedMessage{group: groupName(0), body: a.body(0, 3), sequence: "1"}
	drainAll(a, slices.Insert(messages, 3, uncertain))
	if problems := a.all(); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	a := newAccount(1, 100)
	for range problemsMax + 3 {
		a.received(parkedMessage{body: "?"})
	}
	if problems := a.all(); len(problems) != problemsMax+1 || problems[problemsMax] != "and 3 more" {
		t.Error(problems)
	}
}

func TestBodiesSayWhichTheyAre(t *testing.T) {
	a := newAccount(1, 1024)
	body := a.body(17, 123456)
	if group, number, ok := parseParked(body); len(body) != 1024 || group != 17 || number != 123456 || !ok {
		t.Errorf("%d bytes, of %d:%d, %v", len(body), group, number, ok)
	}
	if body == a.body(17, 123457) {
		t.Error("two messages have one body")
	}
}
