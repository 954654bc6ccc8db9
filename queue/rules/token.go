package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/lettercase"
)

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	tokenEnd       tokenKind = iota
	tokenWord                // a name or a scope without delimiters
	tokenDelimited           // a name in brackets or double quotes
	tokenKeyword             // text is in upper case
	tokenString
	tokenInteger
	tokenDouble
	tokenParameter // text begins with @
	tokenSymbol
)

// token is a token of an expression.
type token struct {
	kind tokenKind
	text string // without delimiters
	from int
	to   int
}

var keywords = []string{
	"AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "ESCAPE", "EXISTS", "TRUE", "FALSE", "SET", "REMOVE",
}

// keyword returns the reserved word that a word is, in upper case.
func keyword(word string) (string, bool) {
	for _, k := range keywords {
		if lettercase.Equal(word, k) {
			return k, true
		}
	}
	return "", false
}

// scan splits an expression into tokens. The last one is a tokenEnd.
func scan(text string) ([]token, error) {
	var tokens []token
	for at := 0; ; {
		for at < len(text) && isSpace(text[at]) {
			at++
		}
		if at == len(text) {
			return append(tokens, token{kind: tokenEnd, from: at, to: at}), nil
		}
		t, problem := next(text, at)
		if problem != "" {
			return nil, syntaxError(text, t.from, t.to, problem)
		}
		tokens = append(tokens, t)
		at = t.to
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// next reads the token at a position.
func next(text string, at int) (t token, problem string) {
	r, size := utf8.DecodeRuneInString(text[at:])
	if r == utf8.RuneError && size == 1 {
		return token{from: at, to: at + 1}, "the expression is not valid UTF-8"
	}
	switch {
	case r == '\'':
		return delimited(text, at, tokenString, '\'', "a string has no end: a quotation mark is missing")
	case r == '[':
		return delimited(text, at, tokenDelimited, ']', "a name has no end: a bracket is missing")
	case r == '"':
		return delimited(text, at, tokenDelimited, '"', "a name has no end: a quotation mark is missing")
	case r == '@':
		end := wordEnd(text, at+1)
		if end == at+1 || isDigit(text[at+1]) {
			return token{from: at, to: end}, "the name of a parameter begins with a letter"
		}
		return token{tokenParameter, text[at:end], at, end}, ""
	case isDigit(text[at]), r == '.' && at+1 < len(text) && isDigit(text[at+1]):
		return number(text, at)
	case isLetter(r):
		end := wordEnd(text, at)
		if k, ok := keyword(text[at:end]); ok {
			return token{tokenKeyword, k, at, end}, ""
		}
		return token{tokenWord, text[at:end], at, end}, ""
	}
	for _, symbol := range []string{"<>", "!=", ">=", "<=", "=", ">", "<", "+", "-", "*", "/", "%", "(", ")", ",", ".", ";"} {
		if strings.HasPrefix(text[at:], symbol) {
			return token{tokenSymbol, symbol, at, at + len(symbol)}, ""
		}
	}
	problem = "the character has no meaning here"
	if r == '_' {
		problem = "a name that does not begin with a letter needs brackets: [_name]"
	}
	return token{from: at, to: at + size}, problem
}

// delimited reads a token up to its closing character, which is doubled inside.
func delimited(text string, at int, kind tokenKind, closing byte, unclosed string) (token, string) {
	var inner strings.Builder
	for i := at + 1; i < len(text); {
		n := strings.IndexByte(text[i:], closing)
		if n < 0 {
			break
		}
		inner.WriteString(text[i : i+n])
		i += n + 1
		if i < len(text) && text[i] == closing {
			inner.WriteByte(closing)
			i++
			continue
		}
		t := token{kind, inner.String(), at, i}
		switch {
		case !utf8.ValidString(t.text):
			return t, "the expression is not valid UTF-8"
		case kind == tokenDelimited && t.text == "":
			return t, "a name is empty"
		}
		return t, ""
	}
	return token{from: at, to: len(text)}, unclosed
}

// number reads an integer or a number with a point or an exponent.
func number(text string, at int) (token, string) {
	t := token{tokenInteger, "", at, digitsEnd(text, at)}
	if t.to < len(text) && text[t.to] == '.' {
		t.kind = tokenDouble
		end := digitsEnd(text, t.to+1)
		if end == t.to+1 {
			t.to = end
			return t, "digits must follow the point"
		}
		t.to = end
	}
	if t.to < len(text) && (text[t.to] == 'E' || text[t.to] == 'e') {
		t.kind = tokenDouble
		digits := t.to + 1
		if digits < len(text) && (text[digits] == '+' || text[digits] == '-') {
			digits++
		}
		end := digitsEnd(text, digits)
		if end == digits {
			t.to = end
			return t, "digits must follow the E of an exponent"
		}
		t.to = end
	}
	if end := wordEnd(text, t.to); end > t.to {
		t.to = end
		return t, "a letter follows a number; a name that begins with a digit needs brackets: [1st]"
	}
	t.text = text[at:t.to]
	return t, ""
}

func digitsEnd(text string, at int) int {
	for at < len(text) && isDigit(text[at]) {
		at++
	}
	return at
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	return unicode.IsLetter(r)
}

// wordEnd returns the end of the letters, digits and underscores from a position.
func wordEnd(text string, at int) int {
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !isLetter(r) && r != '_' && !(r < utf8.RuneSelf && isDigit(byte(r))) && !(r >= utf8.RuneSelf && unicode.IsDigit(r)) {
			break
		}
		at += size
	}
	return at
}
