package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
)

func TestDamagedNodeRefusesToStart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		damage func(t *testing.T, dir string) (file string)
		code   fault.ExitCode
	}{
		{"a log entry", func(t *testing.T, dir string) string {
			clustertest.FlipBitIn(t, dir, "q0033")
			return filepath.Join(storage.GroupDirName(0), storage.WALName)
		}, fault.ExitChecksum},
		{"a snapshot", func(t *testing.T, dir string) string {
			states, err := filepath.Glob(filepath.Join(dir, storage.GroupDirName(0), storage.SnapshotsDir, "*", storage.SnapshotStateName))
			if err != nil || len(states) == 0 {
				t.Fatal(states, err)
			}
			newest := slices.MaxFunc(states, func(a, b string) int { return strings.Compare(modified(t, a), modified(t, b)) })
			clustertest.FlipBit(t, newest, 300)
			return newest
		}, fault.ExitChecksum},
		{"all snapshots removed", func(t *testing.T, dir string) string {
			clustertest.RemoveFile(t, filepath.Join(dir, storage.GroupDirName(0), storage.SnapshotsDir))
			return filepath.Join(storage.GroupDirName(0), storage.WALName)
		}, fault.ExitLostData},
		{"term and vote", func(t *testing.T, dir string) string {
			clustertest.RemoveFile(t, filepath.Join(dir, storage.GroupDirName(0), storage.StableName))
			return storage.StableName
		}, fault.ExitLostData},
		{"the stores", func(t *testing.T, dir string) string {
			clustertest.RemoveFile(t, filepath.Join(dir, storage.GroupDirName(0)))
			return storage.StableName
		}, fault.ExitLostData},
		{"the cluster", func(t *testing.T, dir string) string {
			clustertest.RemoveFile(t, filepath.Join(dir, storage.MembershipName))
			return storage.MembershipName
		}, fault.ExitLostData},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := newGroups(t, 3, func(_ int, cfg *Config) { cfg.Snapshot.TrailingBytes = 2000 })
			g.startAll()
			for at := range 30 {
				g.ProposeOne(testNamedEntry(t, at))
			}
			damaged := g.Followers(g.Leader())[0]
			clustertest.Must(t, damaged.group.Snapshot(clustertest.Context(t)))
			for at := 30; at < 35; at++ {
				g.ProposeOne(testNamedEntry(t, at))
			}
			if test.name == "a log entry" { // it must still be in the log
				g.Agree(g.Leader().group.CommitIndex())
			}
			damaged.stop()
			file := test.damage(t, damaged.cfg.DataDir)
			err := damaged.tryStart()
			codes, _ := damaged.record.All()
			if err == nil || !slices.Contains(codes, test.code) || len(codes) != 1 {
				t.Fatalf("got %v, exit codes %v, want %d", err, codes, test.code)
			}
			if !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "new member") {
				t.Errorf("the message does not name %s and say what to do: %v", file, err)
			}
			g.Agree(g.Propose(50, 55))
		})
	}
}

func modified(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	clustertest.Must(t, err)
	return info.ModTime().Format("2006-01-02T15:04:05.000000000")
}
