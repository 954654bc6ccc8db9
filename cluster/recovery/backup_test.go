package recovery

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

// capture captures the state of a replica with some MB of messages.
func capture(t *testing.T, pace consensus.SnapshotPolicy, monotonic func() time.Duration) *Backup {
	t.Helper()
	var lock sync.RWMutex
	replica := fsm.New(fsm.Options{StateLock: &lock, VersionMax: format.CurrentVersion, Fatal: func(err error) { panic(err) }})
	commands := []queue.Command{
		&queue.SetFormatVersion{Version: format.CurrentVersion},
		&queue.SetClusterSetting{Name: queue.SettingClusterID, Value: "c"},
		&queue.SetClusterSetting{Name: queue.SettingReceiptKey, Value: strings.Repeat("7f", 16)},
		&queue.CreateQueue{Queue: "orders"},
	}
	for range 40 {
		commands = append(commands, &queue.SendMessages{Queue: "orders", Entries: []queue.SendEntry{{Body: strings.Repeat("x", 64<<10)}}})
	}
	lock.Lock()
	for _, cmd := range commands {
		clustertest.Must(t, clustertest.Err(replica.Broker().Apply(1, cmd)))
	}
	lock.Unlock()
	s := New(Options{
		Pace: pace, Monotonic: monotonic, Replica: replica, Closing: t.Context(), ClusterID: func() string { return "c" },
	})
	return s.capture()
}

func TestBackupEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := capture(t, consensus.SnapshotPolicy{SyncBytes: 1, BytesPerSecond: 1}, func() time.Duration { return 0 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Stream(ctx, io.Discard); !errors.Is(err, errBackupEnded) {
		t.Errorf("got %v", err)
	}
}

// slowReader needs the same time for each piece of a backup, on a clock that only it moves.
type slowReader struct {
	now  time.Duration
	each time.Duration // for one write
}

// Write lets time pass.
func (r *slowReader) Write(content []byte) (int, error) {
	r.now += r.each
	return len(content), nil
}

// The captured state is not kept for a reader that is too slow, even if it reads regularly.
func TestBackupForASlowReader(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		each time.Duration
		want error
	}{
		{"fast enough", time.Second / 100, nil},
		{"too slow", 25 * time.Second, errSlowReader},
	}
	for _, test := range cases {
		reader := &slowReader{each: test.each}
		b := capture(t, consensus.SnapshotPolicy{SyncBytes: 1 << 20, BytesPerSecond: 1 << 40}, func() time.Duration { return reader.now })
		if err := b.Stream(t.Context(), reader); !errors.Is(err, test.want) {
			t.Errorf("%s: %v after %v", test.name, err, reader.now)
		}
		if limit := readGrace + 2*test.each; test.want != nil && reader.now > limit {
			t.Errorf("%s: the state was kept for %v", test.name, reader.now)
		}
	}
}

// If the pace is set low, a reader needs to keep up with a part of it only.
func TestBackupPaceBelowTheLeast(t *testing.T) {
	now := time.Duration(0)
	p := newPacedWriter(t.Context(), io.Discard, consensus.SnapshotPolicy{BytesPerSecond: 256 << 10}, func() time.Duration { return now })
	p.bytes = 1 << 20
	now = readGrace
	if now += 15 * time.Second; !p.keepsUp() {
		t.Error("a reader at the pace that was set is too slow")
	}
	if now += 2 * time.Second; p.keepsUp() {
		t.Error("a reader below a quarter of the pace is not")
	}
}
