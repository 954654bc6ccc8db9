package iam

import "strings"

// match reports whether text is one that the patterns name. Variables in them are
// replaced by what the request says.
func (p patterns) match(text string, r *Request) bool {
	if p.texts == nil {
		return true
	}
	for _, pattern := range p.texts {
		if matchVariables(pattern, text, r) {
			return !p.negated
		}
	}
	return p.negated
}

// matchVariables matches a pattern with variables such as ${aws:username}. A pattern with
// a variable that has no value matches nothing. What a variable stands for is text: its
// wildcards are none.
func matchVariables(pattern, text string, r *Request) bool {
	if !strings.Contains(pattern, "${") {
		return matchWildcards(pattern, text)
	}
	var plain strings.Builder
	for {
		before, rest, found := strings.Cut(pattern, "${")
		plain.WriteString(before)
		if !found {
			return matchWildcards(plain.String(), text)
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return false
		}
		value, known := variable(name, r)
		if !known {
			return false
		}
		plain.WriteString(value)
		pattern = after
	}
}

// Characters that stand for literal * and ? while a pattern is matched. They are in no text
// that a policy or a request may have.
const (
	literalStar     = "\x00"
	literalQuestion = "\x01"
)

func variable(name string, r *Request) (string, bool) {
	switch name {
	case "*":
		return literalStar, true
	case "?":
		return literalQuestion, true
	case "$":
		return "$", true
	}
	values := r.Keys[strings.ToLower(name)]
	if len(values) != 1 {
		return "", false
	}
	return strings.NewReplacer("*", literalStar, "?", literalQuestion).Replace(values[0]), true
}

// matchWildcards matches * as any run of characters and ? as one.
func matchWildcards(pattern, text string) bool {
	star, resume := -1, 0
	p, t := 0, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t] || literal(pattern[p]) == text[t]):
			p++
			t++
		case star >= 0: // let the last star have one character more
			resume++
			p, t = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// literal is the character that a placeholder stands for, else the byte itself.
func literal(c byte) byte {
	switch c {
	case literalStar[0]:
		return '*'
	case literalQuestion[0]:
		return '?'
	}
	return c
}
