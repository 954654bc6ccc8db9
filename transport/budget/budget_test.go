package budget

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

func acquire(t *testing.T, b *Bytes, n int64) {
	t.Helper()
	clustertest.Must(t, b.Acquire(t.Context(), n, WaitMax))
}

func TestAcquireWaitsForRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		acquire(t, b, 80)
		var order []string
		var mu sync.Mutex
		var all sync.WaitGroup
		wait := func(name string, n int64) {
			all.Go(func() {
				if err := b.Acquire(t.Context(), n, WaitMax); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				b.Release(n)
			})
			synctest.Wait()
		}
		wait("first", 30)
		wait("second", 10) // has room, but must not pass the first
		if len(order) != 0 {
			t.Fatalf("served at once: %q", order)
		}
		time.Sleep(WaitMax - time.Millisecond)
		b.Release(80)
		all.Wait()
		if len(order) != 2 || b.Usage() != (Usage{Limit: 100}) {
			t.Errorf("served %q, left %+v", order, b.Usage())
		}
	})
}

func TestAcquireGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		acquire(t, b, 90)
		small := make(chan error, 1) // the one result
		started := time.Now()
		go func() {
			time.Sleep(time.Second)
			small <- b.Acquire(t.Context(), 10, WaitMax)
		}()
		if err := b.Acquire(t.Context(), 40, WaitMax); !errors.Is(err, ErrExhausted) || time.Since(started) != WaitMax {
			t.Errorf("after %v: %v", time.Since(started), err)
		}
		if err := <-small; err != nil {
			t.Errorf("what waited behind it: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Acquire(ctx, 1, WaitMax); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that is gone: %v", err)
		}
		if got := b.Usage(); got.Used != 100 || got.Refused != 2 {
			t.Errorf("left %+v", got)
		}
	})
}

func TestAcquireBoundsThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		acquire(t, b, 100)
		var all sync.WaitGroup
		all.Go(func() {
			clustertest.Check(t, b.Acquire(t.Context(), 50, WaitMax))
		})
		synctest.Wait()
		for _, n := range []int64{1, 101} {
			started := time.Now()
			if err := b.Acquire(t.Context(), n, WaitMax); !errors.Is(err, ErrExhausted) || time.Since(started) != 0 {
				t.Errorf("%d: after %v: %v", n, time.Since(started), err)
			}
		}
		b.Release(50)
		all.Wait()
	})
}

func TestScarce(t *testing.T) {
	b := New(100)
	acquire(t, b, 50)
	if b.Scarce() {
		t.Error("scarce at half of the limit")
	}
	acquire(t, b, 1)
	if !b.Scarce() {
		t.Error("not scarce above half of the limit")
	}
	var none *Bytes
	if err := none.Acquire(t.Context(), 1<<40, WaitMax); err != nil || none.Scarce() || none.Usage() != (Usage{}) {
		t.Errorf("without an account: %v", err)
	}
	none.Release(1)
}
