package main

import (
	"regexp"
	"strings"
)

var (
	codeSpan = regexp.MustCompile("`+[^`]+`+")
	image    = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	link     = regexp.MustCompile(`\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])`)
	tag      = regexp.MustCompile(`<[^>\s][^>]*>`)
	address  = regexp.MustCompile(`\bhttps?://\S+`)
	emphasis = regexp.MustCompile(`\*+`)
	item     = regexp.MustCompile(`^\s*([-*+]|\d+[.)])\s+`)
	rule     = regexp.MustCompile(`^[\s|:-]+$`)
)

// plain removes the markup of a line. Code counts as one word.
func plain(s string) string {
	s = image.ReplaceAllString(s, "")
	s = codeSpan.ReplaceAllString(s, "Code")
	s = link.ReplaceAllString(s, "$1")
	s = address.ReplaceAllString(s, "Address")
	s = tag.ReplaceAllString(s, "")
	return emphasis.ReplaceAllString(s, "")
}

func checkPage(name, text string) ([]finding, error) {
	var found []finding
	area := areaOfPage(name)
	for _, p := range passages(text) {
		found = append(found, p.findings(area, name)...)
	}
	return found, nil
}

// page splits a document into passages.
type page struct {
	all  []passage
	text []string
	line int
}

func (p *page) end() {
	if len(p.text) > 0 {
		p.all = append(p.all, passage{line: p.line, text: plain(strings.Join(p.text, " "))})
	}
	p.text = nil
}

func (p *page) add(line int, s string) {
	if len(p.text) == 0 {
		p.line = line
	}
	p.text = append(p.text, strings.TrimSpace(s))
}

// passages returns the paragraphs, list items, headings and cells of a document, without
// code blocks, comments and the header at its top.
func passages(text string) []passage {
	var p page
	lines := strings.Split(text, "\n")
	fence, hidden, table := "", false, false
	for i, line := range lines {
		bare := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(bare, fence) {
				fence = ""
			}
			continue
		case i == 0 && bare == "---":
			p.end()
			fence = "---"
			continue
		case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"):
			p.end()
			fence = bare[:3]
			continue
		case hidden || strings.HasPrefix(bare, "<!--"):
			p.end()
			hidden = !strings.Contains(bare, "-->")
			continue
		}
		isRow := strings.HasPrefix(bare, "|")
		switch {
		case bare == "":
			p.end()
		case isRow:
			p.end()
			p.cells(i+1, bare, !table)
		case strings.HasPrefix(bare, "#"):
			p.end()
			p.all = append(p.all, passage{line: i + 1, text: plain(strings.TrimLeft(bare, "# ")), label: true})
		case item.MatchString(line):
			p.end()
			p.add(i+1, item.ReplaceAllString(line, ""))
		case len(p.text) == 0 && strings.HasPrefix(line, "    ") && !table:
			// An indented code block, or the second paragraph of an item: the latter is read.
			if i > 0 && strings.TrimSpace(lines[i-1]) == "" && indentedCode(lines[:i]) {
				continue
			}
			p.add(i+1, bare)
		default:
			p.add(i+1, strings.TrimPrefix(bare, "> "))
		}
		table = isRow
	}
	p.end()
	return p.all
}

// indentedCode returns whether indented text after these lines is code: it is not if it
// belongs to a list.
func indentedCode(before []string) bool {
	for i := len(before) - 1; i >= 0; i-- {
		line := before[i]
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "  ") {
			continue
		}
		return !item.MatchString(line)
	}
	return true
}

// cells adds the cells of a row of a table.
func (p *page) cells(line int, row string, header bool) {
	if rule.MatchString(row) {
		return
	}
	row = codeSpan.ReplaceAllString(strings.ReplaceAll(row, `\|`, "/"), "Code")
	for _, cell := range strings.Split(strings.Trim(row, "|"), "|") {
		if cell = strings.TrimSpace(plain(cell)); cell != "" {
			p.all = append(p.all, passage{line: line, text: cell, label: header})
		}
	}
}
