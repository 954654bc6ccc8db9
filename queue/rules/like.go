package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/property"
)

// pattern is a compiled pattern of LIKE: segments with any text between them.
type pattern struct {
	segments []segment
	openFrom bool // any text may precede the first segment
	openTo   bool // any text may follow the last one
}

// segment is a part of a pattern without %.
type segment struct {
	literal string // if there is no _
	runes   []rune // else; anyRune for _
}

const anyRune = -1

// escapeRune returns an escape character.
func escapeRune(v property.Value) (rune, bool) {
	r, size := utf8.DecodeRuneInString(v.Str())
	return r, v.Kind() == property.KindString && size > 0 && size == len(v.Str())
}

// compile compiles a pattern. It is not ok if the pattern ends with its escape character. An escape
// of another kind than a string means that there is none.
func compile(text string, escape property.Value) (p *pattern, ok bool) {
	escapes, hasEscape := escapeRune(escape)
	p = &pattern{}
	var runes []rune
	escaped, open := false, false
	flush := func() {
		if len(runes) > 0 {
			p.segments = append(p.segments, newSegment(runes))
			runes = nil
		}
	}
	for i, r := range text {
		open = false
		switch {
		case escaped:
			escaped = false
			runes = append(runes, r)
		case hasEscape && r == escapes:
			escaped = true
		case r == '%':
			flush()
			open = true
			p.openFrom = p.openFrom || i == 0
		case r == '_':
			runes = append(runes, anyRune)
		default:
			runes = append(runes, r)
		}
	}
	flush()
	p.openTo = open
	return p, !escaped
}

func newSegment(runes []rune) segment {
	if slices.Contains(runes, anyRune) {
		return segment{runes: runes}
	}
	return segment{literal: string(runes)}
}

// match reports whether a text matches, and counts the steps.
func (p *pattern) match(text string, steps *int) bool {
	segments := p.segments
	if len(segments) > 0 && !p.openFrom {
		n, ok := segments[0].prefix(text, steps)
		if !ok {
			return false
		}
		text, segments = text[n:], segments[1:]
	}
	if len(segments) == 0 {
		return text == "" || p.openTo || p.openFrom
	}
	last := len(segments)
	if !p.openTo {
		last--
		n, ok := segments[last].suffix(text, steps)
		if !ok {
			return false
		}
		text = text[:len(text)-n]
	}
	for i := range segments[:last] {
		n, ok := segments[i].find(text, steps)
		if !ok {
			return false
		}
		text = text[n:]
	}
	return true
}

// prefix returns the length of the segment at the start of a text.
func (s *segment) prefix(text string, steps *int) (int, bool) {
	if s.literal != "" {
		return len(s.literal), strings.HasPrefix(text, s.literal)
	}
	at := 0
	for _, want := range s.runes {
		*steps++
		r, size := utf8.DecodeRuneInString(text[at:])
		if size == 0 || want != anyRune && want != r {
			return 0, false
		}
		at += size
	}
	return at, true
}

// suffix returns the length of the segment at the end of a text.
func (s *segment) suffix(text string, steps *int) (int, bool) {
	if s.literal != "" {
		return len(s.literal), strings.HasSuffix(text, s.literal)
	}
	at := len(text)
	for range s.runes {
		*steps++
		_, size := utf8.DecodeLastRuneInString(text[:at])
		if size == 0 {
			return 0, false
		}
		at -= size
	}
	return s.prefix(text[at:], steps)
}

// find returns the end of the first occurrence of the segment in a text.
func (s *segment) find(text string, steps *int) (int, bool) {
	if s.literal != "" {
		*steps += len(text) / 16
		at := strings.Index(text, s.literal)
		return at + len(s.literal), at >= 0
	}
	for at := range text {
		if n, ok := s.prefix(text[at:], steps); ok {
			return at + n, true
		}
		if *steps > stepsMax {
			break
		}
	}
	return 0, false
}
