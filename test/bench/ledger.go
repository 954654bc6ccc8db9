package main

import (
	"strconv"
	"strings"
	"sync"
)

// ledger counts what arrives of each sender, whose messages are numbered and
// arrive in order. Safe for concurrent use.
type ledger struct {
	mu    sync.Mutex
	sent  map[string]int // of each sender, acknowledged
	next  map[string]int // number awaited
	lost  int
	twice int
}

func newLedger(senders []*sender) *ledger {
	t := &ledger{sent: map[string]int{}, next: map[string]int{}}
	for _, s := range senders {
		t.sent[s.id] = s.sent
	}
	return t
}

// arrived notes a message, whose body is the sender's id, a line, a number.
func (t *ledger) arrived(body string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id, text, _ := strings.Cut(body, "-")
	number, err := strconv.Atoi(text)
	if err != nil {
		return
	}
	switch awaited := t.next[id]; {
	case number < awaited:
		t.twice++
	default:
		t.lost += number - awaited
		t.next[id] = number + 1
	}
}

// result is how many messages were acknowledged, and how many of them never
// arrived or arrived more than once. One that was under way when a sender ended
// may have arrived or not.
func (t *ledger) result() (sent, lost, twice float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	missing := t.lost
	for id, n := range t.sent {
		sent += float64(n)
		missing += max(n-t.next[id], 0)
	}
	return sent, float64(missing), float64(t.twice)
}
