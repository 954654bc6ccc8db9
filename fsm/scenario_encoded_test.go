package fsm

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
)

// unescaped replaces escapes such as \x00 and \u00e9 by their characters.
func unescaped(text string) string {
	if !strings.ContainsRune(text, '\\') {
		return text
	}
	plain, err := strconv.Unquote(`"` + strings.ReplaceAll(text, `"`, `\"`) + `"`)
	if err != nil {
		return text
	}
	return plain
}

// escaped quotes a text that is not printable ASCII.
func escaped(text string) string {
	if quoted := strconv.QuoteToASCII(text); quoted[1:len(quoted)-1] != text {
		return quoted
	}
	return text
}

func encoded(format, sections string) *queue.Encoded {
	if format == "bytes" {
		return &queue.Encoded{Format: message.FormatBytes}
	}
	return &queue.Encoded{Format: message.FormatAMQP, Sections: unescaped(sections)}
}

// change reads name:value in a scope.
func change(scope, text string) queue.PropertyChange {
	name, value, _ := strings.Cut(text, ":")
	c := queue.PropertyChange{Name: unescaped(name), Value: unescaped(value)}
	if scope == "sys" {
		c.Scope = message.ScopeSystem
	}
	if size, big := strings.CutPrefix(value, "bytes:"); big {
		n, _ := strconv.Atoi(size)
		c.Value = strings.Repeat("x", n)
	}
	return c
}

// parts shows what a message has beside text.
func parts(e *queue.Encoded) (text string) {
	if e == nil {
		return ""
	}
	text = [...]string{"", " bytes", " amqp"}[e.Format]
	if e.Sections != "" {
		text += fmt.Sprintf("=%q", e.Sections)
	}
	for _, c := range e.Changes {
		text += fmt.Sprintf(" %s=%s:%s", [...]string{"user", "sys"}[c.Scope], c.Name, escaped(c.Value))
	}
	return text
}
