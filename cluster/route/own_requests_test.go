package route

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
)

// What a node knows of its requests.
func TestOwnRequests(t *testing.T) {
	o, err := NewRequests(strings.NewReader("12345678"))
	if err != nil {
		t.Fatal(err)
	}
	sent := codec.Response{Result: queue.MessagesSent{}}
	nothing, something := codec.Response{Result: queue.MessagesReceived{}},
		codec.Response{Result: queue.MessagesReceived{Messages: []queue.ReceivedMessage{{Body: message.NewBody("b")}}}}
	cases := []struct {
		name    string
		happens func(number uint64)
		verdict leader.Verdict
		certain bool
	}{
		{"nothing of it was applied", func(uint64) {}, leader.NotProposed, true},
		{"it was applied", func(n uint64) { o.Answered(n, sent, 7, 70) }, leader.Answered, true},
		{"a receive found nothing", func(n uint64) { o.Answered(n, nothing, 7, 70) }, leader.NotProposed, true},
		{"a receive found something then", func(n uint64) { o.Answered(n, nothing, 7, 70); o.Answered(n, something, 7, 70) },
			leader.Answered, true},
		{"entries were skipped", func(uint64) { o.Restored() }, 0, false},
		{"entries were skipped, after it was applied", func(n uint64) { o.Answered(n, sent, 7, 70); o.Restored() }, leader.Answered, true},
		{"another one was applied", func(n uint64) { o.Answered(n+1, sent, 7, 70) }, leader.NotProposed, true},
	}
	for _, test := range cases {
		r := o.begin()
		test.happens(r.id.Number)
		got, certain := o.outcomeOf(r)
		if got.Verdict != test.verdict || certain != test.certain {
			t.Errorf("%s: %+v, certain %v", test.name, got, certain)
		}
		if got.Verdict == leader.Answered && got.At != (leader.Position{Index: 7, LogTime: 70}) {
			t.Errorf("%s: answered at %+v", test.name, got.At)
		}
		o.end(r)
	}
	o.end(nil)
	if len(o.inProgress) != 0 {
		t.Errorf("%d requests are remembered after their end", len(o.inProgress))
	}
	if _, err := NewRequests(strings.NewReader("short")); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("without entropy: %v", err)
	}
}
