package top

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
)

// kind is the kind of a page. The first ones are the tabs.
type kind int

const (
	queuesPage kind = iota
	groupsPage
	consumersPage
	nodesPage
	queueDetail
	groupDetail
	consumerDetail
	nodeDetail

	tabCount = 4
)

var tabNames = [tabCount]string{"queues", "groups", "consumers", "nodes"}

// question names the objects of a page.
type question struct {
	kind    kind
	queue   string // of groups
	subject string // key of the object of a detail
	prefix  string // of the ids of groups
}

// page has an answer, and the place of the user in it.
type page struct {
	asks    question
	content content

	read    time.Time // when the content was read; zero: never
	failed  error     // the last answer, if it was an error
	sort    int       // column
	rising  bool
	filter  string
	shown   []row  // the rows that pass the filter, sorted
	natural []int  // widths of the columns of these rows
	at      string // key of the chosen row
	top     int    // first shown row or line
}

// Model is the state of the screen.
type Model struct {
	ctx      context.Context //nolint:containedctx // commands of the framework have no other
	ask      func(context.Context, question) (content, error)
	interval time.Duration
	address  string // of the cluster
	colour   bool
	now      func() time.Time

	width, height int
	tabs          [tabCount]page
	tab           kind
	detail        *page // over the tab; nil: none
	drilled       bool  // the groups are those of a queue that was opened, so Esc goes back
	help          bool
	typing        bool // of the filter
	paused        bool

	number int // of the last question
	asked  time.Time
	cancel context.CancelFunc // of a question without an answer; nil: there is none
}

// answer is the answer to a question.
type answer struct {
	number  int
	content content
	err     error
	at      time.Time
}

// tick is the end of an interval.
type tick struct{}

func newModel(ctx context.Context, ask func(context.Context, question) (content, error)) *Model {
	m := &Model{ctx: ctx, ask: ask, now: time.Now, interval: defaultInterval, width: 80, height: 24}
	for i := range m.tabs {
		m.tabs[i].asks.kind = kind(i)
	}
	// The oldest messages first, the newest requests first, the nodes by name.
	for tab, column := range map[kind]int{
		queuesPage: slices.Index(queueColumns, "OLDEST"), groupsPage: slices.Index(groupColumns, "OLDEST"),
		consumersPage: slices.Index(consumerColumns, "LAST"),
	} {
		m.tabs[tab].sort = column
	}
	m.tabs[consumersPage].rising, m.tabs[nodesPage].rising = true, true
	return m
}

// page returns the page on the screen.
func (m *Model) page() *page {
	if m.detail != nil {
		return m.detail
	}
	return &m.tabs[m.tab]
}

// Init asks the first question.
func (m *Model) Init() tea.Cmd { return tea.Batch(m.read(), m.nextTick()) }

func (m *Model) nextTick() tea.Cmd {
	return tea.Tick(m.interval, func(time.Time) tea.Msg { return tick{} })
}

// read asks the question of the page, and gives up the question before.
func (m *Model) read() tea.Cmd {
	m.stop()
	if m.page().asks.kind == groupsPage && m.page().asks.queue == "" {
		return nil
	}
	ctx, cancel := context.WithCancel(m.ctx)
	m.number++
	m.asked, m.cancel = m.now(), cancel
	number, q, ask, now := m.number, m.page().asks, m.ask, m.now
	return func() tea.Msg {
		c, err := ask(ctx, q)
		return answer{number, c.harmless(), err, now()}
	}
}

// stop gives up a question without an answer.
func (m *Model) stop() {
	if m.cancel != nil {
		m.cancel()
		m.cancel = nil
	}
}

// Update changes the model for an event.
func (m *Model) Update(event tea.Msg) (tea.Model, tea.Cmd) {
	command := m.update(event)
	m.scroll()
	return m, command
}

func (m *Model) update(event tea.Msg) tea.Cmd {
	switch event := event.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = event.Width, event.Height
	case tick:
		if m.paused || m.cancel != nil {
			return m.nextTick()
		}
		return tea.Batch(m.read(), m.nextTick())
	case answer:
		return m.answered(event)
	case tea.KeyPressMsg:
		if m.typing {
			return m.typed(event)
		}
		return m.pressed(event.String())
	case tea.ResumeMsg:
		return m.read()
	}
	return nil
}

func (m *Model) answered(a answer) tea.Cmd {
	if a.number != m.number || m.cancel == nil {
		return nil // of a page that was left
	}
	m.stop()
	p := m.page()
	if a.err != nil {
		p.failed = a.err
		return nil
	}
	p.content, p.read, p.failed = a.content, a.at, nil
	p.rearrange()
	if p.asks.kind == groupsPage && p.content.more && p.asks.prefix == "" && p.filter != "" {
		p.asks.prefix = p.filter
		return m.read()
	}
	return nil
}

// arrange filters and sorts the rows, after a change of one of them.
func (p *page) arrange() {
	want := strings.ToLower(p.filter)
	p.shown = slices.DeleteFunc(slices.Clone(p.content.rows), func(r row) bool {
		return !strings.Contains(strings.ToLower(strings.Join(r.cells, " ")), want)
	})
	slices.SortStableFunc(p.shown, func(a, b row) int {
		order := output.CompareCells(a.cells[p.sort], b.cells[p.sort])
		if !p.rising {
			order = -order
		}
		if order == 0 {
			return strings.Compare(a.key, b.key)
		}
		return order
	})
	p.natural = make([]int, len(p.content.heading))
	for i, name := range p.content.heading {
		p.natural[i] = ansi.StringWidth(name)
		for _, r := range p.shown {
			p.natural[i] = max(p.natural[i], ansi.StringWidth(r.cells[i]))
		}
	}
}

// chosen returns the index of the chosen row; some is false if no row is shown.
func (p *page) chosen() (index int, some bool) {
	return max(0, slices.IndexFunc(p.shown, func(r row) bool { return r.key == p.at })), len(p.shown) > 0
}

// rearrange arranges the rows again. If the chosen one is gone, it chooses its neighbour.
func (p *page) rearrange() {
	index, _ := p.chosen()
	p.arrange()
	if !slices.ContainsFunc(p.shown, func(r row) bool { return r.key == p.at }) && len(p.shown) > 0 {
		p.at = p.shown[min(index, len(p.shown)-1)].key
	}
}

// move chooses the row that is some rows below, or scrolls the lines.
func (p *page) move(by int) {
	if p.content.rows == nil {
		p.top += by // scroll has the bounds, which depend on the size
		return
	}
	if index, some := p.chosen(); some {
		p.at = p.shown[min(max(0, index+by), len(p.shown)-1)].key
	}
}
