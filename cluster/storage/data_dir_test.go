package storage

import (
	"crypto/rand"
	"errors"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

func openTestDir(t *testing.T, path, name string) *Dir {
	t.Helper()
	dir, err := OpenDir(path, name, rand.Reader)
	clustertest.Must(t, err)
	t.Cleanup(func() { _ = dir.Close() }) // most tests close it
	return dir
}

func openTestGroup(t *testing.T, dir *Dir, id uint32) *GroupDir {
	t.Helper()
	group, err := dir.Group(id)
	clustertest.Must(t, err)
	return group
}

func TestDataDirKeepsIdentityAndCountsStarts(t *testing.T) {
	path := t.TempDir()
	first := openTestDir(t, path, "orders-1")
	if !regexp.MustCompile(`^orders-1-[0-9a-f]{8}$`).MatchString(first.NodeID) {
		t.Errorf("node id %q", first.NodeID)
	}
	if first.Boot != 1 {
		t.Errorf("a new directory: boot %d", first.Boot)
	}
	clustertest.Must(t, first.Close())
	second := openTestDir(t, path, "orders-1")
	if second.NodeID != first.NodeID || second.Boot != 2 {
		t.Errorf("after a restart: id %q, boot %d", second.NodeID, second.Boot)
	}
	if other := openTestDir(t, t.TempDir(), "orders-1"); other.NodeID == first.NodeID {
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
		{"in use", func(t *testing.T, path string) { openTestDir(t, path, "a") }, "a", ErrInUse},
		{"of another node", func(t *testing.T, path string) { openTestDir(t, path, "a").Close() }, "b", nil},
		{"without its identity", func(t *testing.T, path string) {
			openTestDir(t, path, "a").Close()
			clustertest.RemoveFile(t, filepath.Join(path, identityName))
		}, "a", ErrLostData},
		{"with a damaged identity", func(t *testing.T, path string) {
			openTestDir(t, path, "a").Close()
			clustertest.FlipBit(t, filepath.Join(path, identityName), 20)
		}, "a", ErrDamaged},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := t.TempDir()
			test.prepare(t, path)
			_, err := OpenDir(path, test.open, rand.Reader)
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestMembershipSurvivesAndIsChecked(t *testing.T) {
	dir := openTestDir(t, t.TempDir(), "a")
	members := []string{"a-1", "b-2"}
	clustertest.Must(t, dir.SetMembership(Membership{ClusterID: "c0ffee", InitialMembers: members}))
	got, err := dir.Membership()
	if err != nil || got.ClusterID != "c0ffee" {
		t.Fatalf("got %+v, %v", got, err)
	}
	clustertest.FlipBit(t, dir.File(MembershipName), 16)
	if _, err := dir.Membership(); !errors.Is(err, ErrDamaged) {
		t.Fatalf("damaged: got %v", err)
	}
	clustertest.Must(t, dir.ClearMembership())
	if got, err := dir.Membership(); err != nil || got.ClusterID != "" {
		t.Fatalf("cleared: got %+v, %v", got, err)
	}
}
