package deduplication

import (
	"testing"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

func TestDeduplicator(t *testing.T) {
	key := statehash.NewKey([16]byte{1, 2, 3})
	d := New(7, Rules{Scope: ScopeMessageGroup, WindowSeconds: 10})
	a, b := IDs{Own: "id", Group: "a"}, IDs{Own: "id", Group: "b", Content: "hash"}
	wantFound := func(ids IDs, now logtime.Timestamp, sequence uint64) {
		t.Helper()
		r, found := d.Find(key, ids, now)
		if found != (sequence != 0) || r.Sequence() != sequence {
			t.Errorf("at %d %+v is found as %d, %t, want %d", now, ids, r.Sequence(), found, sequence)
		}
		if got, want := d.Sum(), d.ComputeSum(key); got != want {
			t.Errorf("sum %x, from scratch %x", got, want)
		}
	}
	d.Remember(key, a, 1, 1000)
	wantFound(a, 10_999, 1)
	wantFound(a, 11_000, 0)
	wantFound(b, 1000, 0) // of another group
	d.Remember(key, b, 2, 2000)
	wantFound(IDs{Own: "hash", Group: "b"}, 2000, 2)

	// A record keeps counting under its original scope.
	d.SetRules(Rules{Scope: ScopeQueue, WindowSeconds: 10}, 2000)
	wantFound(a, 2000, 1)
	d.Remember(key, IDs{Own: "id", Group: "c"}, 3, 3000)
	wantFound(IDs{Own: "id", Group: "x"}, 3000, 3)
	wantFound(a, 3000, 1) // the one accepted first

	// A longer window revives no expired id.
	d.SetRules(Rules{Scope: ScopeQueue, WindowSeconds: 100}, 11_500)
	wantFound(a, 11_500, 3)
	if live := d.CountLive(11_500); live != 3 || d.Len() != 4 {
		t.Errorf("%d of %d are alive", live, d.Len())
	}
	if at := d.Deadline(); at != 1000 {
		t.Errorf("the first is to be forgotten at %d", at)
	}
	if left := d.Forget(key, 11_500, 5); left != 4 || d.Len() != 3 {
		t.Errorf("%d are left, and %d of the budget", d.Len(), left)
	}
	before := d
	d = d.Clone()
	d.Clear()
	wantFound(b, 11_500, 0)
	if d.Sum() != (statehash.Sum{}) || before.Len() != 3 {
		t.Errorf("cleared: sum %x, %d in the copy", d.Sum(), before.Len())
	}
}

func TestWithContent(t *testing.T) {
	const hash = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" // of x
	for _, c := range []struct {
		name  string
		rules Rules
		own   string
		want  IDs
	}{
		{"not asked for", Rules{}, "", IDs{}},
		{"no id", Rules{ContentBased: true}, "", IDs{Own: hash}},
		{"the id overrides", Rules{ContentBased: true}, "a", IDs{Own: "a"}},
		{"both", Rules{ContentBased: true, IDAndContent: true}, "a", IDs{Own: "a", Content: hash}},
		{"both, no id", Rules{ContentBased: true, IDAndContent: true}, "", IDs{Own: hash, Content: hash}},
		{"disabled", Rules{ContentBased: true, Disabled: true}, "", IDs{}},
	} {
		if got := c.rules.WithContent(IDs{Own: c.own}, "x", nil); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
