package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// redriveNode answers the requests of a redrive. The n-th list of tasks is the n-th of lists, then
// always the last.
func redriveNode(t *testing.T, lists []string, listed func(n int), cancelled *atomic.Int32) string {
	t.Helper()
	var asked atomic.Int32
	address, _ := node(t, func(w http.ResponseWriter, r *http.Request) {
		text := ""
		switch action := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS."); action {
		case "GetQueueAttributes":
			text = `{"Attributes":{"QueueArn":"arn:aws:sqs:r:0:d"}}`
		case "StartMessageMoveTask":
			text = `{"TaskHandle":"mine"}`
		case "ListMessageMoveTasks":
			n := int(asked.Add(1))
			text = `{"Results":[` + lists[min(n, len(lists))-1] + `]}`
			defer listed(n)
		case "CancelMessageMoveTask":
			cancelled.Add(1)
			text = `{"ApproximateNumberOfMessagesMoved":3}`
		default:
			t.Errorf("unexpected %s", action)
		}
		_, _ = io.WriteString(w, text) // the client may have left
	})
	return address
}

func listedTask(handle, status string, moved, started int) string {
	return fmt.Sprintf(`{"TaskHandle":%q,"Status":%q,"SourceArn":"a:d","ApproximateNumberOfMessagesMoved":%d,"ApproximateNumberOfMessagesToMove":5,"StartedTimestamp":%d,"FailureReason":%q}`,
		handle, status, moved, started, map[bool]string{true: "gone"}[status == "FAILED"])
}

func TestRedrive(t *testing.T) {
	const queueURL = "http://h/0/d"
	older := listedTask("", "COMPLETED", 9, 1)
	cases := []struct {
		name  string
		lists []string
		code  exit.Code
		text  string
	}{
		{"over at once", []string{listedTask("", "COMPLETED", 5, 7) + "," + older}, exit.OK, "COMPLETED  5"},
		{"over later, after another was started", []string{
			listedTask("mine", "RUNNING", 2, 7) + "," + older,
			listedTask("other", "RUNNING", 1, 8) + "," + listedTask("", "COMPLETED", 5, 7) + "," + older,
		}, exit.OK, "COMPLETED  5"},
		{"another was started before the first look",
			[]string{listedTask("other", "RUNNING", 1, 8) + "," + listedTask("", "COMPLETED", 5, 7)}, exit.OK, "COMPLETED  5"},
		{"failed", []string{listedTask("", "FAILED", 2, 7)}, exit.Failed, "failed after 2 messages: gone"},
		{"cancelled by another client", []string{listedTask("mine", "RUNNING", 2, 7), listedTask("", "CANCELLED", 2, 7)}, exit.Failed,
			"another client cancelled the redrive after 2"},
		{"forgotten", []string{listedTask("mine", "RUNNING", 2, 7), listedTask("other", "RUNNING", 2, 9)}, exit.Failed,
			"not listed any more"},
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
			if test.code == exit.OK && !strings.Contains(got.words, `"toMove":5`) {
				t.Errorf("no progress: %s", got.words)
			}
		})
	}
}

func TestRedriveInterrupted(t *testing.T) {
	var cancelled atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	address := redriveNode(t, []string{listedTask("mine", "RUNNING", 2, 7)}, func(n int) {
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

func TestRedriveProgressOnATerminal(t *testing.T) {
	var words bytes.Buffer
	p := &progress{words: &words, form: progressAuto}
	p.moved(2, 5)
	p.moved(5, 5)
	p.over()
	if got := words.String(); got != "\r2 of 5 messages moved \r5 of 5 messages moved \n" {
		t.Errorf("%q", got)
	}
}
