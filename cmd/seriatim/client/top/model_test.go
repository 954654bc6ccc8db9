package top

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// listed is the table of queue list -o wide with some queues.
func listed(names ...string) output.Grid {
	g := output.Grid{Heading: []string{
		"NAME", "TYPE", "VISIBLE", "IN FLIGHT", "DELAYED", "DEFERRED", "OLDEST", "GROUPS", "BLOCKED",
		"DEDUP IDS", "SENT/S", "RECEIVED/S", "DELETED/S", "DEAD LETTERS", "PAUSED",
	}}
	for i, name := range names {
		g.Add(name, "fifo", fmt.Sprint(10-i), "0", "0", "0", fmt.Sprintf("%dm0s", i+1), "1", "0", "0", "0.0", "0.0", "0.0", "-", "no")
	}
	return g
}

// screen is a model, whose questions a test answers.
type screen struct {
	*Model
	t       *testing.T
	asked   []question
	answers map[kind]content
	failure error
	quit    bool
}

func newScreen(t *testing.T, answers map[kind]content) *screen {
	s := &screen{t: t, answers: answers}
	s.Model = newModel(t.Context(), func(_ context.Context, q question) (content, error) {
		s.asked = append(s.asked, q)
		if s.failure != nil {
			return content{}, s.failure
		}
		c := s.answers[q.kind]
		c.rows, c.lines = slices.Clone(c.rows), slices.Clone(c.lines)
		return c, nil
	})
	s.now = func() time.Time { return noon }
	s.run(s.read())
	return s
}

// run executes a command as the framework does, and updates the model with its event.
func (s *screen) run(command tea.Cmd) {
	if command == nil {
		return
	}
	event := command()
	if _, ok := event.(tea.QuitMsg); ok {
		s.quit = true
		return
	}
	_, next := s.Update(event)
	s.run(next)
}

// press presses keys: names in angle brackets, or characters.
func (s *screen) press(keys ...string) {
	named := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "down": tea.KeyDown, "end": tea.KeyEnd, "tab": tea.KeyTab,
		"backspace": tea.KeyBackspace, "pgdown": tea.KeyPgDown,
	}
	for _, key := range keys {
		event := tea.KeyPressMsg{Text: key, Code: []rune(key)[0]}
		if code, ok := named[key]; ok {
			event = tea.KeyPressMsg{Code: code}
		}
		_, command := s.Update(event)
		s.run(command)
	}
}

func (s *screen) lines() []string { return strings.Split(s.View().Content, "\n") }

func (s *screen) shows(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if !strings.Contains(s.View().Content, text) {
			s.t.Errorf("no %q on the screen:\n%s", text, s.View().Content)
		}
	}
}

func (s *screen) hides(text string) {
	s.t.Helper()
	if strings.Contains(s.View().Content, text) {
		s.t.Errorf("%q is on the screen:\n%s", text, s.View().Content)
	}
}

// order returns the names in the rows on the screen.
func (s *screen) order() (names []string) {
	for _, l := range s.lines() {
		if fields := strings.Fields(strings.TrimPrefix(l, ">")); len(fields) > 0 && strings.HasSuffix(fields[0], ".fifo") {
			names = append(names, fields[0])
		}
	}
	return names
}

// The queue with the oldest message comes first. s and S choose another order, in which numbers and
// times have their values.
func TestSort(t *testing.T) {
	t.Parallel()
	s := newScreen(t, map[kind]content{queuesPage: queuesOf(listed("a.fifo", "b.fifo", "c.fifo"))})
	s.shows("OLDEST v", "3 queues", "> c.fifo")
	if got := s.order(); !slices.Equal(got, []string{"c.fifo", "b.fifo", "a.fifo"}) {
		t.Errorf("by age: %v", got)
	}
	for range len(queueColumns) - 3 { // around to VISIBLE
		s.press("s")
	}
	s.press("S")
	s.shows("VISIBLE ^")
	if got := s.order(); !slices.Equal(got, []string{"c.fifo", "b.fifo", "a.fifo"}) { // 8, 9 and 10
		t.Errorf("by count: %v", got)
	}
}

// A filter hides rows, keeps for new answers, and Esc clears it.
func TestFilter(t *testing.T) {
	t.Parallel()
	s := newScreen(t, map[kind]content{queuesPage: queuesOf(listed("orders.fifo", "jobs.fifo"))})
	s.press("/", "O", "r", "x", "backspace")
	s.shows("Filter: Or_", "orders.fifo")
	s.hides("jobs.fifo")
	s.press("enter", "r")
	s.shows(`1 with "Or"`)
	s.hides("jobs.fifo")
	s.press("esc")
	s.shows("jobs.fifo")
	s.press("/", "q", "esc")
	if s.quit || s.typing {
		t.Error("a typed q is no command")
	}
	s.shows("jobs.fifo")
}

