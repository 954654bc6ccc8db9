package client

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/cmd/seriatim/bench"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// A count of one has the singular.
func TestOneOfThem(t *testing.T) {
	const u = "http://h/000000000000/q"
	counts := counted("1", "0", "1")
	started := &seriatimpb.StartMoveTaskResponse{TaskId: "h"}
	listed := func(status seriatimpb.MoveTaskStatus) proto.Message {
		return &seriatimpb.ListMoveTasksResponse{Tasks: []*seriatimpb.MoveTask{{TaskId: "h", Status: status, Moved: 1, StartedAtMs: 1}}}
	}
	for _, c := range []struct {
		args    string
		answers map[string]any
		want    string
	}{
		{"msg delete " + u + " a", map[string]any{"Delete": &seriatimpb.DeleteResponse{Outcomes: outcomes("ReceiptHandleIsInvalid")}},
			"1 of 1 message was not deleted"},
		{"msg delete " + u + " a b", map[string]any{"Delete": &seriatimpb.DeleteResponse{Outcomes: outcomes("ReceiptHandleIsInvalid", "")}},
			"1 of 2 messages was not deleted"},
		{"queue purge " + u, map[string]any{"GetQueueAttributes": counts},
			"q has 1 visible, 0 in flight, 0 deferred and 1 delayed message.\n"},
		{
			"dlq redrive --yes " + u,
			map[string]any{"GetQueueAttributes": counts, "StartMoveTask": started,
				"ListMoveTasks": listed(seriatimpb.MoveTaskStatus_MOVE_TASK_STATUS_CANCELLED)},
			"another client cancelled the redrive after 1 message\n",
		},
		{
			"dlq redrive --yes " + u,
			map[string]any{"GetQueueAttributes": counts, "StartMoveTask": started,
				"ListMoveTasks": listed(seriatimpb.MoveTaskStatus_MOVE_TASK_STATUS_FAILED)},
			"failed after 1 message: ",
		},
		{
			"dlq cancel " + u,
			map[string]any{
				"GetQueueAttributes": counts, "ListMoveTasks": listed(seriatimpb.MoveTaskStatus_MOVE_TASK_STATUS_RUNNING),
				"CancelMoveTask": &seriatimpb.CancelMoveTaskResponse{Moved: 1},
			},
			"cancelled; 1 message was moved and stays where it is\n",
		},
		{
			"policy list", map[string]any{"GET /v1/access/policies": `{"policies":[{"account":"000000000000","user":"u","policy":"x"}]}`},
			" 1 byte\n",
		},
	} {
		endpoint, _ := fakeServer(t, c.answers)
		r := runTool(t, endpoint, "", strings.Fields(c.args)...)
		said := r.out + r.words
		if r.err != nil {
			said += r.err.Error() + "\n"
		}
		if !strings.Contains(said, c.want) {
			t.Errorf("%s: no %q in\n%s", c.args, c.want, said)
		}
	}
}

func TestBenchOfOne(t *testing.T) {
	var out strings.Builder
	b := &bench.Report{Clients: 1, Groups: 1, BodyBytes: 1, Server: bench.Server{Nodes: 1}, Generator: bench.Generator{CPUs: 1}}
	if err := printBench(&printer{out: &out, words: &out, format: output.Format{}}, b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{", 1 client, ", ", 1 group\n", ", 1 node, ", ", 1 CPU, "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
