package top

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

const (
	// frameHeight is the number of lines around the rows or the text: title, tabs, status, heading
	// and keys.
	frameHeight = 5
	notesMax    = 4
	marker      = "> " // of the chosen row
	labelWidth  = 12
	// nameMin is the width that the first column keeps when other columns need room.
	nameMin = 24
	// cutMin is the least width of a last column that is cut.
	cutMin = 8
)

// Escape sequences, without colours.
const (
	bold    = "\x1b[1m"
	reverse = "\x1b[7m"
	red     = "\x1b[31m"
	reset   = "\x1b[0m"
)

// styled adds an escape sequence, if the user wants colours.
func (m *Model) styled(sequence, text string) string {
	if !m.colour {
		return text
	}
	return sequence + text + reset
}

// View draws the screen.
func (m *Model) View() tea.View {
	lines := []string{m.title(), m.tabLine(), m.status()}
	switch p := m.page(); {
	case m.help:
		for _, k := range keyHelp {
			lines = append(lines, pad(k[0], labelWidth)+"  "+k[1])
		}
	case m.detail != nil:
		lines = append(append(lines, m.notes(p)...), "")
		text := m.wrapped(p)
		lines = append(lines, text[p.top:min(len(text), p.top+m.bodyHeight())]...)
	default:
		lines = append(append(lines, m.notes(p)...), m.table(p)...)
	}
	last := max(1, m.height) - 1
	for len(lines) < last {
		lines = append(lines, "")
	}
	lines = append(lines[:last], m.keys())
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], m.width, "")
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	return v
}

// bodyHeight is the number of rows or lines of text that fit on the screen.
func (m *Model) bodyHeight() int {
	return max(1, m.height-frameHeight-len(m.notes(m.page())))
}

// notes returns the lines above the table or the text: the last error, and what is special.
func (m *Model) notes(p *page) (lines []string) {
	notes := p.content.notes
	if p.failed != nil {
		notes = slices.Insert(slices.Clone(notes), 0, output.Harmless(p.failed.Error()), output.Harmless(exit.HintOf(p.failed)))
	}
	for _, note := range notes {
		if note != "" {
			lines = append(lines, strings.Split(ansi.Wrap(note, max(20, m.width), ""), "\n")...)
		}
	}
	return lines[:min(len(lines), notesMax, max(0, m.height-frameHeight-1))]
}

func (m *Model) title() string {
	text := "seriatim top  " + output.Harmless(m.address) + "  every " + m.interval.String()
	if m.paused {
		text += "  paused"
	}
	if read := m.page().read; !read.IsZero() {
		text += "  read at " + clock(read)
	}
	return m.styled(bold, text)
}

func (m *Model) tabLine() string {
	names := make([]string, tabCount)
	for i, name := range tabNames {
		names[i] = fmt.Sprintf(" %d %s ", i+1, name)
		if kind(i) == m.tab {
			names[i] = m.styled(reverse, "["+names[i][1:len(names[i])-1]+"]")
		}
	}
	return strings.Join(names, " ")
}

// status says what the page shows, or since when it is old.
func (m *Model) status() string {
	p := m.page()
	switch {
	case m.help:
		return "Keys"
	case m.typing:
		return "Filter: " + p.filter + "_"
	case p.failed != nil:
		if p.read.IsZero() {
			return m.styled(red, "No answer yet")
		}
		return m.styled(red, "The last answer is from "+clock(p.read))
	case m.cancel != nil && m.now().Sub(m.asked) > max(m.interval, time.Second):
		return m.styled(red, "Waiting for an answer since "+clock(m.asked))
	case p.asks.kind == groupsPage && p.asks.queue == "":
		return "Choose a FIFO queue on page 1 and press Enter"
	case p.read.IsZero():
		return "Reading"
	}
	text := p.subjectText()
	if p.filter != "" {
		text += fmt.Sprintf(", %d with %q", len(p.shown), p.filter)
	}
	return text
}

