package offline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest/freeport"
	"github.com/seriatimq/seriatim/cluster/offline"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/queue"
)

// run runs one command line and returns what it printed.
func run(t *testing.T, stdin string, args ...string) (code exit.Code, out, words string) {
	t.Helper()
	root := &cobra.Command{Use: "seriatim", SilenceErrors: true, SilenceUsage: true}
	AddTo(root)
	var stdout, stderr bytes.Buffer
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	err := root.ExecuteContext(t.Context())
	if err != nil {
		fmt.Fprintln(&stderr, err, exit.HintOf(err))
	}
	return exit.CodeOf(err), stdout.String(), stderr.String()
}

// aNode makes the data directory of a node with one message, and a backup.
func aNode(t *testing.T, beside func(dir string)) (dir, backup string, status cluster.Status) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "n1")
	n, err := cluster.Open(t.Context(), cluster.Config{
		NodeName: "n1", DataDir: dir, PeerAddr: "127.0.0.1:0", GossipAddr: "127.0.0.1:0", BootstrapExpect: 1,
		Log: cluster.LogPolicy{SegmentBytes: 1 << 20}, Logger: slog.New(slog.DiscardHandler),
		Fatal: func(code cluster.ExitCode, err error) { panic(fmt.Sprint(code, err)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); n.Ready() != nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(n.Ready())
		}
	}
	for _, cmd := range []queue.Command{
		&queue.CreateQueue{Queue: "orders"},
		&queue.SendMessages{Queue: "orders", Entries: []queue.SendEntry{{Body: "secret"}}},
	} {
		if _, err := n.Submit(t.Context(), cmd); err != nil {
			t.Fatal(err)
		}
	}
	taken, err := n.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	backup = filepath.Join(t.TempDir(), "b.backup")
	file, err := os.Create(backup)
	if err != nil {
		t.Fatal(err)
	}
	if err := taken.Stream(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	status = n.Status()
	beside(dir)
	if err := n.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	return dir, backup, status
}

func TestCommands(t *testing.T) {
	dir, backup, status := aNode(t, func(dir string) {
		if code, _, words := run(t, "", "log", "print", "--data-dir", dir); code != exit.Conflict ||
			!strings.Contains(words, "stop the node") {
			t.Errorf("beside the running node: %d %s", code, words)
		}
	})
	damaged := filepath.Join(t.TempDir(), "damaged.backup")
	content, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(damaged, content, 0o600); err != nil {
		t.Fatal(err)
	}
	index := fmt.Sprint(status.AppliedIndex)
	cases := []struct {
		name string
		args []string
		code exit.Code
		want []string // in what is printed
	}{
		{"verify", []string{"backup", "verify", backup}, exit.OK,
			[]string{status.StateHash + " (verified)", "Messages           1", "orders"}},
		{"verify damage", []string{"backup", "verify", damaged}, exit.Failed, []string{"damaged data"}},
		{"verify nothing", []string{"backup", "verify", damaged + "x"}, exit.NotFound, nil},
		{"inspect a backup", []string{"snapshot", "inspect", backup, "-o", "json"}, exit.OK,
			[]string{`"stateHash": "` + status.StateHash + `"`}},
		{"inspect without a snapshot", []string{"snapshot", "inspect", "--data-dir", dir}, exit.NotFound, []string{"no snapshot yet"}},
		{"inspect a snapshot of no id", []string{"snapshot", "inspect", "--data-dir", dir, "2-17-1795000000000"}, exit.NotFound,
			[]string{"no snapshot 2-17-1795000000000", "snapshot list"}},
		{"inspect something else", []string{"snapshot", "inspect", "--data-dir", dir, "../.."}, exit.NotFound,
			[]string{"no snapshot ../.."}},
		{"list no snapshot", []string{"snapshot", "list", "--data-dir", dir, "-o", "json"}, exit.OK, []string{"[]"}},
		{"print", []string{"log", "print", "--data-dir", dir}, exit.OK,
			[]string{"CreateQueue (", "SendMessages (", "configuration", status.NodeID}},
		{"print some", []string{"log", "print", "--data-dir", dir, "--from", index, "--to", index, "-o", "json"}, exit.OK,
			[]string{`"index":` + index + `,`, `"SendMessages"`}},
		{"print from behind the end", []string{"log", "print", "--data-dir", dir, "--from", "5", "--to", "3"}, exit.Usage,
			[]string{"--from 5", "--to 3"}},
		{"print backwards of nothing", []string{"log", "print", "--from", "2", "--to", "1", "-o", "json"}, exit.Usage,
			[]string{"--from 2", "--to 1"}},
		{"hash", []string{"state", "hash", "--data-dir", dir, "--index", index}, exit.OK, []string{status.StateHash}},
		{"hash of all", []string{"state", "hash", "--data-dir", dir}, exit.OK, []string{status.StateHash, "may not be committed"}},
		{"hash of too much", []string{"state", "hash", "--data-dir", dir, "--index", "999999"}, exit.Failed, []string{"the log ends"}},
		{"no directory", []string{"state", "hash"}, exit.Usage, []string{"--data-dir"}},
		{"not a directory of a node", []string{"state", "hash", "--data-dir", t.TempDir()}, exit.NotFound,
			[]string{"not the data directory"}},
		{"unknown format", []string{"state", "hash", "--data-dir", dir, "-o", "xml"}, exit.Usage, nil},
		{"unknown command", []string{"log", "burn"}, exit.Usage, nil},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			code, out, words := run(t, "", test.args...)
			if code != test.code {
				t.Errorf("exit code %d\n%s%s", code, out, words)
			}
			for _, want := range test.want {
				if !strings.Contains(out+words, want) {
					t.Errorf("%q is missing in\n%s%s", want, out, words)
				}
			}
			if strings.Contains(out, "secret") {
				t.Error("it prints what is in a message")
			}
		})
	}
}

