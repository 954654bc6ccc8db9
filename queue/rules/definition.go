package rules

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/property"
)

// Kind is the kind of a filter. The numbers are stored.
type Kind uint8

// The kinds of filters.
const (
	KindTrue        Kind = 1
	KindFalse       Kind = 2
	KindSQL         Kind = 3
	KindCorrelation Kind = 4
)

// Definition is a rule as clients write it, and as the log and snapshots hold it.
type Definition struct {
	Name string
	Kind Kind
	SQL  *Expression // of KindSQL only
	// System and Application are the conditions of KindCorrelation. System has the names of system
	// properties, with strings.
	System      []Parameter
	Application []Parameter
	Action      *Expression // nil: none
}

// Expression is a condition or an action in SQL.
type Expression struct {
	Text       string // as typed
	Canonical  string // empty until [Definition.InCanonicalForm] sets it
	Parameters []Parameter
}

// Parameter is a name with a value in its AMQP encoding.
type Parameter struct {
	Name  string
	Value string
}

// DefaultName is the name of the rule with which a subscription begins. It selects every message.
const DefaultName = "$Default"

// Limits of a definition. NameLengthMax is that of Azure Service Bus, DefinitionBytesMax ours.
const (
	NameLengthMax      = 50       // characters
	DefinitionBytesMax = 64 << 10 // of all names, texts and values
)

// NewParameter encodes a value.
func NewParameter(name string, v property.Value) Parameter {
	return Parameter{Name: name, Value: string(property.Append(nil, v))}
}

// CheckName refuses a name that no rule can have.
func CheckName(name string) error {
	n := utf8.RuneCountInString(name)
	if n == 0 || n > NameLengthMax || !utf8.ValidString(name) || strings.ContainsAny(name, `@?#*/\`) ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7F }) {
		return errors.New("the name of a rule has 1 to " + strconv.Itoa(NameLengthMax) +
			` characters, without control characters and @ ? # * / \`)
	}
	return nil
}

// InCanonicalForm parses the definition of a client. It returns the definition with canonical texts,
// and with sorted parameters and conditions.
func (d Definition) InCanonicalForm() (Definition, error) {
	if err := d.check(); err != nil {
		return Definition{}, err
	}
	if d.SQL != nil {
		parameters, err := valuesOf(d.SQL.Parameters)
		if err != nil {
			return Definition{}, err
		}
		f, err := ParseSQL(d.SQL.Text, parameters)
		if err != nil {
			return Definition{}, err
		}
		d.SQL = &Expression{Text: d.SQL.Text, Canonical: f.String(), Parameters: parametersOf(f.parameters)}
	}
	if d.Kind == KindCorrelation {
		f, err := d.correlation()
		if err != nil {
			return Definition{}, err
		}
		d.System, d.Application = nil, parametersOf(f.application)
		for _, c := range f.system {
			d.System = append(d.System, NewParameter(c.Property.String(), property.String(c.Value)))
		}
	}
	if d.Action != nil {
		parameters, err := valuesOf(d.Action.Parameters)
		if err != nil {
			return Definition{}, err
		}
		a, err := ParseAction(d.Action.Text, parameters)
		if err != nil {
			return Definition{}, err
		}
		d.Action = &Expression{Text: d.Action.Text, Canonical: a.String(), Parameters: parametersOf(a.parameters)}
	}
	return d, d.checkSize()
}

// check checks which parts the definition has, and their sizes.
func (d *Definition) check() error {
	if err := CheckName(d.Name); err != nil {
		return err
	}
	switch {
	case d.Kind < KindTrue || d.Kind > KindCorrelation:
		return errors.New("the kind of the filter is unknown")
	case (d.Kind == KindSQL) != (d.SQL != nil):
		return errors.New("a SQL filter has an expression, and other filters have none")
	case d.Kind != KindCorrelation && len(d.System)+len(d.Application) > 0:
		return errors.New("only a correlation filter has conditions")
	}
	return d.checkSize()
}

func (d *Definition) checkSize() error {
	if d.Bytes() > DefinitionBytesMax {
		return errors.New("a rule can have " + strconv.Itoa(DefinitionBytesMax>>10) + " KiB")
	}
	return nil
}

// Bytes returns the bytes of all names, texts and values.
func (d *Definition) Bytes() int {
	n := len(d.Name) + bytesOf(d.System) + bytesOf(d.Application)
	for _, e := range [...]*Expression{d.SQL, d.Action} {
		if e != nil {
			n += len(e.Text) + len(e.Canonical) + bytesOf(e.Parameters)
		}
	}
	return n
}

func bytesOf(list []Parameter) (n int) {
	for i := range list {
		n += len(list[i].Name) + len(list[i].Value)
	}
	return n
}

// correlation returns the correlation filter of the definition.
func (d *Definition) correlation() (*CorrelationFilter, error) {
	system := make([]SystemCondition, 0, len(d.System))
	for _, p := range d.System {
		of, ok := property.ParseSystem(p.Name)
		if !ok {
			return nil, errors.New("the system property " + shortened(p.Name) + " is unknown")
		}
		v, err := property.Decode(p.Value)
		if err != nil || v.Kind() != property.KindString {
			return nil, errors.New("the value of sys." + of.String() + " is no string")
		}
		system = append(system, SystemCondition{Property: of, Value: v.Str()})
	}
	application, err := valuesOf(d.Application)
	if err != nil {
		return nil, err
	}
	return NewCorrelationFilter(system, application)
}

func valuesOf(list []Parameter) ([]property.Named, error) {
	var out []property.Named
	for _, p := range list {
		v, err := property.Decode(p.Value)
		if err != nil {
			return nil, errors.New("the value of " + shortened(p.Name) + " is invalid: " + err.Error())
		}
		out = append(out, property.Named{Name: p.Name, Value: v})
	}
	return out, nil
}

func parametersOf(list []property.Named) []Parameter {
	var out []Parameter
	for _, n := range list {
		out = append(out, NewParameter(n.Name, n.Value))
	}
	return out
}

// Compile builds filter and action from the canonical form. The action is nil if there is none.
func (d *Definition) Compile() (f Filter, a *Action, err error) {
	if err := d.check(); err != nil {
		return nil, nil, err
	}
	switch d.Kind {
	case KindTrue:
		f = TrueFilter{}
	case KindFalse:
		f = FalseFilter{}
	case KindCorrelation:
		f, err = d.correlation()
	case KindSQL:
		f, err = compileSQL(d.SQL)
	}
	if err == nil && d.Action != nil {
		a, err = compileAction(d.Action)
	}
	if err != nil {
		return nil, nil, err
	}
	return f, a, nil
}

func compileSQL(e *Expression) (Filter, error) {
	parameters, err := valuesOf(e.Parameters)
	if err != nil {
		return nil, err
	}
	return RestoreSQL(e.Canonical, parameters)
}

func compileAction(e *Expression) (*Action, error) {
	parameters, err := valuesOf(e.Parameters)
	if err != nil {
		return nil, err
	}
	return RestoreAction(e.Canonical, parameters)
}

// equal compares definitions in canonical form.
func (d *Definition) equal(other *Definition) bool {
	return d.Name == other.Name && d.Kind == other.Kind && d.SQL.equal(other.SQL) && d.Action.equal(other.Action) &&
		slices.Equal(d.System, other.System) && slices.Equal(d.Application, other.Application)
}

func (e *Expression) equal(other *Expression) bool {
	if e == nil || other == nil {
		return e == other
	}
	return e.Text == other.Text && e.Canonical == other.Canonical && slices.Equal(e.Parameters, other.Parameters)
}
