package upgrade

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/kit/harness"
)

var update = flag.Bool("update", false, "make the data directory of the present format version anew")

// waitMax bounds every wait on a slow, shared machine.
const waitMax = time.Minute

// stillClock does not move, so that no deadline of the recorded state passes while it is open.
type stillClock struct{}

// never is more log than any of these nodes writes, so that it takes no snapshot.
const never = 1 << 30

const recordedAt = 1_790_000_000_000 // milliseconds since 1970

func (stillClock) Wall() time.Time          { return time.UnixMilli(recordedAt) }
func (stillClock) Monotonic() time.Duration { return 0 }

// recorded is the expected state of a data directory.
type recorded struct {
	FormatVersion uint32           `json:"formatVersion"`
	AppliedIndex  uint64           `json:"appliedIndex"`
	SnapshotIndex uint64           `json:"snapshotIndex"`
	LogTimeMs     int64            `json:"logTimeMs"`
	StateHash     string           `json:"stateHash"`
	Queues        map[string][]int `json:"queues"` // visible, in flight, delayed
	// Duplicate is the answer to the first send of id "1" to orders.fifo.
	DuplicateID       string          `json:"duplicateId"`
	DuplicateSequence string          `json:"duplicateSequence"`
	Handle            string          `json:"handle"` // of the message in flight in orders.fifo
	Access            *recordedAccess `json:"access,omitempty"`
}

// open starts a node that takes a snapshot after so much log.
func open(t *testing.T, dir string, snapshotAfter int64) *cluster.Node {
	t.Helper()
	return openWith(t, dir, snapshotAfter, cluster.BodiesInSegments)
}

// openWith is open with a certain body store.
func openWith(t *testing.T, dir string, snapshotAfter int64, bodies string) *cluster.Node {
	t.Helper()
	node, err := cluster.Open(t.Context(), cluster.Config{
		NodeName: "golden", DataDir: dir, PeerAddr: "127.0.0.1:0", GossipAddr: "127.0.0.1:0", BootstrapExpect: 1,
		Log:      cluster.LogPolicy{SegmentBytes: 64 << 10, Bodies: cluster.BodyPolicy{Store: bodies}},
		Snapshot: cluster.SnapshotPolicy{LogBytes: snapshotAfter, TrailingBytes: 1},
		Clock:    stillClock{},
		Logger:   slog.New(slog.DiscardHandler),
		Fatal:    func(code cluster.ExitCode, err error) { panic(fmt.Sprint(code, err)) },
	})
	harness.Must(t, err)
	var notReady error
	defer func() {
		if notReady != nil {
			t.Log(notReady, node.Status())
		}
	}()
	waitFor(t, "the node to be ready", func() bool {
		notReady = node.Ready()
		return notReady == nil
	})
	return node
}

func closeNode(t *testing.T, node *cluster.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), waitMax)
	defer cancel()
	harness.Check(t, node.Close(ctx))
}

func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(waitMax)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s took too long", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func submit[R queue.Result](t *testing.T, node *cluster.Node, cmd queue.Command) R {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitMax)
	defer cancel()
	reply, err := node.Submit(ctx, cmd)
	if err != nil {
		t.Fatalf("%T: %v", cmd, err)
	}
	return reply.Result.(R)
}

func ordered(group, id, body string) queue.SendEntry {
	return queue.SendEntry{
		Body: body, GroupID: group, GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: true,
		Attributes: []queue.MessageAttribute{{Name: "color", DataType: "String", Value: "red"}},
	}
}

// look describes the state of a node.
func look(t *testing.T, node *cluster.Node) (r recorded) {
	t.Helper()
	status := node.Status()
	r.AppliedIndex, r.SnapshotIndex = status.AppliedIndex, status.LastSnapshotIndex
	r.LogTimeMs, r.StateHash = status.LogTimeMs, status.StateHash
	r.FormatVersion = node.Upgrade().FormatVersion
	r.Queues = map[string][]int{}
	node.ReadLocal(func(v queue.View) {
		r.Access = lookAtAccess(t, node, v)
		for _, name := range v.ListQueues("", "", 100) {
			stats, err := v.Stats(name)
			harness.Check(t, err)
			r.Queues[name] = []int{int(stats.Visible), int(stats.NotVisible), int(stats.Delayed)}
		}
	})
	return r
}

