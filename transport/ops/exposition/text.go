package exposition

import (
	"math"
	"strconv"
	"strings"
)

// ContentType is that of the text format.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Kinds of families.
const (
	Counter = "counter"
	Gauge   = "gauge"
)

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// Text is a document that grows at its end. Used by one goroutine.
type Text struct {
	Bytes  []byte
	family string
}

// Family begins a family: all series up to the next one belong to it.
func (t *Text) Family(name, kind, help string) {
	t.family = name
	t.Bytes = append(t.Bytes, "# HELP "...)
	t.Bytes = append(t.Bytes, name...)
	t.Bytes = append(t.Bytes, ' ')
	t.Bytes = append(t.Bytes, helpEscapes.Replace(help)...)
	t.Bytes = append(t.Bytes, "\n# TYPE "...)
	t.Bytes = append(t.Bytes, name...)
	t.Bytes = append(t.Bytes, ' ')
	t.Bytes = append(t.Bytes, kind...)
	t.Bytes = append(t.Bytes, '\n')
}

// Labels are the labels of a series as they stand between the braces.
func Labels(pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(pairs[i])
		b.WriteString(`="`)
		b.WriteString(valueEscapes.Replace(pairs[i+1]))
		b.WriteByte('"')
	}
	return b.String()
}

// Series appends one series of the family. The labels, which may be empty, were made
// by Labels.
func (t *Text) Series(labels string, value float64) {
	t.Bytes = append(t.Bytes, t.family...)
	if labels != "" {
		t.Bytes = append(t.Bytes, '{')
		t.Bytes = append(t.Bytes, labels...)
		t.Bytes = append(t.Bytes, '}')
	}
	t.Bytes = append(t.Bytes, ' ')
	switch whole := int64(value); {
	case float64(whole) == value && whole < 1<<53:
		t.Bytes = strconv.AppendInt(t.Bytes, whole, 10)
	case math.IsInf(value, 1):
		t.Bytes = append(t.Bytes, "+Inf"...)
	case math.IsInf(value, -1):
		t.Bytes = append(t.Bytes, "-Inf"...)
	default:
		t.Bytes = strconv.AppendFloat(t.Bytes, value, 'g', -1, 64)
	}
	t.Bytes = append(t.Bytes, '\n')
}
