package rules

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SyntaxError is an error in a SQL expression.
type SyntaxError struct {
	Line   int // from 1
	Column int // in characters, from 0
	Token  string
	Detail string
}

// Error returns the error in the format of Azure Service Bus.
func (e *SyntaxError) Error() string {
	return "There was an error parsing the SQL expression. [Token line=" + strconv.Itoa(e.Line) + ", column=" + strconv.Itoa(e.Column) +
		", Token in error= " + e.Token + ", Additional details= " + e.Detail + "]"
}

// tokenLengthMax bounds a token that an error quotes.
const tokenLengthMax = 64

// syntaxError returns an error about text[from:to].
func syntaxError(text string, from, to int, detail string) error {
	before := text[:from]
	line := 1 + strings.Count(before, "\n")
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return &SyntaxError{line, column, shortened(text[from:to]), detail}
}

func shortened(token string) string {
	if len(token) <= tokenLengthMax {
		return strings.ToValidUTF8(token, "\ufffd")
	}
	return strings.ToValidUTF8(token[:tokenLengthMax], "") + "..."
}

// tooLong returns an error about the length of an expression.
func tooLong(length int) error {
	return errors.New("the SQL expression has " + strconv.Itoa(length) + " characters, at most " + strconv.Itoa(LengthMax) + " are allowed")
}
