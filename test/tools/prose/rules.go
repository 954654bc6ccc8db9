package main

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// wordsMax is the length of a sentence in words.
const wordsMax = 25

var (
	opening    = regexp.MustCompile(`(?i)^(and |but |or |so )?(who|whoever|what|whatever|that which|those who)\b`)
	clause     = regexp.MustCompile(`(?i)[;:] (who|whoever|what|whatever|that which)\b`)
	definition = regexp.MustCompile(`(?i)\b(is|are|was|were)( for| that of)? (what|who|whom|whoever|how|when|where|why)\b`)
	person     = regexp.MustCompile(`(?i)\b(nobody|somebody|whoever)\b`)
)

// A passage is a text without markup: a paragraph, a cell, a literal or a comment.
type passage struct {
	line int
	text string
	// label means that the passage is a heading. Rules about openings and lengths do not apply.
	label bool
	// comment means that only the rules about definitions and private words apply.
	comment bool
}

// findings returns the rules that a passage breaks, each with the sentence.
func (p passage) findings(area, file string) []finding {
	var found []finding
	add := func(rule, text string) {
		found = append(found, finding{area, file, p.line, rule, excerpt(text)})
	}
	for _, s := range sentences(p.text) {
		question := strings.HasSuffix(s, "?")
		if !p.comment && !p.label {
			if n := words(s); n > wordsMax {
				add(strconv.Itoa(n)+" words", s)
			}
			if !question && words(s) > 2 && (opening.MatchString(s) || clause.MatchString(s)) {
				add("opening", s)
			}
			if m := person.FindString(s); m != "" {
				add(strings.ToLower(m), s)
			}
		}
		if m := definition.FindString(s); m != "" && !question {
			add(strings.ToLower(m), s)
		}
		for _, w := range privateWords(s, file) {
			add("private word "+w, s)
		}
	}
	return found
}

func excerpt(s string) string {
	const most = 160
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// words counts the words of a sentence. A word has a letter or a digit.
func words(s string) int {
	n := 0
	for _, field := range strings.Fields(s) {
		if strings.IndexFunc(field, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0 {
			n++
		}
	}
	return n
}

// abbreviations end with a period that ends no sentence.
var abbreviations = []string{"e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "no.", "st."}

// sentences splits a text after a period, a question mark or an exclamation mark that a
// space and a capital letter, a digit or a quotation mark follow.
func sentences(text string) []string {
	text = strings.Join(strings.Fields(text), " ")
	var all []string
	start := 0
	for i := 0; i < len(text); i++ {
		if !strings.ContainsRune(".?!", rune(text[i])) {
			continue
		}
		end := i + 1
		for end < len(text) && strings.ContainsRune(`"')*_`, rune(text[end])) {
			end++
		}
		if end+1 >= len(text) || text[end] != ' ' || !begins(text[end+1:]) || abbreviated(text[start:i+1]) {
			continue
		}
		all = append(all, strings.TrimSpace(text[start:end]))
		start = end + 1
	}
	if rest := strings.TrimSpace(text[start:]); rest != "" {
		all = append(all, rest)
	}
	return all
}

func begins(s string) bool {
	for _, r := range s {
		if strings.ContainsRune(`"'(*_`, r) {
			continue
		}
		return unicode.IsUpper(r) || unicode.IsDigit(r)
	}
	return false
}

func abbreviated(s string) bool {
	fields := strings.Fields(s)
	if len(fields) == 0 {
		return false
	}
	last := strings.ToLower(strings.TrimLeft(fields[len(fields)-1], "(\"'"))
	for _, a := range abbreviations {
		if last == a {
			return true
		}
	}
	return false
}