// The chosen row stays chosen when the order changes, and its neighbour is chosen when it is gone.
func TestChosenRow(t *testing.T) {
	t.Parallel()
	s := newScreen(t, map[kind]content{queuesPage: queuesOf(listed("a.fifo", "b.fifo", "c.fifo"))})
	s.press("down")
	s.shows("> b.fifo")
	s.answers[queuesPage] = queuesOf(listed("b.fifo", "a.fifo", "c.fifo"))
	s.press("r")
	s.shows("> b.fifo")
	s.answers[queuesPage] = queuesOf(listed("a.fifo", "c.fifo"))
	s.press("r")
	s.shows("> a.fifo")
	s.answers[queuesPage] = queuesOf(listed())
	s.press("r", "enter", "down", "e")
	s.shows("none")
}

// Enter leads from a queue to its groups, and from a group to its holder. Esc leads back.
func TestDrillDown(t *testing.T) {
	t.Parallel()
	explained := &api.Explanation{
		State: "in-flight", Summary: "A receiver has its first message.",
		UntilMs: noon.Add(time.Minute).UnixMilli(),
	}
	s := newScreen(t, map[kind]content{
		queuesPage: queuesOf(listed("orders.fifo")),
		groupsPage: groupsOf([]api.Group{
			{ID: "customer-1", State: api.GroupReady, Messages: 1, First: api.FirstMessage{SentAt: noon.Add(-time.Second)}},
			{
				ID: "customer-9", State: api.GroupInFlight, Messages: 7, InFlight: 1, Until: noon.Add(30 * time.Second),
				First: api.FirstMessage{SentAt: noon.Add(-time.Hour), ReceiveCount: 3},
			},
		}, false, noon),
		groupDetail: explanationOf(explained, noon),
	})
	s.press("enter")
	s.shows("[2 groups]", "orders.fifo: 2 groups with messages", "> customer-9  in-flight  30s      1h0m0s    7         1          3")
	s.press("enter")
	s.shows("Group customer-9 of orders.fifo", "A receiver has its first message.", "12:01:00Z, in 1m0s")
	if got := s.asked[len(s.asked)-1]; got != (question{groupDetail, "orders.fifo", "customer-9", ""}) {
		t.Errorf("asked %+v", got)
	}
	s.press("esc")
	s.shows("[2 groups]", "> customer-9")
	s.press("esc")
	s.shows("[1 queues]", "> orders.fifo")
	s.press("e")
	s.shows("Queue orders.fifo")
	s.press("q")
	if !s.quit {
		t.Error("q does not quit")
	}
}

// The first group without a queue says what to do, and asks no node.
func TestGroupsWithoutAQueue(t *testing.T) {
	t.Parallel()
	s := newScreen(t, map[kind]content{queuesPage: queuesOf(listed())})
	s.press("2")
	s.shows("Choose a FIFO queue")
	if len(s.asked) != 1 {
		t.Errorf("asked %v", s.asked)
	}
}

// After an error the screen keeps the last answer and says from when it is. The next answer ends it.
func TestErrors(t *testing.T) {
	t.Parallel()
	s := newScreen(t, map[kind]content{queuesPage: queuesOf(listed("orders.fifo"))})
	s.failure = exit.New(exit.Unavailable, errors.New("cannot reach \x1b[2J a port"), "start one")
	s.now = func() time.Time { return noon.Add(time.Minute) }
	s.press("r")
	s.shows("orders.fifo", "The last answer is from 12:00:00Z", "cannot reach  [2J a port", "start one")
	s.failure = nil
	s.press("r")
	s.shows("read at 12:01:00Z")
	s.hides("cannot reach")
	s = newScreen(t, nil)
	s.failure = errors.New("no")
	s.press("4")
	s.shows("No answer yet")
}

// A tick asks only if the last question has its answer, and the screen says that it waits. An answer
// to a page that was left changes nothing.
func TestOneQuestionAtATime(t *testing.T) {
	t.Parallel()
	s := newScreen(t, map[kind]content{queuesPage: queuesOf(listed("orders.fifo")), nodesPage: {summary: "Healthy"}})
	late := s.read()
	number := s.number
	s.Update(tick{})
	if s.number != number {
		t.Error("a second question")
	}
	s.now = func() time.Time { return noon.Add(3 * time.Second) }
	s.shows("Waiting for an answer since 12:00:00Z", "orders.fifo")
	s.press("4")
	s.answers[queuesPage] = queuesOf(listed("other.fifo"))
	next := s.read()
	s.run(late)
	s.shows("Healthy")
	s.hides("other.fifo")
	s.run(next)
	s.shows("Healthy")
	s.press("p")
	s.shows("paused")
	number = s.number
	s.Update(tick{})
	if s.number != number {
		t.Error("a question during a pause")
	}
	s.press("p")
	if s.number != number+1 {
		t.Error("no question after the pause")
	}
}

