package cluster

import (
	"crypto/rand"
	"errors"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

func openTestDir(t *testing.T, path, name string) *dataDir {
	t.Helper()
	dir, err := openDataDir(path, name, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.close() }) // most tests close it themselves
	return dir
}

func TestDataDirKeepsIdentityAndCountsStarts(t *testing.T) {
	path := t.TempDir()
	first := openTestDir(t, path, "orders-1")
	if !regexp.MustCompile(`^orders-1-[0-9a-f]{8}$`).MatchString(first.nodeID) {
		t.Errorf("node id %q", first.nodeID)
	}
	if first.boot != 1 || first.logMarked.Load() || first.voteMarked.Load() {
		t.Errorf("a new directory: boot %d, marks %v %v", first.boot, first.logMarked.Load(), first.voteMarked.Load())
	}
	if err := errors.Join(first.markLog(), first.markVote(), first.close()); err != nil {
		t.Fatal(err)
	}
	second := openTestDir(t, path, "orders-1")
	if second.nodeID != first.nodeID || second.boot != 2 {
		t.Errorf("after a restart: id %q, boot %d", second.nodeID, second.boot)
	}
	if !second.logMarked.Load() || !second.voteMarked.Load() {
		t.Error("the marks are forgotten")
	}
	if other := openTestDir(t, t.TempDir(), "orders-1"); other.nodeID == first.nodeID {
		t.Error("an empty directory got the id of another one")
	}
}

func TestDataDirRefusals(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(t *testing.T, path string)
		open    string
		want    error // nil: any
	}{
		{"in use", func(t *testing.T, path string) { openTestDir(t, path, "a") }, "a", errDataDirInUse},
		{"of another node", func(t *testing.T, path string) { openTestDir(t, path, "a").close() }, "b", nil},
		{"without its identity", func(t *testing.T, path string) {
			openTestDir(t, path, "a").close()
			clustertest.RemoveFile(t, filepath.Join(path, identityName))
		}, "a", errLostData},
		{"with a damaged identity", func(t *testing.T, path string) {
			openTestDir(t, path, "a").close()
			clustertest.FlipBit(t, filepath.Join(path, identityName), 20)
		}, "a", errDamaged},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := t.TempDir()
			test.prepare(t, path)
			_, err := openDataDir(path, test.open, rand.Reader)
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestMembershipSurvivesAndIsChecked(t *testing.T) {
	dir := openTestDir(t, t.TempDir(), "a")
	founders := []string{"a-1", "b-2"}
	if err := dir.setMembership(membershipRecord{ClusterID: "c0ffee", Founders: founders}); err != nil {
		t.Fatal(err)
	}
	got, err := dir.membership()
	if err != nil || got.ClusterID != "c0ffee" {
		t.Fatalf("got %+v, %v", got, err)
	}
	clustertest.FlipBit(t, dir.file(membershipName), 16)
	if _, err := dir.membership(); !errors.Is(err, errDamaged) {
		t.Fatalf("damaged: got %v", err)
	}
	if err := dir.clearMembership(); err != nil {
		t.Fatal(err)
	}
	if got, err := dir.membership(); err != nil || got.ClusterID != "" {
		t.Fatalf("cleared: got %+v, %v", got, err)
	}
}
