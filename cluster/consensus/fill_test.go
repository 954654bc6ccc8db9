package consensus

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
)

// A snapshot that a node is about to be sent, while it installs another one, keeps nothing
// of the state before that: its bodies would take space until the second one is there.
func TestAWaitingInstallKeepsNoSpace(t *testing.T) {
	t.Parallel()
	record := clustertest.NewFatalRecord()
	store, err := bodies.Open(bodies.Options{
		Life: t.Context(), Dir: filepath.Join(t.TempDir(), "bodies"), Guard: storage.NewDiskGuard(time.Minute, record.Fatal, nil),
		Keep: true, KeepMin: 1, SegmentBytes: 4 << 10, FreeBytesPerSecond: 1 << 40,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	state := store.Begin()
	if err := state.Adopt(); err != nil {
		t.Fatal(err)
	}
	waiting := (&Group{options: Options{Bodies: store}}).fill(nil)
	defer waiting.close()
	for range 2 {
		body := state.Append(strings.Repeat("x", 4000), 1)
		state.Hold(body)
		state.Free(body)
		captured := state.Capture()
		if err := captured.Sync(); err != nil {
			t.Fatal(err)
		}
		captured.Stored()
		captured.Release()
	}
	deadline := time.Now().Add(clustertest.Patience)
	for store.Stats().FreedBytes == 0 {
		if time.Now().After(deadline) {
			t.Fatal("the space of a body that nobody has does not come back")
		}
		time.Sleep(time.Millisecond)
	}
}
