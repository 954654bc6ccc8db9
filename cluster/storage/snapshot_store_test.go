package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
)

var testMembers = raft.Configuration{Servers: []raft.Server{{ID: "a-1", Address: "a-1"}, {ID: "b-2", Address: "b-2"}}}

func openTestSnapshots(t *testing.T, path string) (*SnapshotStore, *clustertest.FatalRecord) {
	t.Helper()
	record := clustertest.NewFatalRecord()
	dir := openTestDir(t, path, "a")
	s, err := OpenSnapshotStore(openTestGroup(t, dir, 0), NewDiskGuard(time.Minute, record.Fatal, nil), 1000, hclog.NewNullLogger())
	clustertest.Must(t, err)
	return s, record
}

func writeTestSnapshot(t *testing.T, s *SnapshotStore, index uint64, content []byte) string {
	t.Helper()
	_, transport := raft.NewInmemTransport("")
	sink, err := s.Create(1, index, 3, testMembers, 1, transport)
	clustertest.Must(t, err)
	clustertest.Must(t, clustertest.Err(sink.Write(content)))
	clustertest.Must(t, sink.Close())
	return sink.ID()
}

func ended(record *clustertest.FatalRecord) bool {
	codes, _ := record.All()
	return len(codes) > 0
}

// A leader may send a snapshot twice within a millisecond, the unit of the library's names.
func TestSnapshotsOfOneMillisecond(t *testing.T) {
	s, record := openTestSnapshots(t, t.TempDir())
	now := time.Now().UnixMilli()
	for ms := range int64(50) {
		clustertest.Must(t, os.Mkdir(filepath.Join(s.path, fmt.Sprintf("3-10-%d", now+ms)), 0o700))
	}
	writeTestSnapshot(t, s, 10, []byte("again"))
	if ended(record) {
		t.Error("the node ended")
	}
}

// Two snapshots in one millisecond do not spin under simulated time.
func TestSnapshotsOfOneMillisecondInASimulation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, record := openTestSnapshots(t, t.TempDir())
		writeTestSnapshot(t, s, 10, []byte("one"))
		writeTestSnapshot(t, s, 10, []byte("again"))
		if ended(record) {
			t.Error("the node ended")
		}
	})
}

