package client

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// For a missing queue, peek returns the same code and hint as receive.
func TestPeekAtNoQueue(t *testing.T) {
	address, _ := node(t, says(404, `{"error":"The specified queue does not exist."}`))
	r := runTool(t, address, "", "msg", "peek", "nowhere")
	const want = "QueueDoesNotExist: The specified queue does not exist."
	if exit.CodeOf(r.err) != exit.NotFound || r.err.Error() != want || exit.HintOf(r.err) != native.QueuesHint {
		t.Errorf("exit code %d: %v, hint %q", exit.CodeOf(r.err), r.err, exit.HintOf(r.err))
	}
	for status, body := range map[int]string{404: "404 page not found", 400: `{"error":"limit must be a number"}`,
		503: `{"error":"no leader"}`} {
		address, _ := node(t, says(status, body))
		if r := runTool(t, address, "", "msg", "peek", "jobs"); exit.CodeOf(r.err) == exit.NotFound ||
			strings.Contains(r.err.Error(), "QueueDoesNotExist") {
			t.Errorf("%s: exit code %d: %v", body, exit.CodeOf(r.err), r.err)
		}
	}
}
