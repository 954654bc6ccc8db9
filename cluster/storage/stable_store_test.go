package storage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
)

func openTestStable(t *testing.T, path string) (*StableStore, *clustertest.FatalRecord, error) {
	t.Helper()
	record := clustertest.NewFatalRecord()
	dir := openTestDir(t, path, "a")
	s, err := OpenStableStore(openTestGroup(t, dir, 0), NewDiskGuard(time.Minute, record.Fatal, nil))
	t.Cleanup(func() {
		if s != nil {
			_ = s.Close() // some tests close it themselves
		}
	})
	if err != nil {
		dir.Close()
	}
	return s, record, err
}

func TestStableStoreKeepsTermAndVote(t *testing.T) {
	path := t.TempDir()
	s, _, err := openTestStable(t, path)
	clustertest.Must(t, err)
	if term, err := s.GetUint64([]byte(keyCurrentTerm)); term != 0 || err != nil {
		t.Fatalf("a new store: term %d, %v", term, err)
	}
	err = errors.Join(
		s.SetUint64([]byte(keyCurrentTerm), 7),
		s.SetUint64([]byte(keyLastVoteTerm), 7),
		s.Set([]byte(keyLastVoteCand), []byte("b-12345678")),
		s.Close(),
	)
	clustertest.Must(t, err)
	copyDir := reopenable(t, path)
	s, _, err = openTestStable(t, copyDir)
	clustertest.Must(t, err)
	term, err1 := s.GetUint64([]byte(keyCurrentTerm))
	voted, err2 := s.GetUint64([]byte(keyLastVoteTerm))
	candidate, err3 := s.Get([]byte(keyLastVoteCand))
	if err := errors.Join(err1, err2, err3); err != nil || term != 7 || voted != 7 || string(candidate) != "b-12345678" {
		t.Fatalf("term %d, vote %q in %d, %v", term, candidate, voted, err)
	}
}

// reopenable copies a data directory that is still locked by this process.
func reopenable(t *testing.T, path string) string {
	t.Helper()
	copied := t.TempDir()
	clustertest.Must(t, os.CopyFS(copied, os.DirFS(path)))
	return copied
}

func TestStableStoreTakesBackTheTermOfAnUnfinishedFounding(t *testing.T) {
	path := t.TempDir()
	s, _, err := openTestStable(t, path)
	clustertest.Must(t, err)
	clustertest.Must(t, errors.Join(s.SetUint64([]byte(keyCurrentTerm), initialTerm), s.Close()))
	s, _, err = openTestStable(t, reopenable(t, path))
	clustertest.Must(t, err)
	if term, err := s.GetUint64([]byte(keyCurrentTerm)); err != nil || term != 0 {
		t.Fatalf("term %d, %v: the library would not found again", term, err)
	}
}

// A power cut at the very first start may leave the name of the file with any part of its content.
// Nothing was confirmed yet, so the node starts.
func TestStableStoreIsMadeAgainAfterAPowerCut(t *testing.T) {
	whole := t.TempDir()
	s, _, err := openTestStable(t, whole)
	clustertest.Must(t, err)
	clustertest.Must(t, s.Close())
	content, err := os.ReadFile(filepath.Join(whole, GroupDirName(0), StableName))
	clustertest.Must(t, err)
	for _, kept := range []int{0, 512, 4096, 3 * 4096} {
		t.Run(fmt.Sprint(kept, " bytes"), func(t *testing.T) {
			path := t.TempDir()
			file := filepath.Join(path, GroupDirName(0), StableName)
			clustertest.Must(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, content[:kept], 0o600)))
			if err := WriteRecord(filepath.Join(path, identityName),
				identityRecord{Format: 1, NodeID: "a-00000000", NodeName: "a"}); err != nil {
				t.Fatal(err)
			}
			s, record, err := openTestStable(t, path)
			if _, errs := record.All(); err != nil || len(errs) > 0 {
				t.Fatalf("the node does not start: %v", err)
			}
			if term, err := s.GetUint64([]byte(keyCurrentTerm)); term != 0 || err != nil {
				t.Errorf("term %d, %v", term, err)
			}
		})
	}
}