func TestForceRecoverNeedsConfirmation(t *testing.T) {
	dir, _, status := aNode(t, func(string) {})
	recovering := func(args ...string) []string {
		return append([]string{"cluster", "force-recover", "--data-dir", dir}, args...)
	}
	refusals := []struct {
		name, stdin string
		args        []string
		want        string
	}{
		{"whom to keep is missing", "", recovering("--yes"), "must be given"},
		{"twice whom to keep", "", recovering("--keep-this-node-only", "--logs", status.NodeID), "exclude each other"},
		{"no log", "", recovering("--logs", status.NodeID), "refused"},
		{"a stranger", "", recovering("--logs", "n9-00000000="+status.ClusterID+":1/1"), "refused"},
		{"without --yes", "", recovering("--keep-this-node-only"), "nothing was changed"},
		{"nothing typed", "", recovering("--keep-this-node-only", "--yes"), "nothing was changed"},
		{"the wrong id typed", "n1\n", recovering("--keep-this-node-only", "--yes"), "nothing was changed"},
		{"the wrong id given", "", recovering("--keep-this-node-only", "--yes", "--node-id", "n1"), "nothing was changed"},
	}
	for _, test := range refusals {
		t.Run(test.name, func(t *testing.T) {
			code, out, words := run(t, test.stdin, test.args...)
			if code != exit.Usage || !strings.Contains(words, test.want) {
				t.Errorf("exit code %d\n%s%s", code, out, words)
			}
		})
	}
	if code, out, _ := run(t, "", "state", "hash", "--data-dir", dir); code != exit.OK || !strings.Contains(out, status.StateHash) {
		t.Fatalf("something was changed: %d %s", code, out)
	}

	code, out, words := run(t, status.NodeID+"\n", recovering("--keep-this-node-only", "--yes", "-o", "json")...)
	var plan offline.RecoveryPlan
	if err := json.Unmarshal([]byte(out), &plan); err != nil || code != exit.OK || !strings.Contains(words, plan.NewClusterID) {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, words)
	}
	code, out, words = run(t, "", "snapshot", "inspect", "--data-dir", dir)
	for _, want := range []string{plan.NewClusterID, "Epoch              1", "orders"} {
		if code != exit.OK || !strings.Contains(out, want) {
			t.Errorf("exit code %d, %q is missing in\n%s%s", code, want, out, words)
		}
	}
	// The recovery wrote a snapshot, so the log no longer has these entries.
	code, out, words = run(t, "", "snapshot", "list", "--data-dir", dir, "-o", "json")
	var list []offline.StoredSnapshot
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != exit.OK || len(list) == 0 || list[0].Index < 2 {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, words)
	}
	newest := fmt.Sprint(list[0].Index)
	code, out, words = run(t, "", "state", "hash", "--data-dir", dir, "--index", "1")
	for _, want := range []string{"entry 1 is below the newest snapshot", "at index " + newest, "--index " + newest} {
		if code != exit.Failed || !strings.Contains(words, want) {
			t.Errorf("hash below the snapshot: exit code %d, %q is missing in\n%s%s", code, want, out, words)
		}
	}
	if code, out, words := run(t, "", "state", "hash", "--data-dir", dir, "--index", newest); code != exit.OK {
		t.Errorf("hash at the snapshot: exit code %d\n%s%s", code, out, words)
	}
}

