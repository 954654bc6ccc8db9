package console

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// newEmpty starts a console with a node of its own.
func newEmpty(t *testing.T) *fixture {
	t.Helper()
	node, err := openNode(filepath.Join(t.TempDir(), "n1"))
	clustertest.Must(t, err)
	t.Cleanup(func() { clustertest.Check(t, node.Close(t.Context())) })
	return newFixture(t, node, false)
}

var visible = regexp.MustCompile(`<dt>Visible</dt>\s*<dd>(\d+)</dd>`)

// visibleIn returns the number of visible messages that the page of a queue shows.
func (f *fixture) visibleIn(name string) string {
	f.t.Helper()
	found := visible.FindStringSubmatch(f.get("/queues/" + name).body)
	if found == nil {
		f.t.Fatalf("%s shows no count", name)
	}
	return found[1]
}

// Changes of all messages that match a filter change these, and no others.
func TestMatchingMessages(t *testing.T) {
	f := newEmpty(t)
	csrf := f.csrf("/queues")
	for _, name := range []string{"from.fifo", "to.fifo"} {
		f.post("/queues", csrf, "name", name)
	}
	const each = 150 // more than a page of the change
	for _, kind := range []string{"good", "bad"} {
		got := f.post("/queues/from.fifo/send", csrf, "body", kind+" $i", "group", "g-"+kind, "dedup", kind+"-$i", "count",
			fmt.Sprint(each), "attribute", "kind", "value", kind)
		if !strings.Contains(got.body, fmt.Sprint(each, " sent.")) {
			t.Fatal(got.body)
		}
	}
	change := func(want string, pairs ...string) {
		t.Helper()
		got := f.post("/queues/from.fifo/messages/matching", csrf, pairs...)
		if !strings.Contains(got.body, want) {
			t.Errorf("%q: the answer lacks %q", pairs, want)
		}
	}
	change("set a filter", "to", "to.fifo")
	change("must be a duration", "to", "to.fifo", "older", "soon")
	change("Nothing was changed", "do", "delete", "attribute", "kind", "value", "bad")
	change("0 deleted.", "do", "delete", "confirm", "from.fifo", "attribute", "kind", "value", "bad", "older", "1h")
	if n := f.visibleIn("from.fifo"); n != "300" {
		t.Fatalf("%s messages are left", n)
	}
	change("150 moved.", "to", "to.fifo", "body", "good", "group", "g-good", "attribute", "kind", "value", "good", "state", "visible")
	change("150 deleted.", "do", "delete", "confirm", "from.fifo", "attribute", "kind", "value", "bad", "older", "0s")
	if from, to := f.visibleIn("from.fifo"), f.visibleIn("to.fifo"); from != "0" || to != "150" {
		t.Errorf("%s and %s messages are left", from, to)
	}
}

// A message with a time is scheduled, not sent.
func TestScheduleForm(t *testing.T) {
	f := newEmpty(t)
	csrf := f.csrf("/queues")
	f.post("/queues", csrf, "name", "jobs.fifo")
	at := time.Now().UTC().Add(time.Hour).Format("2006-01-02T15:04")
	got := f.post("/queues/jobs.fifo/send", csrf, "body", "later", "group", "g", "dedup", "1", "count", "1", "at", at)
	if !strings.Contains(got.body, "1 scheduled for") || !strings.Contains(got.body, "seriatim msg schedule jobs.fifo later --at") {
		t.Errorf("got %d %s", got.code, got.body)
	}
	if n := f.visibleIn("jobs.fifo"); n != "0" {
		t.Errorf("%s messages are visible", n)
	}
	if got := f.post("/queues/jobs.fifo/send", csrf, "body", "x", "group", "g", "count", "1", "at", "tomorrow"); !strings.Contains(got.body,
		"flash failed") {
		t.Error("a time that is none was accepted")
	}
}

func TestTagFilter(t *testing.T) {
	f := newEmpty(t)
	csrf := f.csrf("/queues")
	for name, team := range map[string]string{"a": "billing", "b": "sales", "c": ""} {
		f.post("/queues", csrf, "name", name)
		if team != "" {
			f.post("/queues/"+name+"/tags", csrf, "key", "team", "value", team)
		}
	}
	for tag, want := range map[string][]string{"team": {"a", "b"}, "team=sales": {"b"}, "team=": nil, "none": nil, "": {"a", "b", "c"}} {
		body := f.get("/queues?tag=" + tag).body
		for _, name := range []string{"a", "b", "c"} {
			if shown := strings.Contains(body, `href="/queues/`+name+`"`); shown != slices.Contains(want, name) {
				t.Errorf("%q: %s is shown: %v", tag, name, shown)
			}
		}
	}
}

// A topic tells how many messages it publishes later.
func TestScheduledOfATopic(t *testing.T) {
	if got := newFixture(t, filled, false).get("/topics/sales.fifo").body; !strings.Contains(got, "1 message is scheduled for later.") {
		t.Error("the page does not tell that a message is scheduled")
	}
	f := newEmpty(t)
	f.post("/topics", f.csrf("/queues"), "name", "events.fifo")
	if got := f.get("/topics/events.fifo").body; strings.Contains(got, `data-testid="scheduled"`) {
		t.Error("an empty topic has scheduled messages")
	}
}

// A replay delivers archived messages again.
func TestReplayForm(t *testing.T) {
	f := newEmpty(t)
	csrf := f.csrf("/queues")
	f.post("/queues", csrf, "name", "copy.fifo")
	f.post("/topics", csrf, "name", "events.fifo")
	f.post("/topics/events.fifo/subscribe", csrf, "endpoint", "copy.fifo", "raw", "1")
	if got := f.get("/topics/events.fifo"); strings.Contains(got.body, `data-testid="replay"`) {
		t.Error("a topic without an archive offers a replay")
	}
	arn := regexp.MustCompile(`name="arn" value="([^"]+)"`).FindStringSubmatch(f.get("/topics/events.fifo").body)
	if arn == nil {
		t.Fatal("the subscription has no form")
	}
	from := time.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04")
	if got := f.post("/topics/events.fifo/replay", csrf, "arn", arn[1], "endpoint", "copy.fifo", "from", from); !strings.Contains(got.body,
		"flash failed") {
		t.Error("a replay without an archive was accepted")
	}
	if got := f.post("/topics/events.fifo/replay", csrf, "arn", arn[1], "endpoint", "copy.fifo", "from", "x"); !strings.Contains(got.body,
		"must be written like") {
		t.Error("a replay without a time was accepted")
	}
}

func TestLogLevelForm(t *testing.T) {
	f := newEmpty(t)
	got := f.post("/audit/level", f.csrf("/audit?tab=log"), "level", "debug")
	if !strings.Contains(got.body, "seriatim log level debug") || strings.Contains(got.body, "flash failed") {
		t.Errorf("got %d %s", got.code, got.body)
	}
	if !strings.Contains(f.get("/audit?tab=log").body, "</b> debug") {
		t.Error("the page does not show the new level")
	}
}

func TestTrend(t *testing.T) {
	for _, c := range []struct {
		depths []int64
		want   string
	}{
		{nil, ""}, {[]int64{7}, ""}, {[]int64{0, 0}, ""}, {[]int64{0, 10}, "0,17.0 1,1.0"}, {[]int64{-1, 10, -1, 5}, "1,1.0 3,9.0"},
	} {
		if got := trend(c.depths); got != c.want {
			t.Errorf("%v: got %q, want %q", c.depths, got, c.want)
		}
	}
}
