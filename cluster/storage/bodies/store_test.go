package bodies

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue/message"
)

// node is a Store in a directory, with the bodies of its state.
type node struct {
	t       *testing.T
	options Options
	store   *Store
	state   fsm.StateBodies
	fatal   []fault.ExitCode
}

// newNode uses small segments and little memory.
func newNode(t *testing.T) *node {
	n := &node{t: t}
	n.options = Options{
		Life: t.Context(), Dir: filepath.Join(t.TempDir(), "bodies"), Logger: slog.New(slog.DiscardHandler),
		Keep: true, SegmentBytes: 64 << 10, CacheBytes: 1, FreeBytesPerSecond: 1 << 40,
	}
	n.open()
	t.Cleanup(func() { n.store.Close() })
	return n
}

func (n *node) open() {
	n.options.Guard = storage.NewDiskGuard(time.Hour, func(code fault.ExitCode, _ error) { n.fatal = append(n.fatal, code) }, nil)
	store, err := Open(n.options)
	clustertest.Must(n.t, err)
	n.store, n.state = store, store.Begin()
}

// restart closes the store, opens it again and restores a state with these bodies.
func (n *node) restart(has ...message.Body) error {
	n.store.Close()
	n.open()
	n.state = n.store.Begin()
	for _, body := range has {
		n.state.Hold(body)
	}
	return n.state.Adopt()
}

func text(seed, size int) string {
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	b := make([]byte, size)
	for i := range b {
		b[i] = byte('a' + random.IntN(26))
	}
	return string(b)
}

// send appends a body and holds it.
func (n *node) send(seed, size int) message.Body {
	body := n.state.Append(text(seed, size), uint64(seed))
	n.state.Hold(body)
	return body
}

// snapshot reports a snapshot to the Store.
func (n *node) snapshot() {
	captured := n.state.Capture()
	clustertest.Must(n.t, captured.Sync())
	captured.Stored()
	captured.Release()
}

func (n *node) reads(seed int, body message.Body) {
	n.t.Helper()
	got, err := n.store.Read(body)
	if err != nil || got.String() != text(seed, body.Len()) {
		n.t.Fatalf("body %d: %v, %d bytes", seed, err, got.Len())
	}
}

// comeBack reads bodies from disk, and again after a restart.
func (n *node) comeBack(sent []message.Body) {
	n.t.Helper()
	n.snapshot()
	for i, body := range sent {
		n.reads(i, body)
	}
	clustertest.Must(n.t, n.restart(sent...))
	for i, body := range sent {
		n.reads(i, body)
	}
}

// allocated returns the disk space of the segments.
func (n *node) allocated() (bytes int64, files int) {
	sizes, err := listSegments(n.options.Dir)
	clustertest.Must(n.t, err)
	for number := range sizes {
		bytes += blocksOnDisk(n.t, n.store.path(number))
	}
	return bytes, len(sizes)
}

func TestBodiesComeBack(t *testing.T) {
	n := newNode(t)
	var sent []message.Body
	for i := range 300 {
		sent = append(sent, n.send(i, 128+i*37%5000))
		n.reads(i, sent[i]) // in memory, or written meanwhile
	}
	big := n.send(300, 1<<20)
	sent = append(sent, big)
	n.comeBack(sent)
	more := n.send(301, 500)
	if more.Place().Segment <= big.Place().Segment {
		t.Errorf("after a restart a body went to segment %d, behind %d there", more.Place().Segment, big.Place().Segment)
	}
	if stats := n.store.Stats(); stats.Bodies != 302 || stats.DiskReads == 0 {
		t.Errorf("%+v", stats)
	}
}

func TestWhatWasWrittenStaysInMemory(t *testing.T) {
	n := newNode(t)
	n.options.CacheBytes = 8 << 20
	n.store.Close()
	n.open()
	for i := range 20_000 {
		body := n.send(i, 200)
		if i%100 == 0 {
			n.snapshot()
		}
		n.reads(i, body)
	}
	if stats := n.store.Stats(); stats.DiskReads != 0 || stats.MemoryBytes > 10<<20 {
		t.Errorf("%+v", stats)
	}
}

func TestSpaceComesBackBehindASnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		var sent []message.Body
		for i := range 400 {
			sent = append(sent, n.send(i, 1000))
		}
		n.snapshot()
		full, files := n.allocated()
		// All but each 40th are freed, which leaves bodies in every segment.
		for i, body := range sent {
			if i%40 != 0 {
				n.state.Free(body)
			}
		}
		synctest.Wait()
		if now, _ := n.allocated(); now < full {
			t.Errorf("%d of %d bytes left before a snapshot was taken", now, full)
		}
		n.snapshot()
		synctest.Wait()
		now, filesNow := n.allocated()
		if canPunch && now > full/2 || filesNow != files {
			t.Errorf("%d of %d bytes in %d of %d files are left", now, full, filesNow, files)
		}
		for i, body := range sent {
			if i%40 == 0 {
				n.reads(i, body)
				n.state.Free(body)
			} else if got, err := n.store.Read(body); err != nil && !errors.Is(err, ErrGone) {
				t.Fatalf("body %d that was deleted: %v, %v", i, got, err)
			}
		}
		n.send(1000, 70<<10) // ends the segment
		n.snapshot()
		n.snapshot()
		synctest.Wait()
		if _, left := n.allocated(); left != 1 {
			t.Errorf("%d files are left", left)
		}
		if len(n.fatal) > 0 {
			t.Errorf("the node ended: %v", n.fatal)
		}
	})
}

func TestCapturedBodiesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		var sent []message.Body
		for i := range 400 {
			sent = append(sent, n.send(i, 1000))
		}
		backup := n.state.Capture()
		for _, body := range sent {
			n.state.Free(body)
		}
		n.snapshot()
		// A state that replaces this one does not free space of it either.
		replaced := n.store.Begin()
		clustertest.Must(t, replaced.Adopt())
		n.state = replaced
		n.snapshot()
		synctest.Wait()
		for i, body := range sent {
			n.reads(i, body)
		}
		backup.Release()
		n.snapshot()
		synctest.Wait()
		if _, files := n.allocated(); files > 1 {
			t.Errorf("%d files are left", files)
		}
		if _, err := n.store.Read(sent[0]); !errors.Is(err, ErrGone) {
			t.Errorf("a body in a segment that was removed: %v", err)
		}
	})
}

func TestPinnedSnapshotStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		var sent []message.Body
		for i := range 400 {
			sent = append(sent, n.send(i, 1000))
		}
		n.snapshot()
		unpin := n.store.PinSnapshot()
		for _, body := range sent {
			n.state.Free(body)
		}
		n.snapshot()
		n.snapshot()
		synctest.Wait()
		for i, body := range sent {
			n.reads(i, body)
		}
		unpin()
		synctest.Wait()
		if _, files := n.allocated(); files > 1 {
			t.Errorf("%d files are left", files)
		}
	})
}

func TestABodyThatMovesStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		body := n.send(1, 40_000)
		n.state.Free(body)
		n.state.Hold(body)
		n.send(2, 60_000)
		n.snapshot()
		n.snapshot()
		synctest.Wait()
		n.reads(1, body)
	})
}

func TestRestartForgetsWhatNoStateHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		kept := n.send(1, 1000)
		for i := range 300 {
			n.send(i, 1000)
		}
		n.snapshot()
		clustertest.Must(t, n.restart(kept))
		synctest.Wait()
		if bytes, files := n.allocated(); files != 1 || canPunch && bytes > 8<<10 {
			t.Errorf("%d bytes in %d files are left", bytes, files)
		}
		n.reads(1, kept)
	})
}

func TestDamageEndsTheNode(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, path string, at int64){
		"a bit": func(t *testing.T, path string, at int64) {
			content, err := os.ReadFile(path)
			clustertest.Must(t, err)
			content[at+100] ^= 4
			clustertest.Must(t, os.WriteFile(path, content, 0o600))
		},
		"cut short": func(t *testing.T, path string, at int64) {
			clustertest.Must(t, os.Truncate(path, at+100))
		},
		"missing": func(t *testing.T, path string, _ int64) {
			clustertest.Must(t, os.Remove(path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.send(1, 1000)
			body := n.send(2, 1000)
			n.send(3, 80_000) // another segment
			n.snapshot()
			n.store.Close()
			harm(t, n.store.path(body.Place().Segment), int64(body.Place().Offset))
			got, err := n.store.Read(body)
			if err == nil {
				t.Fatalf("it was read: %d bytes", got.Len())
			}
			if len(n.fatal) != 1 || n.fatal[0] != fault.ExitChecksum || !strings.Contains(err.Error(), n.store.path(body.Place().Segment)) {
				t.Errorf("%v, exits %v", err, n.fatal)
			}
		})
	}
}