func TestStableStoreRefusesDamage(t *testing.T) {
	tests := []struct {
		name   string
		damage func(t *testing.T, file string)
		code   fault.ExitCode
	}{
		{"the file removed", func(t *testing.T, file string) { clustertest.RemoveFile(t, file) }, fault.ExitLostData},
		{"the file cut short", func(t *testing.T, file string) {
			clustertest.Must(t, os.Truncate(file, 8<<10))
		}, fault.ExitChecksum},
		{"a flipped bit in the vote", func(t *testing.T, file string) { flipAll(t, file, "b-12345678") }, fault.ExitChecksum},
		{"a flipped bit in a key", func(t *testing.T, file string) { flipAll(t, file, keyLastVoteCand) }, fault.ExitChecksum},
		{"a flipped bit in the first head", func(t *testing.T, file string) { clustertest.FlipBit(t, file, boltPageHead+50) },
			fault.ExitChecksum},
		{"a flipped bit in the second head",
			func(t *testing.T, file string) { clustertest.FlipBit(t, file, int64(os.Getpagesize())+boltPageHead+50) }, fault.ExitChecksum},
		{"a value without checksum", func(t *testing.T, file string) {
			store, err := raftboltdb.New(raftboltdb.Options{Path: file, BoltOptions: &bbolt.Options{}})
			clustertest.Must(t, err)
			clustertest.Must(t, errors.Join(store.SetUint64([]byte(keyCurrentTerm), 9), store.Close()))
		}, fault.ExitChecksum},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := t.TempDir()
			s, _, err := openTestStable(t, path)
			clustertest.Must(t, err)
			if err := errors.Join(s.SetUint64([]byte(keyCurrentTerm), 7), s.Set([]byte(keyLastVoteCand), []byte("b-12345678")),
				s.Close()); err != nil {
				t.Fatal(err)
			}
			path = reopenable(t, path)
			test.damage(t, filepath.Join(path, GroupDirName(0), StableName))
			_, record, err := openTestStable(t, path)
			codes, _ := record.All()
			if err == nil || !slices.Equal(codes, []fault.ExitCode{test.code}) {
				t.Fatalf("got %v, exit codes %v, want %d", err, codes, test.code)
			}
			if !strings.Contains(err.Error(), StableName) || !strings.Contains(err.Error(), "new member") {
				t.Errorf("the message does not name the file and say what to do: %v", err)
			}
		})
	}
}

func flipAll(t *testing.T, file, text string) {
	t.Helper()
	content, err := os.ReadFile(file)
	clustertest.Must(t, err)
	changed := []byte(text)
	changed[len(changed)-1] ^= 1
	content = bytes.ReplaceAll(content, []byte(text), changed)
	clustertest.Must(t, os.WriteFile(file, content, 0o600))
}

type brokenStable struct{ stableBackend }

func (brokenStable) Set(...stablePair) error { return syscall.ENOSPC }

// vote stores a vote in the two steps of the library.
func vote(s *StableStore, term uint64, candidate string) error {
	return errors.Join(s.SetUint64([]byte(keyLastVoteTerm), term), s.Set([]byte(keyLastVoteCand), []byte(candidate)))
}

// The term of a vote reaches the disk with its candidate: a crash between the two steps leaves the
// earlier vote.
func TestVoteIsWrittenAsOne(t *testing.T) {
	s, _, err := openTestStable(t, t.TempDir())
	clustertest.Must(t, err)
	afterCrash := func() string {
		err := s.Close()
		if err == nil {
			s.backend, err = openStableBackend(s.path)
		}
		clustertest.Must(t, err)
		s.voteTerm = nil
		term, err := s.GetUint64([]byte(keyLastVoteTerm))
		clustertest.Must(t, err)
		candidate, err := s.Get([]byte(keyLastVoteCand))
		clustertest.Must(t, err)
		return fmt.Sprintf("%d %s", term, candidate)
	}
	clustertest.Must(t, vote(s, 3, "a"))
	if got := afterCrash(); got != "3 a" {
		t.Errorf("the vote is %q", got)
	}
	clustertest.Must(t, errors.Join(s.SetUint64([]byte(keyCurrentTerm), 4), s.SetUint64([]byte(keyLastVoteTerm), 4)))
	if term, err := s.GetUint64([]byte(keyLastVoteTerm)); err != nil || term != 4 {
		t.Errorf("the term of the vote that is given is %d, %v", term, err)
	}
	if got := afterCrash(); got != "3 a" {
		t.Errorf("half a vote is on disk: %q", got)
	}
	clustertest.Must(t, errors.Join(vote(s, 4, "b"), s.Set([]byte(keyLastVoteCand), []byte("c"))))
	if got := afterCrash(); got != "4 c" {
		t.Errorf("the vote is %q", got)
	}
}

func TestStableStoreEndsAfterAFailedVote(t *testing.T) {
	s, record, err := openTestStable(t, t.TempDir())
	clustertest.Must(t, err)
	sound := s.backend
	s.backend = brokenStable{sound}
	if err := vote(s, 3, "a"); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v", err)
	}
	s.backend = sound
	if err := vote(s, 3, "a"); err == nil {
		t.Fatal("a vote after a failed one")
	}
	if err := s.SetUint64([]byte(keyCurrentTerm), 3); err == nil {
		t.Fatal("a term after a failed vote")
	}
	if codes, _ := record.All(); !slices.Equal(codes, []fault.ExitCode{fault.ExitDiskError}) {
		t.Fatalf("exit codes %v", codes)
	}
	var _ raft.StableStore = s
}
