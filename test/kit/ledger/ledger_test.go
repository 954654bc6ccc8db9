package ledger

import (
	"context"
	"strings"
	"testing"
	"time"
)

func delivery(body string) Delivery { return Delivery{Body: body} }

func TestReport(t *testing.T) {
	for name, test := range map[string]struct {
		fill func(l *Ledger)
		want string // part of the only problem, empty for none
	}{
		"sound": {func(l *Ledger) {
			l.Acknowledged("g:0 padding", "a", time.Now())
			l.Acknowledged("g:2", "b", time.Now())
			l.Uncertain("g:1")
			l.Refused("h:0")
			l.Delivered(Delivery{Body: "g:0 padding", Group: "g", MessageID: "a"}, delivery("g:1"), delivery("g:2"))
		}, ""},
		"uncertain and not there": {func(l *Ledger) { l.Uncertain("g:0") }, ""},
		"lost":                    {func(l *Ledger) { l.Acknowledged("g:0", "a", time.Now()) }, "1 acknowledged and lost: g:0"},
		"twice": {func(l *Ledger) { l.Uncertain("g:0"); l.Delivered(delivery("g:0"), delivery("g:0")) },
			"delivered twice: g:0"},
		"redelivered": {func(l *Ledger) { l.Uncertain("g:0"); l.Delivered(Delivery{Body: "g:0", Redelivered: true}) },
			"delivered twice: g:0"},
		"out of order": {func(l *Ledger) {
			l.Acknowledged("g:0", "a", time.Now())
			l.Acknowledged("g:1", "b", time.Now())
			l.Delivered(delivery("g:1"), delivery("g:0"))
		}, "out of order: g:0"},
		"an uncertain one came late": {func(l *Ledger) {
			l.Uncertain("g:0")
			l.Acknowledged("g:1", "b", time.Now())
			l.Delivered(delivery("g:1"), delivery("g:0"))
		}, ""},
		"refused and there": {func(l *Ledger) { l.Refused("g:0"); l.Delivered(delivery("g:0")) }, "without being sent: g:0"},
		"never sent":        {func(l *Ledger) { l.Delivered(delivery("g:0")) }, "without being sent: g:0"},
		"under another id": {func(l *Ledger) {
			l.Acknowledged("g:0", "a", time.Now())
			l.Delivered(Delivery{Body: "g:0", MessageID: "b"})
		}, "without being sent"},
		"in another group": {func(l *Ledger) { l.Uncertain("g:0"); l.Delivered(Delivery{Body: "g:0", Group: "h"}) },
			"without being sent"},
		"a problem of some client": {func(l *Ledger) { l.Problem("send: %s", "500") }, "send: 500"},
	} {
		t.Run(name, func(t *testing.T) {
			l := New()
			test.fill(l)
			faults := l.Report().Faults()
			if test.want == "" && len(faults) > 0 || test.want != "" && (len(faults) != 1 || !strings.Contains(faults[0], test.want)) {
				t.Errorf("faults %q, want %q", faults, test.want)
			}
		})
	}
}

func TestAwaitAcks(t *testing.T) {
	l := New()
	begin := time.Now()
	done := make(chan error)
	go func() {
		_, err := l.AwaitAcks(t.Context(), begin, 2)
		done <- err
	}()
	for waiting := false; !waiting; {
		l.mu.Lock()
		waiting = len(l.waiting) == 1
		l.mu.Unlock()
	}
	l.Acknowledged("g:0", "a", begin.Add(-time.Second)) // tried before
	l.Acknowledged("g:1", "b", begin)
	select {
	case <-done:
		t.Error("one acknowledgement sufficed for two")
	default:
	}
	l.Acknowledged("g:2", "c", begin)
	if err := <-done; err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.AwaitAcks(ended, begin, 1); err == nil {
		t.Error("no error after the context ended")
	}
	if gap := l.Gap(begin.Add(-time.Second)); gap < time.Second {
		t.Errorf("no send was acknowledged for a second before the first, and the gap is %v", gap)
	}
}