// A read error of the disk is not reported as damage: the operator must check the disk.
func TestBodyThatTheDiskDoesNotGive(t *testing.T) {
	const unmapped = "/proc/self/mem" // nothing is mapped at its beginning
	if _, err := os.Stat(unmapped); err != nil {
		t.Skip("no file here fails to be read with EIO:", err)
	}
	n := newNode(t)
	body := n.send(1, 1000)
	n.send(2, 80_000) // another segment
	n.snapshot()
	path := n.store.path(body.Place().Segment)
	clustertest.Must(t, errors.Join(os.Remove(path), os.Symlink(unmapped, path)))
	if _, err := n.store.Read(body); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), path) {
		t.Errorf("read: %v", err)
	}
	if len(n.fatal) != 1 || n.fatal[0] != fault.ExitDiskError {
		t.Errorf("exits %v", n.fatal)
	}
}

func TestRestartMissesSegments(t *testing.T) {
	n := newNode(t)
	body := n.send(1, 10_000)
	n.snapshot()
	clustertest.Must(t, os.Truncate(n.store.path(body.Place().Segment), 100))
	if err := n.restart(body); err == nil {
		t.Error("a state was taken whose bodies are cut off")
	}
	clustertest.Must(t, os.Remove(n.store.path(body.Place().Segment)))
	if err := n.restart(body); err == nil {
		t.Error("a state was taken whose segment is missing")
	}
}

func TestOneBodyIsNotAnother(t *testing.T) {
	n := newNode(t)
	body := n.send(1, 1000)
	n.send(2, 1000)
	n.snapshot()
	at := body.Place()
	for name, other := range map[string]message.Body{
		"digest": message.StoredBody(at, 1000, 2),
		"length": message.StoredBody(at, 999, 1),
		"place":  message.StoredBody(message.Place{Segment: at.Segment, Offset: at.Offset + 1}, 1000, 1),
	} {
		if got, err := n.store.Read(other); err == nil {
			t.Errorf("another %s gave %d bytes", name, got.Len())
		}
	}
}

func TestFreeingTwiceIsNoticed(t *testing.T) {
	n := newNode(t)
	body := n.send(1, 1000)
	n.state.Free(body)
	defer func() {
		if recover() == nil {
			t.Error("it was not")
		}
	}()
	n.state.Free(body)
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{128, 256, 1024, 10 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			guard := storage.NewDiskGuard(time.Hour, func(_ fault.ExitCode, err error) { b.Fatal(err) }, nil)
			store, err := Open(Options{Life: b.Context(), Dir: b.TempDir(), Guard: guard, Logger: slog.New(slog.DiscardHandler),
				Keep: true})
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			state, body := store.Begin(), text(1, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				state.Hold(state.Append(body, 1))
			}
		})
	}
}

// Sync waits only for bodies appended before it, even if bodies are appended faster than the disk
// writes.
func TestSyncDoesNotWaitForWhatFollows(t *testing.T) {
	n := newNode(t)
	n.store.Close()
	const size = 1 << 20
	appended := make(chan struct{}, 1000)
	n.options.Guard = storage.NewDiskGuard(time.Hour, func(fault.ExitCode, error) {}, func(what string, write func() error) error {
		if strings.HasPrefix(what, "write bodies") {
			<-appended
		}
		return write()
	})
	var err error
	if n.store, err = Open(n.options); err != nil {
		t.Fatal(err)
	}
	n.state = n.store.Begin()
	for range 4 {
		n.state.Append(strings.Repeat("x", size), 1)
	}
	captured := n.state.Capture()
	defer captured.Release()
	synced := make(chan error)
	go func() { synced <- captured.Sync() }()
	for range 500 { // each lets one write through, so that four more always wait
		n.state.Append(strings.Repeat("x", size), 1)
		appended <- struct{}{}
		select {
		case err := <-synced:
			clustertest.Check(t, err)
			close(appended)
			return
		default:
		}
	}
	t.Error("the sync waits for what was appended after it was asked for")
	close(appended)
	<-synced
}
