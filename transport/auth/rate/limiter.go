package rate

import (
	"strings"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/queue/access"
)

// Limiter decides whether an account may make another request now. Safe for concurrent
// use. A nil *Limiter refuses nothing.
type Limiter struct {
	accounts func() *access.Table
	now      func() time.Time

	mu      sync.Mutex
	buckets map[string]*bucket // by account, the cluster's own is empty
}

// bucket holds the requests that an account may still make.
type bucket struct {
	left    float64
	at      time.Time
	refused uint64
}

// New makes a Limiter that takes the limits of the accounts from a table.
func New(accounts func() *access.Table, now func() time.Time) *Limiter {
	return &Limiter{accounts: accounts, now: now, buckets: map[string]*bucket{}}
}

// Allow takes a request of an account, as the state calls it, and reports whether it may
// be served.
func (l *Limiter) Allow(owner string) bool {
	if l == nil {
		return true
	}
	limit := l.limit(owner)
	if limit == 0 {
		return true
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[owner]
	if b == nil {
		b = &bucket{left: limit, at: now}
		l.buckets[strings.Clone(owner)] = b // it may be a part of a large request
	}
	if passed := now.Sub(b.at); passed > 0 {
		b.left, b.at = b.left+passed.Seconds()*limit, now
	}
	if b.left = min(b.left, limit); b.left < 1 {
		b.refused++
		return false
	}
	b.left--
	return true
}

func (l *Limiter) limit(owner string) float64 {
	table := l.accounts()
	if table == nil || table.AccountCount() == 0 {
		return 0
	}
	account, _ := table.Account(owner)
	return float64(account.Quota.RequestsPerSecond)
}

// Refused is how many requests of an account were refused at this node.
func (l *Limiter) Refused(owner string) uint64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.buckets[owner]; b != nil {
		return b.refused
	}
	return 0
}