// Snapshots older than an installed one are removed at once. An open reader can finish.
func TestOlderSnapshotsAreDropped(t *testing.T) {
	s, record := openTestSnapshots(t, t.TempDir())
	first := writeTestSnapshot(t, s, 10, []byte("first"))
	second := writeTestSnapshot(t, s, 20, []byte("second"))
	_, reading, err := s.Open(first)
	clustertest.Must(t, err)
	if err := s.DropOlder("3-999-1"); err != nil { // no snapshot has that name
		t.Fatal(err)
	}
	clustertest.Must(t, s.DropOlder(second))
	if got, err := io.ReadAll(reading); err != nil || string(got) != "first" {
		t.Errorf("%q, %v", got, err)
	}
	clustertest.Check(t, reading.Close())
	if _, _, err := s.Open(first); err == nil {
		t.Error("it can still be opened")
	}
	if metas, err := s.List(); err != nil || len(metas) != 1 || metas[0].ID != second {
		t.Errorf("%v, %v", metas, err)
	}
	if ended(record) {
		t.Error("that a dropped snapshot is not there ended the node")
	}
	entries, err := os.ReadDir(s.path)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestSnapshotStoreKeepsTheNewestTwo(t *testing.T) {
	s, _ := openTestSnapshots(t, t.TempDir())
	content := bytes.Repeat([]byte("state "), 2000)
	for index := uint64(10); index <= 30; index += 10 {
		writeTestSnapshot(t, s, index, append(content, fmt.Sprint(index)...))
	}
	metas, err := s.List()
	if err != nil || len(metas) != snapshotsRetained || metas[0].Index != 30 || metas[1].Index != 20 {
		t.Fatalf("got %v, %v", metas, err)
	}
	meta, reader, err := s.Open(metas[0].ID)
	clustertest.Must(t, err)
	got, err := io.ReadAll(reader)
	clustertest.Must(t, errors.Join(err, reader.Close()))
	if want := append(content, "30"...); !bytes.Equal(got, want) || meta.Size != int64(len(want)) {
		t.Fatalf("%d bytes came back, described as %d, want %d", len(got), meta.Size, len(want))
	}
	if diff := cmp.Diff(testMembers, meta.Configuration); diff != "" || meta.Term != 3 {
		t.Fatalf("term %d, members %s", meta.Term, diff)
	}
	if s.Newest().Index != 30 {
		t.Errorf("the newest is %+v", s.Newest())
	}
}

func TestSnapshotStoreForgetsTheUnfinished(t *testing.T) {
	path := t.TempDir()
	s, _ := openTestSnapshots(t, path)
	_, transport := raft.NewInmemTransport("")
	clustertest.Must(t, clustertest.Err(s.Create(1, 10, 3, testMembers, 1, transport)))
	s, record := openTestSnapshots(t, reopenable(t, path)) // as after a crash
	if metas, err := s.List(); err != nil || len(metas) != 0 {
		t.Fatalf("got %v, %v", metas, err)
	}
	left, err := os.ReadDir(s.path)
	if err != nil || len(left) != 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
	if codes, _ := record.All(); len(codes) > 0 {
		t.Fatalf("exit codes %v", codes)
	}
}

// TestSnapshotStoreFinishesRemovals checks that a node starts after a kill during the removal of an
// old snapshot, but not if a file is missing from any other one.
func TestSnapshotStoreFinishesRemovals(t *testing.T) {
	cases := []struct {
		name    string
		index   uint64 // of the snapshot that lacks files
		lacking []string
		sound   bool
	}{
		{"old, without state", 10, []string{SnapshotStateName}, true},
		{"old, without description", 10, []string{snapshotMetaName}, true},
		{"old, empty", 10, []string{SnapshotStateName, snapshotMetaName}, true},
		{"behind the newest, without state", 20, []string{SnapshotStateName}, true},
		{"newest, without description", 30, []string{snapshotMetaName}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, _ := openTestSnapshots(t, t.TempDir())
			kept := t.TempDir()
			names := map[uint64]string{}
			for index := uint64(10); index <= 30; index += 10 {
				names[index] = writeTestSnapshot(t, s, index, []byte("state"))
				if index == 10 {
					clustertest.Must(t, os.CopyFS(kept, os.DirFS(filepath.Join(s.path, names[10]))))
				}
			}
			clustertest.Must(t, os.CopyFS(filepath.Join(s.path, names[10]), os.DirFS(kept)))
			for _, file := range c.lacking {
				clustertest.Must(t, os.Remove(filepath.Join(s.path, names[c.index], file)))
			}
			// A start does this once the directory is locked.
			clustertest.Must(t, s.finishRemovals())
			if err := s.Verify(); (err == nil) != c.sound {
				t.Errorf("verify says %v", err)
			}
			if _, err := os.Stat(filepath.Join(s.path, names[c.index])); os.IsNotExist(err) != c.sound {
				t.Errorf("the snapshot %s: %v", names[c.index], err)
			}
		})
	}
}

// OpenToRestore returns the content of the requested snapshot.
func TestSnapshotIsOpenedToRestore(t *testing.T) {
	s, record := openTestSnapshots(t, t.TempDir())
	content := bytes.Repeat([]byte("state "), 2000)
	writeTestSnapshot(t, s, 10, content)
	metas, err := s.List()
	clustertest.Must(t, err)
	opened, err := s.OpenToRestore(metas[0])
	clustertest.Must(t, err)
	read, err := io.ReadAll(opened)
	source, known := SnapshotSource(opened)
	if err := errors.Join(err, opened.Close()); err != nil || !bytes.Equal(read, content) || !known || source.Index != 10 {
		t.Errorf("%d bytes of %+v, %v", len(read), source, err)
	}
	metas[0].Term++
	if _, err := s.OpenToRestore(metas[0]); !errors.Is(err, ErrDamaged) {
		t.Errorf("another term: %v", err)
	}
	if codes, _ := record.All(); len(codes) != 1 || codes[0] != fault.ExitChecksum {
		t.Errorf("ended with %v", codes)
	}
}

