package rules

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/lettercase"
	"github.com/seriatimq/seriatim/queue/property"
)

// Filter selects messages. It is a [TrueFilter], a [FalseFilter], a [*SQLFilter] or a
// [*CorrelationFilter]. It is immutable and safe for concurrent use.
type Filter interface {
	// Evaluate returns the result for a message. A fault means that there is none.
	Evaluate(m Message) (Truth, property.Fault)
	// Explain evaluates each part of the filter by itself.
	Explain(m Message) Explanation
	// String returns the filter as SQL. That of a SQLFilter is the canonical text.
	String() string
}

// TrueFilter selects every message.
type TrueFilter struct{}

// Evaluate returns True.
func (TrueFilter) Evaluate(Message) (Truth, property.Fault) { return True, property.OK }

// Explain returns an explanation without parts.
func (f TrueFilter) Explain(Message) Explanation { return Explanation{Text: f.String(), Result: True} }

// String returns 1 = 1, which the vendor uses, too.
func (TrueFilter) String() string { return "1 = 1" }

// FalseFilter selects no message.
type FalseFilter struct{}

// Evaluate returns False.
func (FalseFilter) Evaluate(Message) (Truth, property.Fault) { return False, property.OK }

// Explain returns an explanation without parts.
func (f FalseFilter) Explain(Message) Explanation {
	return Explanation{Text: f.String(), Result: False}
}

// String returns 1 = 0.
func (FalseFilter) String() string { return "1 = 0" }

// SQLFilter is a condition in SQL.
type SQLFilter struct {
	root       node
	text       string
	parameters []property.Named
}

// ParseSQL parses a SQL filter of at most LengthMax characters with the values of its parameters.
// The name of a parameter is like @name; the @ can be omitted.
func ParseSQL(text string, parameters []property.Named) (*SQLFilter, error) {
	return parseFilter(text, parameters, false)
}

// RestoreSQL parses the canonical text of a SQL filter.
func RestoreSQL(canonical string, parameters []property.Named) (*SQLFilter, error) {
	return parseFilter(canonical, parameters, true)
}

func parseFilter(text string, parameters []property.Named, canonical bool) (*SQLFilter, error) {
	parameters, err := checkParameters(parameters)
	if err != nil {
		return nil, err
	}
	p, err := newParser(text, parameters, canonical)
	if err != nil {
		return nil, err
	}
	root := p.condition(func() node {
		n := p.any()
		p.end("an operator")
		return n
	})
	if p.err != nil {
		return nil, p.err
	}
	return &SQLFilter{root: root, text: root.text(), parameters: parameters}, nil
}

// Evaluate returns the result for a message.
func (f *SQLFilter) Evaluate(m Message) (Truth, property.Fault) {
	e := evaluator{message: m}
	result := e.test(&f.root)
	if e.fault != property.OK {
		return Unknown, e.fault
	}
	return result, property.OK
}

// String returns the canonical text.
func (f *SQLFilter) String() string { return f.text }

// Parameters returns the parameters, sorted by name. Names begin with @.
func (f *SQLFilter) Parameters() []property.Named { return slices.Clone(f.parameters) }

// ParametersMax bounds the parameters of an expression; ours.
const ParametersMax = 100

// checkParameters returns the parameters sorted by name, with @.
func checkParameters(parameters []property.Named) ([]property.Named, error) {
	if len(parameters) > ParametersMax {
		return nil, errors.New("a SQL expression can have " + strconv.Itoa(ParametersMax) + " parameters")
	}
	var checked []property.Named
	for _, p := range parameters {
		p.Name = "@" + strings.TrimPrefix(p.Name, "@")
		word := p.Name[1:]
		if word == "" || isDigit(word[0]) || wordEnd(word, 0) != len(word) || !isASCII(word) || len(word) > LengthMax {
			return nil, errors.New("the name of the parameter " + shortened(p.Name) +
				" is invalid: it can have letters of ASCII, digits and underscores")
		}
		if err := checkValue(p.Value); err != "" {
			return nil, errors.New("the value of the parameter " + shortened(p.Name) + " is invalid: " + err)
		}
		checked = append(checked, p)
	}
	slices.SortFunc(checked, func(a, b property.Named) int { return lettercase.Compare(a.Name, b.Name) })
	for i := 1; i < len(checked); i++ {
		if lettercase.Equal(checked[i-1].Name, checked[i].Name) {
			return nil, errors.New("the parameter " + shortened(checked[i].Name) + " has two values")
		}
	}
	return checked, nil
}

// checkValue returns the reason why a rule cannot have a value, or "".
func checkValue(v property.Value) string {
	switch v.Kind() {
	case property.KindNone:
		return "it has none"
	case property.KindBinary:
		return "binary values cannot be compared"
	case property.KindString:
		if !utf8.ValidString(v.Str()) {
			return "it is not valid UTF-8"
		}
		if utf8.RuneCountInString(v.Str()) > LengthMax {
			return "it has more than " + strconv.Itoa(LengthMax) + " characters"
		}
	default:
	}
	return ""
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