func (p *page) subjectText() string {
	switch p.asks.kind {
	case groupsPage:
		return output.Harmless(p.asks.queue) + ": " + p.content.summary
	case queueDetail:
		return "Queue " + output.Harmless(p.asks.queue)
	case groupDetail:
		return "Group " + output.Harmless(p.asks.subject) + " of " + output.Harmless(p.asks.queue)
	case consumerDetail:
		return "Connection"
	case nodeDetail:
		return "Node"
	case queuesPage, consumersPage, nodesPage:
	}
	return p.content.summary
}

func (m *Model) keys() string {
	switch {
	case m.typing:
		return "Enter keep the filter  Esc clear it"
	case m.help:
		return "any key: back  q quit"
	case m.detail != nil:
		return "Esc back  p pause  ? help  q quit"
	}
	return "Enter open  e explain  / filter  s S sort  p pause  ? help  q quit"
}

// table draws the heading and the rows that fit.
func (m *Model) table(p *page) []string {
	if len(p.content.heading) == 0 {
		return nil
	}
	index, some := p.chosen()
	heading := make([]string, len(p.content.heading))
	copy(heading, p.content.heading)
	if p.rising {
		heading[p.sort] += " ^"
	} else {
		heading[p.sort] += " v"
	}
	widths := m.widths(p, ansi.StringWidth(heading[p.sort]))
	lines := []string{m.styled(bold, strings.Repeat(" ", len(marker))+m.rowText(heading, widths, false))}
	for i := p.top; i < min(len(p.shown), p.top+m.bodyHeight()); i++ {
		if i == index {
			text := marker + m.rowText(p.shown[i].cells, widths, false)
			lines = append(lines, m.styled(reverse, pad(text, m.width)))
			continue
		}
		lines = append(lines, strings.Repeat(" ", len(marker))+m.rowText(p.shown[i].cells, widths, m.colour))
	}
	if !some && !p.read.IsZero() {
		lines = append(lines, strings.Repeat(" ", len(marker))+"none")
	}
	return lines
}

// widths returns the widths of the columns that fit. The first column gets what the others leave. The
// name of the column for the sorting is wider than the others, by its mark.
func (m *Model) widths(p *page, marked int) []int {
	natural := slices.Clone(p.natural)
	natural[p.sort] = max(natural[p.sort], marked)
	room := m.width - len(marker)
	first := min(natural[0], max(nameMin, room/3), room)
	widths, used := []int{first}, first
	for _, width := range natural[1:] {
		left := room - used - 2
		if width > left {
			if left >= cutMin && width > 2*cutMin { // a long text, such as a user agent
				widths, used = append(widths, left), room
			}
			break
		}
		widths, used = append(widths, width), used+2+width
	}
	widths[0] = min(natural[0], first+room-used)
	return widths
}

func (m *Model) rowText(cells []string, widths []int, colour bool) string {
	var text strings.Builder
	for i, width := range widths {
		if i > 0 {
			text.WriteString("  ")
		}
		cell := ansi.Truncate(cells[i], width, "~")
		if colour && i > 0 {
			text.WriteString(output.Coloured(cell, false))
			text.WriteString(strings.Repeat(" ", width-ansi.StringWidth(cell)))
		} else {
			text.WriteString(pad(cell, width))
		}
	}
	return text.String()
}

// wrapped returns the lines of a detail at the width of the screen.
func (m *Model) wrapped(p *page) (lines []string) {
	for _, l := range p.content.lines {
		label := l.label
		for part := range strings.SplitSeq(ansi.Wrap(l.text, max(20, m.width-labelWidth), ""), "\n") {
			lines = append(lines, m.styled(bold, pad(label, labelWidth))+part)
			label = ""
		}
	}
	return lines
}

// scroll keeps the chosen row on the screen, and the text of a detail.
func (m *Model) scroll() {
	p, height := m.page(), m.bodyHeight()
	if m.detail != nil {
		p.top = max(0, min(p.top, len(m.wrapped(p))-height))
		return
	}
	index, _ := p.chosen()
	p.top = max(0, min(p.top, len(p.shown)-height))
	p.top = min(index, max(p.top, index-height+1))
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}
