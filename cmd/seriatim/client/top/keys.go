package top

import (
	"math"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
)

// keyHelp lists the keys on the page for ?.
var keyHelp = [][2]string{
	{"1 2 3 4, Tab", "queues, groups, consumers, nodes"},
	{"Up Down j k", "choose a row; also PgUp, PgDn, Home and End"},
	{"Enter", "open: the groups of a queue, why a group waits and its holder, a connection, a node"},
	{"e", "explain the chosen queue"},
	{"Esc", "go back, or clear the filter"},
	{"/", "show only rows with a text; Enter keeps it, Esc clears it"},
	{"s S", "sort by the next column, in the other order"},
	{"p, Space", "pause and go on"},
	{"r", "read now"},
	{"?", "this list"},
	{"q, Ctrl-C", "quit"},
}

// pressed handles a key.
func (m *Model) pressed(key string) tea.Cmd {
	if m.help && key != "q" && key != "ctrl+c" {
		m.help = false
		return nil
	}
	if moved, ok := m.moves()[key]; ok {
		m.page().move(moved)
		return nil
	}
	switch key {
	case "q", "ctrl+c":
		m.stop()
		return tea.Quit
	case "ctrl+z":
		m.stop()
		return tea.Suspend
	case "?", "h":
		m.help = true
	case "p", "space":
		m.paused = !m.paused
		if !m.paused {
			return m.read()
		}
	case "r":
		return m.read()
	case "tab":
		return m.open((m.tab + 1) % tabCount)
	case "shift+tab":
		return m.open((m.tab + tabCount - 1) % tabCount)
	case "1", "2", "3", "4":
		return m.open(kind(key[0] - '1'))
	case "enter":
		return m.enter()
	case "e":
		return m.explainQueue()
	case "esc", "backspace":
		return m.back()
	default:
		m.tableKey(key)
	}
	return nil
}

// moves are the keys that choose another row.
func (m *Model) moves() map[string]int {
	screen := m.bodyHeight()
	return map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -screen, "pgdown": screen,
		"home": -math.MaxInt32, "g": -math.MaxInt32, "end": math.MaxInt32, "G": math.MaxInt32,
	}
}

// tableKey handles the keys for the sorting and the filter of a table.
func (m *Model) tableKey(key string) {
	p := m.page()
	if m.detail != nil {
		return
	}
	switch key {
	case "/":
		m.typing = true
	case "s":
		if len(p.content.heading) > 0 {
			p.sort = (p.sort + 1) % len(p.content.heading)
		}
	case "S":
		p.rising = !p.rising
	}
	p.rearrange()
}

// open shows a tab. That of groups shows those of the chosen queue.
func (m *Model) open(tab kind) tea.Cmd {
	m.detail, m.drilled = nil, false
	if tab == groupsPage && m.tab != groupsPage {
		p := &m.tabs[queuesPage]
		if index, some := p.chosen(); some && strings.HasSuffix(p.shown[index].key, ".fifo") {
			m.groupsOf(p.shown[index].key)
		}
	}
	m.tab = tab
	return m.read()
}

// groupsOf prepares the page of the groups of a queue.
func (m *Model) groupsOf(queue string) {
	p := &m.tabs[groupsPage]
	if p.asks.queue != queue {
		*p = page{asks: question{kind: groupsPage, queue: queue}, sort: p.sort, rising: p.rising}
	}
}

// enter opens the chosen row.
func (m *Model) enter() tea.Cmd {
	p := m.page()
	index, some := p.chosen()
	if m.detail != nil || !some {
		return nil
	}
	key := p.shown[index].key
	p.at = key
	if p.asks.kind == queuesPage {
		if !strings.HasSuffix(key, ".fifo") {
			return m.explainQueue()
		}
		m.groupsOf(key)
		m.tab, m.drilled = groupsPage, true
		return m.read()
	}
	details := map[kind]kind{groupsPage: groupDetail, consumersPage: consumerDetail, nodesPage: nodeDetail}
	m.detail = &page{asks: question{kind: details[p.asks.kind], queue: p.asks.queue, subject: key}}
	return m.read()
}

// explainQueue opens the explanation of the chosen queue, or of that of the groups.
func (m *Model) explainQueue() tea.Cmd {
	p := m.page()
	queue := p.asks.queue
	if index, some := p.chosen(); p.asks.kind == queuesPage && some {
		queue = p.shown[index].key
		p.at = queue
	}
	if m.detail != nil || queue == "" {
		return nil
	}
	m.detail = &page{asks: question{kind: queueDetail, queue: queue}}
	return m.read()
}

// back leaves a detail, clears a filter, or goes from groups back to the queues.
func (m *Model) back() tea.Cmd {
	p := m.page()
	switch {
	case m.detail != nil:
		m.detail = nil
	case p.filter != "":
		return m.filterBy("")
	case m.tab == groupsPage && m.drilled:
		m.tab, m.drilled = queuesPage, false
	default:
		return nil
	}
	return m.read()
}

// typed handles a key while the filter is typed.
func (m *Model) typed(key tea.KeyPressMsg) tea.Cmd {
	p := m.page()
	switch key.String() {
	case "enter":
		m.typing = false
	case "esc":
		m.typing = false
		return m.filterBy("")
	case "ctrl+c":
		m.stop()
		return tea.Quit
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(p.filter)
		return m.filterBy(p.filter[:len(p.filter)-size])
	default:
		if key.Text != "" {
			return m.filterBy(p.filter + output.Harmless(key.Text))
		}
	}
	return nil
}

// filterBy changes the filter of a table. If there are too many groups to read them all, the node is
// asked for those whose ids begin with the filter.
func (m *Model) filterBy(text string) tea.Cmd {
	p := m.page()
	p.filter = text
	p.rearrange()
	if p.asks.kind == groupsPage && (p.content.more || p.asks.prefix != "") && p.asks.prefix != text {
		p.asks.prefix = text
		return m.read()
	}
	return nil
}
