package upgrade

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/kit/harness"
)

// TestBodiesMoveIntoSegmentsAndBack starts a directory with bodies in segments with bodies in
// memory, and the reverse, each time from a snapshot of the other kind.
func TestBodiesMoveIntoSegmentsAndBack(t *testing.T) {
	for version := uint32(1); version <= format.CurrentVersion; version++ {
		t.Run(fmt.Sprint("v", version), func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			harness.Must(t, os.CopyFS(data, os.DirFS(filepath.Join(versionDir(version), "data"))))
			var before recorded
			for step, bodies := range []string{cluster.BodiesInSegments, cluster.BodiesInMemory, cluster.BodiesInSegments} {
				node := openWith(t, data, 8<<10, bodies)
				if now := look(t, node); step > 0 && (now.StateHash != before.StateHash || !cmp.Equal(now.Queues, before.Queues)) {
					t.Errorf("with bodies in %s the state is %+v, it was %+v", bodies, now, before)
				}
				submit[queue.MessagesSent](t, node, &queue.SendMessages{Queue: "plain", Entries: []queue.SendEntry{{Body: stepBody(step)}}})
				sent := node.Status().AppliedIndex
				for node.Status().LastSnapshotIndex < sent {
					submit[queue.MessagesSent](t, node,
						&queue.SendMessages{Queue: "plain", Entries: []queue.SendEntry{{Body: strings.Repeat("x", 1024)}}})
				}
				before = look(t, node)
				closeNode(t, node)
				if files, err := filepath.Glob(filepath.Join(data, "group-0", "bodies", "*")); err != nil || len(files) == 0 {
					t.Errorf("there are no segments after step %d (%v): nothing was tested", step, err)
				}
			}
			node := open(t, data, never)
			defer closeNode(t, node)
			if missing := missingBodies(t, node); len(missing) > 0 {
				t.Errorf("these bodies are missing: %q", missing)
			}
		})
	}
}

// stepBody is the body of the message that is sent in a step.
func stepBody(step int) string { return fmt.Sprint("step ", step, strings.Repeat(" ", 1024)) }

// missingBodies returns the bodies that the queue "plain" lacks.
func missingBodies(t *testing.T, node *cluster.Node) []string {
	t.Helper()
	missing := map[string]bool{"now": true, strings.Repeat("x", 1024): true, stepBody(0): true, stepBody(1): true, stepBody(2): true}
	for {
		got := submit[queue.MessagesReceived](t, node,
			&queue.ReceiveMessages{Queue: "plain", MaxMessages: queue.Some(10), VisibilityTimeout: queue.Some(43_200)}).Messages
		if len(got) == 0 {
			break
		}
		for i := range got {
			delete(missing, got[i].Body.String())
		}
	}
	list := make([]string, 0, len(missing))
	for body := range missing {
		list = append(list, body)
	}
	return list
}
