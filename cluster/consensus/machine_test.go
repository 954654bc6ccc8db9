package consensus

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// memorySnapshot is a state of some bytes.
type memorySnapshot struct {
	content  []byte
	released bool
}

func (s *memorySnapshot) Persist(sink raft.SnapshotSink) error {
	for piece := range slices.Chunk(s.content, 100) {
		if _, err := sink.Write(piece); err != nil {
			return err
		}
	}
	return sink.Close()
}

func (s *memorySnapshot) Release() { s.released = true }

func TestSnapshotPaceEndsWithTheGroup(t *testing.T) {
	record := clustertest.NewFatalRecord()
	s, err := storage.OpenSnapshotStore(openTestGroup(t, openTestDir(t, t.TempDir(), "a")), storage.NewDiskGuard(time.Minute, record.Fatal, nil), 1000, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	_, transport := raft.NewInmemTransport("")
	sink, err := s.Create(1, 10, 3, raft.Configuration{}, 1, transport)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	policy := SnapshotPolicy{SyncBytes: 1000, BytesPerSecond: 1} // a quarter of an hour per piece
	inner := &memorySnapshot{content: make([]byte, 5000)}
	snapshot := &pacedSnapshot{FSMSnapshot: inner, policy: policy, clock: environment.SystemClock(), ctx: ctx}
	if err := snapshot.Persist(sink); err == nil {
		t.Fatal("the snapshot was finished")
	}
	if err := sink.Cancel(); err != nil {
		t.Fatal(err)
	}
	snapshot.Release()
	if metas, err := s.List(); err != nil || len(metas) != 0 || !inner.released {
		t.Fatalf("got %v, %v, released %v", metas, err, inner.released)
	}
	if codes, _ := record.All(); len(codes) > 0 {
		t.Fatalf("giving up ended the node: %v", codes)
	}
}
