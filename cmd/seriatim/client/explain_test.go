package client

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	if n := len(allExplained()); n < 60 {
		t.Errorf("only %d codes", n)
	}
	for _, tc := range []struct{ args, want string }{
		{"explain InvalidParameterValue", "The message names the parameter"},
		{"explain AWS.SimpleQueueService.OverLimit", "OverLimit"},
		{"explain 130", "interrupted"},
		{"explain 3 -o json", `"meaning": "a queue`},
	} {
		if r := runTool(t, "http://127.0.0.1:1", "", strings.Fields(tc.args)...); r.err != nil || !strings.Contains(r.out, tc.want) {
			t.Errorf("%s: %v\n%s", tc.args, r.err, r.out)
		}
	}
	r := runTool(t, "http://127.0.0.1:1", "", "explain", "AcessDenied")
	if exit.CodeOf(r.err) != exit.NotFound || !strings.Contains(exit.HintOf(r.err), "AccessDenied") {
		t.Errorf("%v, %s", r.err, exit.HintOf(r.err))
	}
}
