// Package ledger keeps the account of one queue while a cluster is broken around it. No
// acknowledged message is lost, no refused one is delivered, none comes twice, and each message
// group keeps its order. test/oracle judges whole histories.
package ledger

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Body returns the body of a message of a group, by its number. The ledger reads both from it and
// ignores the padding after a space.
func Body(group string, number int) string { return group + ":" + strconv.Itoa(number) }

// Delivery is one message of an answered receive.
type Delivery struct {
	Body, Group, MessageID string
	Redelivered            bool // its receive count is not 1
}

// Ledger checks the calls to one queue. Bodies come from Body, and a group's next number is sent
// after the one before was answered. Safe for concurrent use.
type Ledger struct {
	mu         sync.Mutex
	acked      map[string]string // body to message id
	ackedAt    []time.Time       // ascending
	uncertain  map[string]bool
	refused    map[string]bool
	deliveries []Delivery
	waiting    []*waiter
	problems   []string
}

// waiter waits for n acknowledged sends that were tried after since.
type waiter struct {
	since time.Time
	n     int
	done  chan time.Time // capacity 1: the time of the last one
}

// New is an empty ledger.
func New() *Ledger {
	return &Ledger{acked: map[string]string{}, uncertain: map[string]bool{}, refused: map[string]bool{}}
}

// Acknowledged records a send that was answered with a message id. Its last try began at tried.
func (l *Ledger) Acknowledged(body, id string, tried time.Time) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[name(body)] = id
	l.ackedAt = append(l.ackedAt, now)
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
		if tried.Before(w.since) {
			return false
		}
		if w.n--; w.n > 0 {
			return false
		}
		w.done <- now
		return true
	})
}

// Uncertain records a send with unknown outcome: it may be delivered.
func (l *Ledger) Uncertain(body string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uncertain[name(body)] = true
}

// Refused records a send that was refused: it must never be delivered.
func (l *Ledger) Refused(body string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[name(body)] = true
}

// Delivered records the messages of one answered receive, in their order.
func (l *Ledger) Delivered(messages ...Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deliveries = append(l.deliveries, messages...)
}

// Problem records a call with an unexpected result.
func (l *Ledger) Problem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// AwaitAcks waits until n sends that were tried after since are acknowledged, and returns the time
// of the last one.
func (l *Ledger) AwaitAcks(ctx context.Context, since time.Time, n int) (time.Time, error) {
	w := &waiter{since: since, n: n, done: make(chan time.Time, 1)}
	l.mu.Lock()
	l.waiting = append(l.waiting, w)
	l.mu.Unlock()
	select {
	case at := <-w.done:
		return at, nil
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("%d sends were not acknowledged: %w", n, ctx.Err())
	}
}

// Gap returns the longest time without an acknowledged send from begin until now.
func (l *Ledger) Gap(begin time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, longest := begin, time.Duration(0)
	for _, at := range l.ackedAt {
		if at.After(begin) {
			longest, last = max(longest, at.Sub(last)), at
		}
	}
	return max(longest, time.Since(last)).Round(time.Millisecond)
}

// Acked returns the number of acknowledged sends.
func (l *Ledger) Acked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// Rejected returns the number of refused sends.
func (l *Ledger) Rejected() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.refused)
}

// Report is the result after the queue is drained. Bodies are in ascending order, deliveries in
// the order of arrival.
type Report struct {
	Acked, Uncertain, Refused, Delivered int

	Lost      []string // acknowledged but not delivered
	Twice     []string // delivered more than once, or with a receive count other than 1
	Reordered []string // acknowledged, but delivered after a later one of their group
	Foreign   []string // delivered, but never sent, refused, or under another id
	Problems  []string // from Problem
}

// Report closes the account.
func (l *Ledger) Report() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := Report{
		Acked: len(l.acked), Uncertain: len(l.uncertain), Refused: len(l.refused), Delivered: len(l.deliveries),
		Problems: slices.Clone(l.problems),
	}
	seen, last := map[string]bool{}, map[string]int{}
	for _, d := range l.deliveries {
		body := name(d.Body)
		group, number, ok := parse(body)
		id, acked := l.acked[body]
		if !ok || d.Group != "" && d.Group != group || l.refused[body] || acked && id != "" && d.MessageID != "" && id != d.MessageID ||
			!acked && !l.uncertain[body] {
			r.Foreign = append(r.Foreign, body)
		}
		if seen[body] || d.Redelivered {
			r.Twice = append(r.Twice, body)
		}
		seen[body] = true
		if !acked {
			continue // it may have taken effect at any time after it was sent
		}
		if before, known := last[group]; known && number < before {
			r.Reordered = append(r.Reordered, body)
		}
		last[group] = number
	}
	for body := range l.acked {
		if !seen[body] {
			r.Lost = append(r.Lost, body)
		}
	}
	slices.Sort(r.Lost)
	return r
}

// Faults returns the sentences with which a test must fail.
func (r Report) Faults() []string {
	faults := slices.Clone(r.Problems)
	for what, bodies := range map[string][]string{
		"acknowledged and lost": r.Lost, "delivered twice": r.Twice, "delivered out of order": r.Reordered,
		"delivered without being sent": r.Foreign,
	} {
		if len(bodies) > 0 {
			faults = append(faults, fmt.Sprintf("%d %s: %s", len(bodies), what, strings.Join(bodies[:min(len(bodies), 20)], " ")))
		}
	}
	slices.Sort(faults)
	return faults
}

// String returns the numbers in one line.
func (r Report) String() string {
	return fmt.Sprintf("%d acknowledged, %d uncertain, %d refused, %d delivered; %d lost, %d twice, %d out of order, %d never sent",
		r.Acked, r.Uncertain, r.Refused, r.Delivered, len(r.Lost), len(r.Twice), len(r.Reordered), len(r.Foreign))
}

func name(body string) string {
	before, _, _ := strings.Cut(body, " ")
	return before
}

func parse(body string) (group string, number int, ok bool) {
	cut := strings.LastIndexByte(body, ':')
	if cut < 0 {
		return body, 0, false
	}
	number, err := strconv.Atoi(body[cut+1:])
	return body[:cut], number, err == nil
}