// A read error of the disk is not reported as damage: the operator must check the disk and keep the
// data.
func TestSnapshotThatTheDiskDoesNotGive(t *testing.T) {
	for name, read := range map[string]func(*SnapshotStore, *raft.SnapshotMeta) error{
		"at the start": func(s *SnapshotStore, _ *raft.SnapshotMeta) error { return s.Verify() },
		"to restore": func(s *SnapshotStore, meta *raft.SnapshotMeta) error {
			_, err := s.OpenToRestore(meta)
			return err
		},
		"to send": func(s *SnapshotStore, meta *raft.SnapshotMeta) error {
			_, _, err := s.Open(meta.ID)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, record := openTestSnapshots(t, t.TempDir())
			path := filepath.Join(s.path, writeTestSnapshot(t, s, 10, []byte("state")), SnapshotStateName)
			metas, err := s.List()
			clustertest.Must(t, err)
			notGivenFile(t, path)
			err = read(s, metas[0])
			if !errors.Is(err, syscall.EIO) || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "check the disk") {
				t.Error(err)
			}
			if codes, _ := record.All(); len(codes) != 1 || codes[0] != fault.ExitDiskError {
				t.Errorf("ended with %v", codes)
			}
		})
	}
}

func TestSnapshotStoreRefusesDamage(t *testing.T) {
	edit := func(written, instead string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, snapshotMetaName)
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), written) {
				t.Fatalf("%s, %v", text, err)
			}
			clustertest.Must(t, os.WriteFile(path, []byte(strings.Replace(string(text), written, instead, 1)), 0o600))
		}
	}
	tests := []struct {
		name   string
		damage func(t *testing.T, dir string)
	}{
		{"a flipped bit in the state", func(t *testing.T,
			dir string) {
			clustertest.FlipBit(t, filepath.Join(dir, SnapshotStateName), 5000)
		}},
		{"the state cut short", func(t *testing.T, dir string) {
			clustertest.Must(t, os.Truncate(filepath.Join(dir, SnapshotStateName), 3000))
		}},
		{"the state removed", func(t *testing.T, dir string) { clustertest.RemoveFile(t, filepath.Join(dir, SnapshotStateName)) }},
		{"the description removed", func(t *testing.T, dir string) { clustertest.RemoveFile(t, filepath.Join(dir, snapshotMetaName)) }},
		{"the description unreadable", edit(`{`, `[`)},
		{"another version", edit(`"Version":1`, `"Version":7`)},
		{"another index", edit(`"Index":20`, `"Index":21`)},
		{"another term", edit(`"Term":3`, `"Term":2`)},
		{"another member", edit(`"ID":"b-2"`, `"ID":"c-2"`)},
		{"no vote", edit(`"Suffrage":0`, `"Suffrage":1`)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := t.TempDir()
			s, _ := openTestSnapshots(t, path)
			content := bytes.Repeat([]byte("state "), 2000)
			writeTestSnapshot(t, s, 10, content)
			id := writeTestSnapshot(t, s, 20, content)
			s, record := openTestSnapshots(t, reopenable(t, path))
			test.damage(t, filepath.Join(s.path, id))
			err := s.Verify()
			if err == nil {
				_, _, err = s.Open(id)
			}
			codes, _ := record.All()
			if err == nil || !slices.Equal(codes, []fault.ExitCode{fault.ExitChecksum}) {
				t.Fatalf("got %v, exit codes %v", err, codes)
			}
			if !strings.Contains(err.Error(), filepath.Join(s.path, id)) || !strings.Contains(err.Error(), "new member") {
				t.Errorf("the message does not name the file and say what to do: %v", err)
			}
		})
	}
}

func TestSnapshotStoreEndsAfterAFailedWrite(t *testing.T) {
	s, record := openTestSnapshots(t, t.TempDir())
	_, transport := raft.NewInmemTransport("")
	sink, err := s.Create(1, 10, 3, testMembers, 1, transport)
	clustertest.Must(t, err)
	clustertest.RemoveFile(t, s.path) // the next sync fails
	if _, err := sink.Write(make([]byte, 5000)); err == nil {
		t.Fatal("a snapshot without a file was written")
	}
	if _, err := sink.Write([]byte("x")); err == nil {
		t.Fatal("a write after the failed one")
	}
	if codes, _ := record.All(); !slices.Equal(codes, []fault.ExitCode{fault.ExitDiskError}) {
		t.Fatalf("exit codes %v", codes)
	}
}
