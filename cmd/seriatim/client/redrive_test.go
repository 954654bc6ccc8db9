package client

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// redriveNode answers the calls of a redrive. The n-th list of tasks is the n-th of lists, then
// always the last.
func redriveNode(t *testing.T, lists [][]*seriatimpb.MoveTask, listed func(n int), cancelled *atomic.Int32) string {
	t.Helper()
	var asked atomic.Int32
	address, _ := node(t, speaks(func(method string, _ proto.Message) (proto.Message, error) {
		switch method {
		case "GetQueueAttributes":
			return counted("0", "0", "0"), nil
		case "StartMoveTask":
			return &seriatimpb.StartMoveTaskResponse{TaskId: "mine"}, nil
		case "ListMoveTasks":
			n := int(asked.Add(1))
			defer listed(n)
			return &seriatimpb.ListMoveTasksResponse{Tasks: lists[min(n, len(lists))-1]}, nil
		case "CancelMoveTask":
			cancelled.Add(1)
			return &seriatimpb.CancelMoveTaskResponse{Moved: 3}, nil
		}
		t.Errorf("unexpected %s", method)
		return nil, context.Canceled
	}))
	return address
}

func listedTask(id, status string, moved int64) *seriatimpb.MoveTask {
	return &seriatimpb.MoveTask{
		TaskId: id, Status: seriatimpb.MoveTaskStatus(seriatimpb.MoveTaskStatus_value["MOVE_TASK_STATUS_"+status]), Source: "d",
		Moved: moved, ToMove: 5, FailureReason: map[bool]string{true: "gone"}[status == "FAILED"],
	}
}

func TestRedrive(t *testing.T) {
	const queueURL = "http://h/0/d"
	older := listedTask("older", "COMPLETED", 9)
	running, completed := listedTask("mine", "RUNNING", 2), listedTask("mine", "COMPLETED", 5)
	type tasks = []*seriatimpb.MoveTask
	cases := []struct {
		name  string
		lists []tasks
		code  exit.Code
		text  string
	}{
		{"over at once", []tasks{{completed, older}}, exit.OK, "COMPLETED  5"},
		{"over later, after another was started", []tasks{{running, older}, {listedTask("other", "RUNNING", 1), completed, older}},
			exit.OK, "COMPLETED  5"},
		{"another was started before the first look", []tasks{{listedTask("other", "RUNNING", 1), completed}}, exit.OK, "COMPLETED  5"},
		{"failed", []tasks{{listedTask("mine", "FAILED", 2)}}, exit.Failed, "failed after 2 messages: gone"},
		{"cancelled by another client", []tasks{{running}, {listedTask("mine", "CANCELLED", 2)}}, exit.Failed,
			"another client cancelled the redrive after 2"},
		{"forgotten", []tasks{{running}, {listedTask("other", "RUNNING", 2)}}, exit.Failed, "not listed any more"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			var cancelled atomic.Int32
			address := redriveNode(t, test.lists, func(int) {}, &cancelled)
			got := runTool(t, address, "", "dlq", "redrive", queueURL, "--yes", "--progress", "json")
			text := got.out
			if got.err != nil {
				text += got.err.Error()
			}
			if exit.CodeOf(got.err) != test.code || !strings.Contains(text, test.text) || cancelled.Load() != 0 {
				t.Errorf("code %d, want %d and %q in\n%s", exit.CodeOf(got.err), test.code, test.text, text)
			}
			if test.code == exit.OK && !strings.Contains(got.words, `"total":5`) {
				t.Errorf("no progress: %s", got.words)
			}
		})
	}
}

func TestRedriveInterrupted(t *testing.T) {
	var cancelled atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	address := redriveNode(t, [][]*seriatimpb.MoveTask{{listedTask("mine", "RUNNING", 2)}}, func(n int) {
		if n == 2 {
			cancel()
		}
	}, &cancelled)
	got := runToolIn(ctx, address, "", "dlq", "redrive", "http://h/0/d", "--yes")
	if exit.CodeOf(got.err) != exit.Interrupted || !strings.Contains(got.err.Error(), "was cancelled, 3 messages were moved") ||
		cancelled.Load() != 1 {
		t.Errorf("%v, cancelled %d times", got.err, cancelled.Load())
	}
}
