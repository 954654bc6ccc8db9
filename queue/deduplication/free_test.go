package deduplication

import (
	"math/rand/v2"
	"testing"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// TestFreedIDsAreNotCounted frees ids anywhere in a window during additions and expiry, and
// compares CountLive with a scan.
func TestFreedIDsAreNotCounted(t *testing.T) {
	const length = 1000
	random := rand.New(rand.NewPCG(5, 6))
	var w Window
	now, sequence := int64(0), uint64(0)
	var keys []Key
	for range 20_000 {
		now += random.Int64N(5)
		switch n := random.IntN(100); {
		case n < 50:
			sequence++
			key := Key{random.Uint64(), random.Uint64()}
			keys = append(keys, key)
			w.Add(NewRecord(key, now, sequence<<1, ScopeQueue))
		case n < 80 && len(keys) > 0:
			if r, known := w.Free(keys[max(0, len(keys)-1-random.IntN(300))]); known {
				if _, still := w.Find(r.Key); still {
					t.Fatal("a freed id is found")
				}
			}
		case n < 81:
			w = w.Clone()
		default:
			if oldest, ok := w.Oldest(); ok && !w.Live(oldest.AcceptedAt, now, length) {
				w.ForgetOldest()
			}
		}
		want := int64(0)
		w.Scan(func(r Record) bool {
			if w.Live(r.AcceptedAt, now, length) {
				want++
			}
			return true
		})
		if got := w.CountLive(now, length); got != want {
			t.Fatalf("%d live ids, want %d", got, want)
		}
	}
	for w.Len() > 0 {
		w.ForgetOldest()
	}
	if w.freed != nil {
		t.Errorf("%d places are left", w.freed.Len())
	}
}

func TestForgetMessage(t *testing.T) {
	var k statehash.Key
	d := New(1, Rules{WindowSeconds: 300, Scope: ScopeMessageGroup})
	first := IDs{Own: "a", Content: "hash", Group: "g"}
	d.Remember(k, first, 1, 0)
	d.SetRules(Rules{WindowSeconds: 300, Scope: ScopeQueue}, 1)
	d.Remember(k, IDs{Own: "b", Group: "g"}, 2, 1)
	empty := d.Sum()
	empty.Sub(d.ComputeSum(k))
	if empty != (statehash.Sum{}) {
		t.Fatal("the sum is wrong before")
	}
	// Another sequence number frees nothing. The message's own frees both keys, even after a change
	// of scope.
	d.ForgetMessage(k, first, 2)
	if d.Len() != 3 {
		t.Fatalf("%d records after the wrong number", d.Len())
	}
	d.ForgetMessage(k, first, 1)
	if _, found := d.Find(k, first, logtime.Timestamp(2)); found || d.Len() != 1 || d.CountLive(2) != 1 {
		t.Errorf("found %v, %d records, %d live", found, d.Len(), d.CountLive(2))
	}
	if d.Sum() != d.ComputeSum(k) {
		t.Error("the sum is wrong")
	}
}
