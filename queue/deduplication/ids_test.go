package deduplication

import (
	"testing"

	"github.com/seriatimq/seriatim/queue/statehash"
)

// A prefetched key is used only for its own id and scope, and equals the computed one.
func TestPrefetchedKeys(t *testing.T) {
	k := statehash.NewKey([16]byte{1})
	for _, scope := range []Scope{ScopeQueue, ScopeMessageGroup, ScopePartitionKey} {
		d := New(1, Rules{Scope: scope})
		prefetched := d.PrefetchKey(k, "id", "group")
		for _, c := range []struct {
			ids  IDs
			want bool
		}{
			{IDs{Own: "id", Group: "group"}, scope != ScopePartitionKey},
			{IDs{Own: "id", Group: "group", Partition: "part", Content: "content"}, scope != ScopePartitionKey},
			{IDs{Own: "other", Group: "group"}, false},
			{IDs{Own: "id", Group: "other"}, false},
			{IDs{Own: "id"}, false},
		} {
			with, known := c.ids.WithKey(&prefetched)
			if known != c.want {
				t.Errorf("scope %d, %+v: known %v", scope, c.ids, known)
			}
			for _, of := range []Scope{ScopeQueue, ScopeMessageGroup, ScopePartitionKey} {
				for _, id := range []string{c.ids.Own, "content"} {
					if got, want := with.key(k, of, id), c.ids.key(k, of, id); got != want {
						t.Errorf("scope %d, %+v: the key of %s under scope %d is %v, want %v", scope, c.ids, id, of, got, want)
					}
				}
			}
		}
	}
}
