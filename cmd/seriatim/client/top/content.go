package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// content is a table, or lines about one object.
type content struct {
	summary string
	notes   []string // above the table
	heading []string
	rows    []row
	lines   []line
	more    bool // the table has only the first rows
}

// row is one object. Its key stays the same from one answer to the next.
type row struct {
	key   string
	cells []string
}

// line is a text, wrapped beside its label.
type line struct{ label, text string }

// harmless makes all texts of a content safe to show. Everything comes from clients: ids of groups,
// user agents, names.
func (c content) harmless() content {
	c.summary = output.Harmless(c.summary)
	for i := range c.notes {
		c.notes[i] = output.Harmless(c.notes[i])
	}
	for _, r := range c.rows {
		for i := range r.cells {
			r.cells[i] = output.Harmless(r.cells[i])
		}
	}
	for i := range c.lines {
		c.lines[i].label, c.lines[i].text = output.Harmless(c.lines[i].label), output.Harmless(c.lines[i].text)
	}
	return c
}

// The columns of the tables, the most important first: the right ones do not fit on a narrow screen.
var (
	queueColumns = []string{
		"NAME", "VISIBLE", "IN FLIGHT", "BLOCKED", "OLDEST", "SENT/S", "RECEIVED/S", "DEAD LETTERS", "PAUSED",
		"DELETED/S", "DELAYED", "DEFERRED", "GROUPS", "DEDUP IDS", "TYPE",
	}
	groupColumns    = []string{"GROUP", "STATE", "ENDS IN", "OLDEST", "MESSAGES", "IN FLIGHT", "RECEIVES"}
	consumerColumns = []string{"ADDRESS", "QUEUE", "LAST ACTION", "WAITING", "LAST", "NODE", "KEY", "REQUESTS", "PROTOCOL", "USER AGENT"}
	nodeColumns     = []string{"NAME", "ROLE", "ANSWERS", "LAG", "LAST CONTACT", "VERSION", "ADDRESS", "NODE", "NOTE"}
)

func queuesOf(grid output.Grid) content {
	c := content{heading: queueColumns, summary: plural.Count(len(grid.Rows), "queue", "queues")}
	for _, cells := range grid.Rows {
		r := row{key: cells[0]}
		for _, name := range queueColumns {
			r.cells = append(r.cells, cells[slices.Index(grid.Heading, name)])
		}
		c.rows = append(c.rows, r)
	}
	return c
}

func groupsOf(list []api.Group, more bool, now time.Time) content {
	c := content{
		heading: groupColumns,
		summary: plural.Count(len(list), "group with messages", "groups with messages"), more: more,
	}
	if more {
		c.notes = []string{"Only the first groups by id. A filter is then the beginning of an id."}
	}
	for i := range list {
		g := &list[i]
		c.rows = append(c.rows, row{g.ID, []string{
			g.ID, string(g.State), left(g.Until, now), age(g.First.SentAt, now),
			decimal(g.Messages), decimal(g.InFlight), decimal(g.First.ReceiveCount),
		}})
	}
	return c
}

func connectionKey(c *document.Connection) string { return c.NodeID + "/" + c.ID }

func consumersOf(list document.Connections, now time.Time) content {
	c := content{
		heading: consumerColumns,
		summary: plural.Count(len(list.Connections), "client connection", "client connections"),
	}
	if list.Untracked > 0 {
		c.notes = append(c.notes, decimal(list.Untracked)+" more connections are open.")
	}
	if len(list.Missing) > 0 {
		c.notes = append(c.notes, "Without an answer: "+strings.Join(list.Missing, ", "))
	}
	for i := range list.Connections {
		of := &list.Connections[i]
		c.rows = append(c.rows, row{connectionKey(of), []string{
			of.Address, orDash(of.Queue), orDash(of.Action), decimal(of.Waiting),
			age(timeOf(of.LastRequestMs), now), of.Node, orDash(of.AccessKey), decimal(of.Requests), orDash(of.Protocol),
			orDash(of.UserAgent),
		}})
	}
	return c
}

func connectionLines(of *document.Connection, now time.Time) []line {
	return []line{
		{"Client", of.Address},
		{"User agent", orDash(of.UserAgent)},
		{"Key", orDash(of.AccessKey)},
		{"Node", of.Node + ", connection " + of.ID},
		{"Since", when(timeOf(of.SinceMs), now)},
		{"Requests", decimal(of.Requests) + ", " + decimal(of.Waiting) + " without an answer"},
		{"Last", strings.TrimSpace(orDash(of.Action)+" "+of.Queue) + " at " + when(timeOf(of.LastRequestMs), now)},
		{"Command", "seriatim connections close " + of.Node + " " + of.ID + "   # close it"},
	}
}