// If there are too many groups for one answer, the filter is sent to the node.
func TestTooManyGroups(t *testing.T) {
	t.Parallel()
	s := newScreen(t, map[kind]content{
		queuesPage: queuesOf(listed("orders.fifo")),
		groupsPage: groupsOf([]api.Group{{ID: "a"}, {ID: "b"}}, true, noon),
	})
	s.press("enter")
	s.shows("Only the first groups by id")
	s.press("/", "z", "9")
	if got := s.asked[len(s.asked)-1]; got.prefix != "z9" {
		t.Errorf("asked %+v", got)
	}
	s.press("esc")
	if got := s.asked[len(s.asked)-1]; got.prefix != "" {
		t.Errorf("asked %+v", got)
	}
}

// Names of clients cannot move the cursor, change colours or the direction of text.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b]0;x\a\u202eevil\r\n\x9b31m"
	s := newScreen(t, map[kind]content{
		queuesPage:  queuesOf(listed("a" + hostile + ".fifo")),
		groupsPage:  groupsOf([]api.Group{{ID: hostile}}, false, noon),
		groupDetail: explanationOf(&api.Explanation{Summary: hostile, Details: []string{hostile}}, noon),
		consumersPage: consumersOf(document.Connections{
			Connections: []document.Connection{{UserAgent: hostile, Queue: hostile}},
			Missing:     []string{hostile},
		}, noon),
		consumerDetail: {lines: connectionLines(&document.Connection{UserAgent: hostile, Action: hostile}, noon)},
		nodesPage:      nodesOf(cluster.MemberList{Summary: hostile, Members: []cluster.MemberStatus{{NodeID: "n", Note: hostile}}}),
	})
	s.width = 200
	check := func(page string) {
		t.Helper()
		for _, l := range s.lines() {
			if output.Harmless(l) != l {
				t.Errorf("%s: %q", page, l)
			}
		}
	}
	s.shows("evil")
	check("queues")
	for _, key := range []string{"enter", "enter", "3", "enter", "4", "/", "\u202e", "enter"} {
		s.press(key)
		check(key)
	}
	s.failure = errors.New(hostile)
	s.press("r")
	check("error")
}

// Every page fits on every screen, with colours, too.
func TestSizes(t *testing.T) {
	t.Parallel()
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d.fifo", strings.Repeat("数", i), i)
	}
	long := content{lines: []line{{"Why", strings.Repeat("word ", 500)}}}
	for _, colour := range []bool{false, true} {
		s := newScreen(t, map[kind]content{
			queuesPage: queuesOf(listed(names...)), groupsPage: groupsOf([]api.Group{{ID: strings.Repeat("g", 128)}}, true, noon),
			groupDetail: long, queueDetail: long,
			nodesPage: {summary: "x", notes: []string{strings.Repeat("warning ", 100)}, heading: []string{"A"}},
		})
		s.colour = colour
		for _, size := range [][2]int{{80, 24}, {200, 60}, {40, 10}, {20, 5}, {3, 2}, {1, 1}, {0, 0}, {80, 24}} {
			s.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			for _, keys := range [][]string{
				{"1", "end"}, {"enter"}, {"enter", "end", "pgdown"}, {"?", "x"}, {"4"}, {"1", "e", "down"}, {"/", "x", "esc"},
			} {
				s.press(keys...)
				lines := s.lines()
				if len(lines) > max(1, size[1]) {
					t.Errorf("%v after %v: %d lines", size, keys, len(lines))
				}
				for _, l := range lines {
					if ansi.StringWidth(l) > size[0] {
						t.Errorf("%v after %v: %d columns: %q", size, keys, ansi.StringWidth(l), l)
					}
				}
			}
		}
		s.press("1", "end")
		s.shows("> " + "-") // the chosen row is on the screen
	}
}

// Without colours the screen has no escape sequences.
func TestWithoutColours(t *testing.T) {
	t.Parallel()
	s := newScreen(t, map[kind]content{queuesPage: queuesOf(listed("orders.fifo"))})
	s.hides("\x1b")
	s.colour = true
	s.shows(reverse)
}

// A chart has the shape of its values, and gaps where they are missing.
func TestCharts(t *testing.T) {
	t.Parallel()
	values := make([]*float64, 4)
	for i, v := range []float64{0, 10, 5} {
		values[i] = &v
	}
	got := charts(document.Series{"sent": values, "empty": {nil}}, 10_000, []charted{{"sent", "Sent", "%.1f/s"}, {"empty", "E", "%.1f"}})
	if len(got) != 1 || got[0] != (line{"Sent", "▁█▄   0.5/s (15 minutes)"}) {
		t.Errorf("%q", got)
	}
}
