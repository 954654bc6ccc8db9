package rate

import (
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/statehash"
)

func TestLimiter(t *testing.T) {
	t.Parallel()
	table := access.NewTable()
	limit := func(owner string, perSecond int64) {
		table = table.WithAccount(statehash.Key{}, access.Account{ID: owner, Quota: access.Quota{RequestsPerSecond: perSecond}})
	}
	now := time.Unix(1_700_000_000, 0)
	l := New(func() *access.Table { return table }, func() time.Time { return now })
	allowed := func(owner string, requests int) (n int) {
		for range requests {
			if l.Allow(Payer{Account: owner}) {
				n++
			}
		}
		return n
	}
	if n := allowed("", 1000); n != 1000 {
		t.Errorf("without accounts %d of 1000", n)
	}
	limit("111111111111", 10)
	limit("222222222222", 0)
	for _, step := range []struct {
		pass  time.Duration
		owner string
		ask   int
		want  int
	}{
		{0, "111111111111", 15, 10},
		{0, "222222222222", 1000, 1000},
		{0, "", 1000, 1000},
		{99 * time.Millisecond, "111111111111", 5, 0},
		{time.Millisecond, "111111111111", 5, 1},
		{time.Hour, "111111111111", 15, 10}, // never more than the limit of one second
		{-time.Hour, "111111111111", 5, 0},  // the clock was set back
	} {
		now = now.Add(step.pass)
		if got := allowed(step.owner, step.ask); got != step.want {
			t.Errorf("%+v: %d", step, got)
		}
	}
	if n := l.Refused("111111111111"); n != 5+5+4+5+5 {
		t.Errorf("%d are counted as refused", n)
	}
	limit("111111111111", 2)
	now = now.Add(2 * time.Hour)
	if n := allowed("111111111111", 5); n != 2 {
		t.Errorf("after the limit was lowered %d of 5", n)
	}
	limit("", 1)
	if n := allowed("", 5); n != 1 {
		t.Errorf("of the cluster's own account %d of 5", n)
	}
	var none *Limiter
	if !none.Allow(Payer{Account: "x"}) || none.Refused("x") != 0 {
		t.Error("without a limiter something is refused")
	}
}

// The limiter does not keep the memory of requests alive.
func TestLimiterKeepsNamesOnly(t *testing.T) {
	t.Parallel()
	const owner = "111111111111"
	table := access.NewTable().WithAccount(statehash.Key{}, access.Account{ID: owner, Quota: access.Quota{RequestsPerSecond: 1}})
	l := New(func() *access.Table { return table }, func() time.Time { return time.Unix(1_700_000_000, 0) })
	for range 3 { // the first is served
		request := strings.Repeat(owner, 10)
		l.Allow(Payer{Account: request[:len(owner)]})
		for key := range l.buckets {
			if unsafe.StringData(key.Account) == unsafe.StringData(request) {
				t.Error("an account is a part of a request")
			}
		}
	}
	if n := l.Refused(owner); n != 2 || len(l.buckets) != 1 {
		t.Errorf("%d are counted as refused, in %d buckets", n, len(l.buckets))
	}
}
