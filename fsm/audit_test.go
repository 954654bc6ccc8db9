package fsm

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
)

// Audited receives the position after the entry, and an Audit changes no state.
func TestAuditedReceivesPosition(t *testing.T) {
	type audited struct {
		At    snapshot.Position
		Audit queue.Audit
	}
	var seen []audited
	r := founded(t, Options{Audited: func(at snapshot.Position, audit *queue.Audit) { seen = append(seen, audited{at, *audit}) }})
	r.apply(start, &queue.CreateQueue{Queue: "plain"})
	audit := queue.Audit{HashVersion: format.StateHashVersion, Index: 3,
		Reports: []queue.AuditReport{{NodeID: "a", State: [16]byte{1}, Chain: [16]byte{2}}}}
	result := r.fsm.Apply(r.entry(start, &audit, &queue.CreateQueue{Queue: "other"})).(EntryResult)
	if len(result.Responses) != 2 || result.Responses[0].Err != nil {
		t.Fatalf("got %+v", result)
	}
	r.apply(start, &queue.AdvanceClock{})
	if len(seen) != 1 {
		t.Fatalf("audited %d times", len(seen))
	}
	if diff := cmp.Diff(audit, seen[0].Audit); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if at := seen[0].At; at.Index != result.Index || at.StateHash != r.fsm.Position().StateHash {
		t.Errorf("audited %+v, the entry is %d and the state now %x", at, result.Index, r.fsm.Position().StateHash)
	}
}

// A node must stop if the cluster needs a higher format version: at the entry that raises the
// version, and at a snapshot of it.
func TestOlderProgramStops(t *testing.T) {
	t.Run("entry that raises the version", func(t *testing.T) {
		var fatal error
		r := newReplica(t, Options{VersionMax: 1, Fatal: func(err error) { fatal = err }})
		r.apply(start, &queue.SetFormatVersion{Version: 1})
		defer func() {
			if recover() == nil || !errors.Is(fatal, format.ErrUnknownFormat) {
				t.Errorf("it went on, fatal is %v", fatal)
			}
		}()
		r.apply(start, &queue.SetFormatVersion{Version: 2})
	})
	t.Run("snapshot of a later version", func(t *testing.T) {
		later := newReplica(t, Options{VersionMax: 2})
		later.apply(start, &queue.SetFormatVersion{Version: 2})
		r := newReplica(t, Options{VersionMax: 1})
		if err := r.fsm.Restore(io.NopCloser(bytes.NewReader(later.snapshot()))); !errors.Is(err, format.ErrUnknownFormat) {
			t.Errorf("it went on with %v", err)
		}
	})
}
