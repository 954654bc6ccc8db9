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
	buckets map[Payer]*bucket
}

// Payer identifies the requests that are counted together.
type Payer struct {
	// Account is the name of the account in the state, empty for that of the cluster.
	Account string
	// Anonymous selects requests without a key to resources of the account, which have the same
	// limit and another bucket.
	Anonymous bool
}

// bucket holds the requests that an account may still make.
type bucket struct {
	left    float64
	at      time.Time
	refused uint64
}

// New returns a Limiter with the limits in the table of accounts.
func New(accounts func() *access.Table, now func() time.Time) *Limiter {
	return &Limiter{accounts: accounts, now: now, buckets: map[Payer]*bucket{}}
}

// Allow takes a request and reports whether it may be served.
func (l *Limiter) Allow(of Payer) bool {
	if l == nil {
		return true
	}
	limit := l.limit(of.Account)
	if limit == 0 {
		return true
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[of]
	if b == nil {
		b = &bucket{left: limit, at: now}
		of.Account = strings.Clone(of.Account) // it may be a part of a large request
		l.buckets[of] = b
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

// Refused returns the number of requests that the limit of an account refused at this node.
func (l *Limiter) Refused(owner string) (n uint64) {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, anonymous := range []bool{false, true} {
		if b := l.buckets[Payer{owner, anonymous}]; b != nil {
			n += b.refused
		}
	}
	return n
}