// fill makes a state with every kind of record, a snapshot, and log entries after it.
func fill(t *testing.T, node *cluster.Node) (r recorded) {
	t.Helper()
	fifo := queue.Attribute{Name: "FifoQueue", Value: "true"}
	submit[queue.QueueCreated](t, node, &queue.CreateQueue{Queue: "dead.fifo", Attributes: []queue.Attribute{fifo}})
	submit[queue.QueueCreated](t, node, &queue.CreateQueue{
		Queue: "orders.fifo", Tags: []queue.Tag{{Key: "team", Value: "red"}},
		Attributes: []queue.Attribute{fifo,
			{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":3}`}},
	})
	submit[queue.QueueCreated](t, node, &queue.CreateQueue{Queue: "plain"})
	submit[queue.QueueCreated](t, node, &queue.CreateQueue{Queue: "gone"})
	submit[queue.Done](t, node, &queue.DeleteQueue{Queue: "gone"})
	sent := submit[queue.MessagesSent](t, node,
		&queue.SendMessages{Queue: "orders.fifo", SenderID: "AIDAEXAMPLE", Entries: []queue.SendEntry{
			ordered("a", "1", "first"), ordered("a", "2", "second"), ordered("b", "3", "third"),
		}})
	r.DuplicateID, r.DuplicateSequence = sent.Entries[0].MessageID.String(), sent.Entries[0].Sequence.String()
	submit[queue.MessagesSent](t, node, &queue.SendMessages{Queue: "plain", Entries: []queue.SendEntry{
		{Body: "now"}, {Body: "later", DelaySeconds: queue.Some(900)},
	}})
	fillAccess(t, node)
	for node.Status().LastSnapshotIndex == 0 {
		submit[queue.MessagesSent](t, node,
			&queue.SendMessages{Queue: "plain", Entries: []queue.SendEntry{{Body: strings.Repeat("x", 1024)}}})
	}
	// The log after the snapshot.
	changeAccess(t, node)
	got := submit[queue.MessagesReceived](t, node, &queue.ReceiveMessages{
		Queue: "orders.fifo", VisibilityTimeout: queue.Some(43_200), AttemptID: "attempt", AttemptIDGiven: true,
	})
	r.Handle = got.Messages[0].Handle.String()
	submit[queue.TransactionCommitted](t, node, &queue.CommitTransaction{
		Sends: []queue.SendMessages{{
			Queue: "orders.fifo", Batch: true, Atomic: true, Entries: []queue.SendEntry{ordered("b", "4", "in the tail")},
		}},
	})
	return r
}

func versionDir(version uint32) string { return filepath.Join("testdata", fmt.Sprint("v", version)) }

// record makes the directory of the current format version.
func record(t *testing.T) {
	t.Helper()
	dir := versionDir(format.CurrentVersion)
	harness.Must(t, os.RemoveAll(dir))
	data := filepath.Join(t.TempDir(), "data")
	node := open(t, data, 8<<10)
	r := fill(t, node)
	closeNode(t, node)
	harness.Must(t, os.CopyFS(filepath.Join(dir, "data"), os.DirFS(data)))
	again := open(t, data, never)
	defer closeNode(t, again)
	state := look(t, again)
	state.DuplicateID, state.DuplicateSequence, state.Handle = r.DuplicateID, r.DuplicateSequence, r.Handle
	text, err := json.MarshalIndent(state, "", "  ")
	harness.Must(t, err)
	if err := os.WriteFile(filepath.Join(dir, "recorded.json"), append(text, '\n'), 0o644); err != nil { //nolint:gosec // a public text
		t.Fatal(err)
	}
}

// TestGoldenDataDirectories opens the data directory of every released version, and checks its
// state and that it continues to work.
func TestGoldenDataDirectories(t *testing.T) {
	if *update {
		record(t)
	}
	for version := uint32(1); version <= format.CurrentVersion; version++ {
		t.Run(fmt.Sprint("v", version), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(versionDir(version), "recorded.json"))
			harness.Must(t, err)
			var want recorded
			harness.Must(t, json.Unmarshal(text, &want))
			data := filepath.Join(t.TempDir(), "data")
			harness.Must(t, os.CopyFS(data, os.DirFS(filepath.Join(versionDir(version), "data"))))
			node := open(t, data, never)
			defer closeNode(t, node)
			got := look(t, node)
			got.DuplicateID, got.DuplicateSequence, got.Handle = want.DuplicateID, want.DuplicateSequence, want.Handle
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("the state is not the recorded one (-want +got):\n%s", diff)
			}
			goesOn(t, node, want)
			accessGoesOn(t, node, want.Access)
		})
	}
}

// goesOn checks that deduplication ids, attempt ids, receipt handles and order survive the upgrade.
func goesOn(t *testing.T, node *cluster.Node, want recorded) {
	t.Helper()
	again := submit[queue.MessagesSent](t, node,
		&queue.SendMessages{Queue: "orders.fifo", Entries: []queue.SendEntry{ordered("a", "1", "first")}}).Entries[0]
	if !again.Duplicate || again.MessageID.String() != want.DuplicateID || again.Sequence.String() != want.DuplicateSequence {
		t.Errorf("a duplicate was answered %+v, want message %s, sequence %s", again, want.DuplicateID, want.DuplicateSequence)
	}
	replayed := submit[queue.MessagesReceived](t, node,
		&queue.ReceiveMessages{Queue: "orders.fifo", VisibilityTimeout: queue.Some(43_200), AttemptID: "attempt", AttemptIDGiven: true})
	if len(replayed.Messages) != 1 || replayed.Messages[0].Handle.String() != want.Handle {
		t.Errorf("the attempt gave %+v, want handle %s", replayed, want.Handle)
	}
	submit[queue.EntriesDone](t, node, &queue.DeleteMessages{Queue: "orders.fifo", Handles: []string{want.Handle}})
	var bodies []string
	for range 3 {
		for _, m := range submit[queue.MessagesReceived](t, node,
			&queue.ReceiveMessages{Queue: "orders.fifo", MaxMessages: queue.Some(10)}).Messages {
			bodies = append(bodies, m.Body.String())
		}
	}
	if diff := cmp.Diff([]string{"second", "third", "in the tail"}, bodies); diff != "" {
		t.Errorf("the messages left (-want +got):\n%s", diff)
	}
}
