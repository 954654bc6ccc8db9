package client

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// The tool does not take the URL of an HTTP subscriber for the URL of a queue.
func TestSubscribedURLs(t *testing.T) {
	for _, c := range []struct{ url, hint string }{
		{"https://example.org/hook", "--protocol https"},
		{"HTTPS://example.org/hook", "--protocol https"},
		{"http://example.org/hook", "--protocol http"},
		{"https://example.org/", "--protocol https"},
		{"https://example.org", "--protocol https"},
		{"https://example.org/12345/hook", "--protocol https"},
		{"https://example.org/000000000000/", "--protocol https"},
		{"https://example.org/000000000000/a/b", "--protocol https"},
		{"https://example.org/000000000000/hook?key=1", "--protocol https"},
		{"https://example.org/%zz", "--protocol https"},
	} {
		endpoint, calls := fakeServer(t, nil)
		for _, flags := range [][]string{nil, {"--protocol", "sqs"}} {
			r := runTool(t, endpoint, "", append([]string{"topic", "subscribe", "news", c.url}, flags...)...)
			if exit.CodeOf(r.err) != exit.Usage || !strings.Contains(r.err.Error(), c.url) ||
				!strings.Contains(exit.HintOf(r.err)+" ", c.hint+" ") {
				t.Errorf("%s %v: exit code %d: %v, hint %q", c.url, flags, exit.CodeOf(r.err), r.err, exit.HintOf(r.err))
			}
		}
		if n := len(calls()); n > 0 {
			t.Errorf("%s: the server was asked %d times", c.url, n)
		}
	}
	for _, queue := range []string{"hook", "hook.fifo", "arn:aws:sqs:us-east-1:000000000000:hook", "http://h:9324/000000000000/hook",
		"https://h/000000000000/hook.fifo"} {
		if r := runTool(t, "http://127.0.0.1:1", "", "topic", "subscribe", "news", queue); exit.CodeOf(r.err) != exit.Unavailable {
			t.Errorf("%s: exit code %d: %v", queue, exit.CodeOf(r.err), r.err)
		}
	}
}