func nodesOf(list cluster.MemberList) content {
	c := content{
		heading: nodeColumns,
		summary: list.Summary, notes: list.Warnings,
	}
	for i := range list.Members {
		m := &list.Members[i]
		c.rows = append(c.rows, row{m.NodeID, []string{
			m.Name, role(m), yesNo(m.Healthy), known(m.LagEntries, ""),
			known(m.LastContactMs, "ms"), orDash(m.Version), orDash(m.Address), m.NodeID, m.Note,
		}})
	}
	for _, w := range list.Waiting {
		c.rows = append(c.rows, row{w.NodeID, []string{
			w.Name, "waiting", "yes", "-", "-", "-", "-", w.NodeID,
			"seriatim cluster add " + w.NodeID,
		}})
	}
	return c
}

func role(m *cluster.MemberStatus) string {
	if m.Drained {
		return m.Role + ", drained"
	}
	return m.Role
}

func nodeLines(list *cluster.MemberList, id string) (lines []line) {
	i := slices.IndexFunc(list.Members, func(m cluster.MemberStatus) bool { return m.NodeID == id })
	if i < 0 {
		return []line{{text: "The node is no member of the cluster."}}
	}
	m := &list.Members[i]
	lines = []line{
		{"Node", m.Name + " (" + m.NodeID + ")"},
		{"Role", role(m)},
		{"Answers", yesNo(m.Healthy)},
		{"Lag", known(m.LagEntries, " entries")},
		{"Contact", known(m.LastContactMs, "ms ago")},
		{"Version", orDash(m.Version)},
		{"Peer port", orDash(m.Address)},
		{"Admin port", orDash(m.Admin)},
	}
	if m.Note != "" {
		lines = append(lines, line{"Note", m.Note})
	}
	for _, f := range list.Findings {
		if f.Node == m.Name || f.Node == m.NodeID {
			lines = append(lines, line{f.Level.String(), f.Check + ": " + f.Text})
		}
	}
	return lines
}

func explanationOf(e *api.Explanation, now time.Time) content {
	c := content{lines: []line{{"State", e.GetState()}, {"Why", e.GetSummary()}}}
	for _, detail := range e.GetDetails() {
		c.lines = append(c.lines, line{"", detail})
	}
	if until := timeOf(e.GetUntilMs()); !until.IsZero() {
		c.lines = append(c.lines, line{"Until", clock(until) + ", in " + left(until, now)})
	}
	if e.GetNext() != "" {
		c.lines = append(c.lines, line{"Next", e.GetNext()})
	}
	if h := e.GetHolder(); h != nil {
		c.lines = append(c.lines, line{"Held by", strings.Join(named("", h.GetAddress(), "key", h.GetAccessKey(), "", h.GetUserAgent(),
			"protocol", h.GetProtocol(), "at node", h.GetNode()), ", ")}, line{"Since", when(timeOf(h.GetSinceMs()), now)})
	}
	for _, event := range e.GetTimeline() {
		c.lines = append(c.lines, line{clock(timeOf(event.GetAtMs())), event.GetEvent()})
	}
	for _, command := range e.GetCommands() {
		c.lines = append(c.lines, line{"Command", command.GetLine() + "   # " + command.GetEffect()})
	}
	return c
}

// heldShown bounds the holders on one page.
const heldShown = 20

func holdersOf(list []document.Holding, now time.Time) (lines []line) {
	for i := range list[:min(len(list), heldShown)] {
		h := &list[i]
		client := cmp.Or(h.Address, "A client that the nodes do not remember")
		lines = append(lines, line{"Holder", strings.Join(named("", client, "holds", cmp.Or(h.Group, h.MessageID),
			"until", clock(timeOf(h.UntilMs)), "since", when(timeOf(h.SinceMs), now), "key", h.AccessKey, "", h.UserAgent), ", ")})
	}
	if len(list) > heldShown {
		lines = append(lines, line{"", fmt.Sprintf("%d more clients or messages", len(list)-heldShown)})
	}
	return lines
}

// named joins names with their values, and leaves out empty values.
func named(pairs ...string) (texts []string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			texts = append(texts, strings.TrimSpace(pairs[i]+" "+pairs[i+1]))
		}
	}
	return texts
}

// timeOf returns the zero time for 0.
func timeOf(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis)
}

// age returns the time since at.
func age(at, now time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return max(0, now.Sub(at)).Round(time.Second).String()
}

// clock returns the time of day in UTC, as explanations have it.
func clock(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("15:04:05Z")
}

func when(at, now time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return clock(at) + ", " + age(at, now) + " ago"
}

// left returns the time until at.
func left(at, now time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return max(0, at.Sub(now)).Round(time.Second).String()
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// known formats a number; a negative one is unknown.
func known(n int64, unit string) string {
	if n < 0 {
		return "-"
	}
	return decimal(n) + unit
}

func orDash(text string) string { return cmp.Or(text, "-") }

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
