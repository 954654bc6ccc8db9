package iam

import "strings"

// match reports whether the patterns match a text, with the values of variables in the request. If a
// variable of a negated pattern has no value, a denial matches and a permission does not.
func (p patterns) match(text string, deny bool, r *Request) bool {
	for _, pattern := range p.texts {
		matched, known := matchVariables(pattern, text, r)
		if matched {
			return !p.negated
		}
		if !known && p.negated {
			return deny
		}
	}
	return p.negated
}

// matchVariables matches a pattern with variables such as ${aws:username}. A pattern with a variable
// without a value is not known and matches nothing. Wildcards in values are literal.
func matchVariables(pattern, text string, r *Request) (matched, known bool) {
	plain, known := replaced(pattern, r)
	return known && matchWildcards(plain, text), known
}

// replaced returns a pattern with the values of its variables.
func replaced(pattern string, r *Request) (plain string, known bool) {
	if !strings.Contains(pattern, "${") {
		return pattern, true
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(pattern, "${")
		b.WriteString(before)
		if !found {
			return b.String(), true
		}
		name, after, closed := strings.Cut(rest, "}")
		value, known := variable(name, r)
		if !closed || !known {
			return "", false
		}
		b.WriteString(value)
		pattern = after
	}
}

// literally returns a text without wildcards, with the values of its variables.
func literally(text string, r *Request) (plain string, known bool) {
	plain, known = replaced(text, r)
	return strings.NewReplacer(literalStar, "*", literalQuestion, "?").Replace(plain), known
}

// withoutVariables returns a pattern with * for each variable.
func withoutVariables(path, pattern string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(pattern, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", problem(path, "the variable ${%s is not closed", name)
		}
		if !contains(variables, strings.ToLower(name)) {
			return "", problem(path, "there is no variable ${%s}%s", name, suggest(name, variables))
		}
		b.WriteByte('*')
		pattern = after
	}
}

// Placeholders for literal * and ? in a pattern. No policy and no request contains them.
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
		case star >= 0: // the last star matches one more character
			resume++
			p, t = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// literal returns the character of a placeholder, or else the byte itself.
func literal(c byte) byte {
	switch c {
	case literalStar[0]:
		return '*'
	case literalQuestion[0]:
		return '?'
	}
	return c
}