// Each remaining node prints the end of its log. With the same words in any order, the command
// prints the same plan on each node.
func TestForceRecoverOfSeveral(t *testing.T) {
	dirs, _ := twoNodes(t)
	var logs []string
	for _, dir := range dirs {
		code, out, words := run(t, "", "cluster", "force-recover", "--data-dir", dir, "-o", "json")
		var end struct{ Log string }
		if err := json.Unmarshal([]byte(out), &end); err != nil || code != exit.OK || end.Log == "" ||
			!strings.Contains(words, "Nothing was changed") {
			t.Fatalf("exit code %d, %v\n%s%s", code, err, out, words)
		}
		logs = append(logs, end.Log)
	}
	var plans []offline.RecoveryPlan
	for i, dir := range dirs {
		recovering := []string{"cluster", "force-recover", "--data-dir", dir}
		if code, _, words := run(t, "", append(recovering, "--keep-this-node-only")...); code != exit.Usage ||
			!strings.Contains(words, "If another node is left") {
			t.Errorf("alone: exit code %d\n%s", code, words)
		}
		slices.Reverse(logs)
		code, out, words := run(t, "", append(recovering, "--logs", strings.Join(logs, ","), "-o", "json")...)
		var plan offline.RecoveryPlan
		if err := json.Unmarshal([]byte(out), &plan); err != nil || code != exit.Usage ||
			!strings.Contains(words, "repeat the command with --yes") {
			t.Fatalf("exit code %d, %v\n%s%s", code, err, out, words)
		}
		plans = append(plans, plan)
		if plans[i].NewClusterID != plans[0].NewClusterID || len(plan.Keep)+len(plan.Join) != 2 || len(plan.Drop) != 0 {
			t.Errorf("%+v", plans)
		}
	}
}

// The text for one missing entry differs from the text for several.
func TestCutText(t *testing.T) {
	for ended, want := range map[uint64]string{8: "entry 8, which was in this node's log",
		10: "entries 8 to 10, which were in this node's log"} {
		if got := cutText(offline.RecoveryPlan{LastIndex: 7, EndedAt: ended}); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// twoNodes makes the data directories of a cluster of two nodes.
func twoNodes(t *testing.T) (dirs, ids []string) {
	t.Helper()
	var gossip []string
	for range 2 {
		port, err := freeport.Take(1)
		if err != nil {
			t.Fatal(err)
		}
		gossip = append(gossip, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	var nodes []*cluster.Node
	for i, address := range gossip {
		name := "n" + strconv.Itoa(i+1)
		dirs = append(dirs, filepath.Join(t.TempDir(), name))
		n, err := cluster.Open(t.Context(), cluster.Config{
			NodeName: name, DataDir: dirs[i], PeerAddr: "127.0.0.1:0", GossipAddr: address, BootstrapExpect: 2, Join: gossip,
			Log: cluster.LogPolicy{SegmentBytes: 1 << 20}, Logger: slog.New(slog.DiscardHandler),
			Fatal: func(code cluster.ExitCode, err error) { panic(fmt.Sprint(code, err)) },
		})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		for deadline := time.Now().Add(time.Minute); n.Ready() != nil; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(n.Ready())
			}
		}
		ids = append(ids, n.Status().NodeID)
	}
	for _, n := range nodes {
		if err := n.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	return dirs, ids
}
