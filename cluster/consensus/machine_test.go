package consensus

import (
	"context"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm"
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

// The exit code for a snapshot that cannot be restored depends on the cause.
func TestSnapshotThatCannotBeRestored(t *testing.T) {
	for name, c := range map[string]struct {
		content io.Reader
		code    fault.ExitCode
		advice  string
	}{
		"a disk that does not give it": {iotest.ErrReader(&fs.PathError{Op: "read", Path: "state.bin", Err: syscall.EIO}),
			fault.ExitDiskError, "check the disk"},
		"damage":         {strings.NewReader("seriatim"), fault.ExitChecksum, storage.ReplaceNode},
		"a newer format": {strings.NewReader("seriatim\xff"), fault.ExitUnknownFormat, "start that one"},
	} {
		t.Run(name, func(t *testing.T) {
			record := clustertest.NewFatalRecord()
			m := &machine{machine: fsm.New(fsm.Options{}), guard: storage.NewDiskGuard(time.Minute, record.Fatal, nil)}
			if err := m.Restore(io.NopCloser(c.content)); err == nil || !strings.Contains(err.Error(), c.advice) {
				t.Error(err)
			}
			if codes, _ := record.All(); !slices.Equal(codes, []fault.ExitCode{c.code}) {
				t.Errorf("ended with %v", codes)
			}
		})
	}
}

func TestSnapshotPaceEndsWithTheGroup(t *testing.T) {
	record := clustertest.NewFatalRecord()
	s, err := storage.OpenSnapshotStore(openTestGroup(t, openTestDir(t, t.TempDir(), "a")),
		storage.NewDiskGuard(time.Minute, record.Fatal, nil), 1000, hclog.NewNullLogger())
	clustertest.Must(t, err)
	_, transport := raft.NewInmemTransport("")
	sink, err := s.Create(1, 10, 3, raft.Configuration{}, 1, transport)
	clustertest.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	policy := SnapshotPolicy{SyncBytes: 1000, BytesPerSecond: 1} // a quarter of an hour per piece
	inner := &memorySnapshot{content: make([]byte, 5000)}
	snapshot := &pacedSnapshot{FSMSnapshot: inner, pacer: NewPacer(policy, environment.SystemClock().Monotonic), ctx: ctx}
	if err := snapshot.Persist(sink); err == nil {
		t.Fatal("the snapshot was finished")
	}
	clustertest.Must(t, sink.Cancel())
	snapshot.Release()
	if metas, err := s.List(); err != nil || len(metas) != 0 || !inner.released {
		t.Fatalf("got %v, %v, released %v", metas, err, inner.released)
	}
	if codes, _ := record.All(); len(codes) > 0 {
		t.Fatalf("giving up ended the node: %v", codes)
	}
}
