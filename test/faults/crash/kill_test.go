package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/disk"
)

// shortKills limits the test in `make test`. A thread of a node rarely makes more than longKills
// syncs before the node is killed.
const (
	shortKills = 3
	longKills  = 60
)

// TestNodeSurvivesAKillAtEverySync is the simple form: a node is killed when one of its threads
// begins its n-th sync, for every n, and restarted with its files. It must have everything that it
// had acknowledged.
func TestNodeSurvivesAKillAtEverySync(t *testing.T) {
	if err := disk.CanInject(); err != nil {
		t.Skipf("this machine cannot kill at a sync: %v", err)
	}
	dir := t.TempDir()
	binary, err := harness.Build(t.Context(), dir)
	must(t, err)
	c := harness.New(t, harness.Options{Binary: binary, Dir: dir, Nodes: 1, Args: nodeSettings()})
	node := c.Nodes[0]
	kills := shortKills
	if *long {
		kills = longKills
	}
	acked := 0
	send := func() error {
		payload, err := json.Marshal(map[string]any{
			"QueueUrl": "http://" + node.Client + "/000000000000/" + queueName, "MessageBody": numbered(acked),
			"MessageGroupId": "g", "MessageDeduplicationId": fmt.Sprint(acked),
		})
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err = post(ctx, node, "SendMessage", payload)
		return err
	}
	if _, err := post(t.Context(), node, "CreateQueue",
		[]byte(`{"QueueName":"`+queueName+`","Attributes":{"FifoQueue":"true"}}`)); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= kills; n++ {
		trouble, err := disk.Inject(node.Pid(), disk.Injection{Calls: disk.Syncs, Signal: "KILL", From: n})
		must(t, err)
		// Repeat the last send: it is a duplicate or new.
		for send() == nil {
			acked++
		}
		if code, err := node.WaitExit(waitMax); err != nil || code != -9 {
			t.Fatalf("it ended with %d: %v\n%s", code, err, node.LogTail())
		}
		must(t, trouble.Stop())
		must(t, node.Start())
		if err := node.WaitReady(t.Context(), waitMax); err != nil {
			t.Fatalf("after a kill at sync %d: %v\n%s", n, err, node.LogTail())
		}
	}
	t.Logf("%d kills, %d sends acknowledged", kills, acked)
	expectInOrder(t, node, acked)
}

// numbered returns a body that is long enough for a segment.
func numbered(n int) string { return fmt.Sprint(n) + strings.Repeat(" ", 500) + fmt.Sprint(n) }

// expectInOrder drains the queue: the messages must be numbered from 0 without a gap. One
// unacknowledged message may follow.
func expectInOrder(t *testing.T, node *harness.Node, acked int) {
	t.Helper()
	found := 0
	for {
		out, err := post(t.Context(), node, "ReceiveMessage",
			[]byte(`{"QueueUrl":"http://`+node.Client+`/000000000000/`+queueName+`","MaxNumberOfMessages":10}`))
		must(t, err)
		messages, _ := out["Messages"].([]any)
		if len(messages) == 0 {
			break
		}
		for _, m := range messages {
			message := m.(map[string]any)
			if body := message["Body"].(string); body != numbered(found) {
				t.Fatalf("message %.20s came where %d was expected", body, found)
			}
			found++
			handle := message["ReceiptHandle"].(string)
			if _, err := post(t.Context(), node, "DeleteMessage",
				[]byte(`{"QueueUrl":"http://`+node.Client+`/000000000000/`+queueName+`","ReceiptHandle":"`+handle+`"}`)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if found < acked || found > acked+1 {
		t.Errorf("%d sends were acknowledged, %d messages are there", acked, found)
	}
}
