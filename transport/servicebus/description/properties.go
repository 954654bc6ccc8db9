package description

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/attributes"
)

// Property is a property of an entity as text.
type Property struct{ Name, Value string }

// Refused refuses a property.
type Refused struct{ Property, Text string }

// Error returns the text, in the words of Service Bus where they are known.
func (e *Refused) Error() string { return e.Text }

// unsupported refuses a value that an entity cannot have.
func unsupported(name, value, rule string) *Refused {
	return &Refused{name, "The property " + name + " cannot be '" + value + "' here. It must be " + rule + "."}
}

// property is a property of entities whose values an E holds.
type property[E any] struct {
	name  string
	fixed bool // at creation
	set   func(e *E, value string) error
	print func(e *E) string
}

// Schema has the properties of a kind of entity, whose values an E holds, in the order of descriptions.
type Schema[E any] struct {
	// Kind is the name of the kind, such as Queue.
	Kind       string
	properties []property[E]
	readOnly   []string // clients send them back as they got them
}

// Set changes a property. The present value of a property is never out of range. The error is a
// *Refused.
func (s *Schema[E]) Set(e *E, name, value string) error {
	for i := range s.properties {
		if s.properties[i].name == name {
			return s.properties[i].set(e, value)
		}
	}
	if slices.Contains(s.readOnly, name) {
		return nil
	}
	return &Refused{Property: name, Text: "There is no property " + name + "."}
}

// SetAll changes properties, and returns those that are refused.
func (s *Schema[E]) SetAll(e *E, list []Property) (refused []*Refused) {
	for _, p := range list {
		if err, ok := errors.AsType[*Refused](s.Set(e, p.Name, p.Value)); ok {
			refused = append(refused, err)
		}
	}
	return refused
}

// Get returns a property as text.
func (s *Schema[E]) Get(e *E, name string) string {
	for i := range s.properties {
		if s.properties[i].name == name {
			return s.properties[i].print(e)
		}
	}
	return ""
}

// List returns the properties that have a value.
func (s *Schema[E]) List(e *E) (list []Property) {
	for _, p := range s.properties {
		if value := p.print(e); value != "" {
			list = append(list, Property{p.name, value})
		}
	}
	return list
}

// CheckFixed refuses changes that only a new entity may have. The error is a *Refused.
func (s *Schema[E]) CheckFixed(e, before *E) error {
	for _, p := range s.properties {
		if p.fixed && p.print(e) != p.print(before) {
			return &Refused{p.name, "The value for the " + p.name + " property of an existing " + s.Kind + " can't be changed."}
		}
	}
	return nil
}

func fixed[E any](p property[E]) property[E] {
	p.fixed = true
	return p
}

func duration[E any](name string, longest int64, field func(*E) *int64) property[E] {
	return property[E]{name: name, set: func(e *E, value string) error {
		seconds, ok := ParseDuration(value)
		if !ok {
			return noDuration(name, value)
		}
		if (seconds < 1 || seconds > longest) && seconds != *field(e) {
			return OutOfRange(name, FormatTimeSpan(1), FormatTimeSpan(longest), FormatTimeSpan(seconds))
		}
		*field(e) = seconds
		return nil
	}, print: func(e *E) string { return FormatDuration(*field(e)) }}
}

func number[E any](name string, largest int64, field func(*E) *int64) property[E] {
	return property[E]{name: name, set: func(e *E, value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || (n < 1 || n > largest) && n != *field(e) {
			return OutOfRange(name, "1", strconv.FormatInt(largest, 10), value)
		}
		*field(e) = n
		return nil
	}, print: func(e *E) string { return strconv.FormatInt(*field(e), 10) }}
}

// OutOfRange refuses a value in the words of Service Bus.
func OutOfRange(name, least, most, value string) *Refused {
	return &Refused{name, "The value supplied must be between " + least + " and " + most + ".\nParameter name: " + name +
		"\nActual value was " + value + "."}
}

func flag[E any](name string, field func(*E) *bool) property[E] {
	return property[E]{name: name, set: func(e *E, value string) error {
		on, err := strconv.ParseBool(strings.ToLower(value))
		if err != nil {
			return &Refused{name, "The property " + name + " cannot be '" + value + "': it must be true or false."}
		}
		*field(e) = on
		return nil
	}, print: func(e *E) string { return strconv.FormatBool(*field(e)) }}
}

// inverse is a flag whose field is true for false.
func inverse[E any](p property[E], field func(*E) *bool) property[E] {
	direct := p.set
	p.set = func(e *E, value string) error {
		err := direct(e, value)
		if err == nil {
			*field(e) = !*field(e)
		}
		return err
	}
	p.print = func(e *E) string { return strconv.FormatBool(!*field(e)) }
	return p
}

// constant is a property with only one value, which may be empty.
func constant[E any](name, only string) property[E] {
	rule := only
	if only == "" {
		rule = "empty"
	}
	return property[E]{name: name, set: func(_ *E, value string) error {
		if !strings.EqualFold(value, only) {
			return unsupported(name, value, rule)
		}
		return nil
	}, print: func(*E) string { return only }}
}

func status[E any](field func(*E) *attributes.Status, allowed ...attributes.Status) property[E] {
	var names []string
	for _, one := range allowed {
		names = append(names, one.String())
	}
	return property[E]{name: "Status", set: func(e *E, value string) error {
		for i, name := range names {
			if strings.EqualFold(value, name) {
				*field(e) = allowed[i]
				return nil
			}
		}
		if strings.EqualFold(value, field(e).String()) {
			return nil
		}
		return unsupported("Status", value, "one of "+strings.Join(names, ", "))
	}, print: func(e *E) string { return field(e).String() }}
}

// idleSecondsMin is that of Service Bus. From idleSecondsMax on, a hundred years, an entity is never deleted.
const (
	idleSecondsMin = 5 * minute
	idleSecondsMax = 3_155_760_000
)

// autoDelete is AutoDeleteOnIdle in a field of seconds, of which 0 means never.
func autoDelete[E any](field func(*E) *int64) property[E] {
	const name = "AutoDeleteOnIdle"
	return property[E]{name: name, set: func(e *E, value string) error {
		seconds, ok := ParseDuration(value)
		switch {
		case !ok:
			return noDuration(name, value)
		case seconds < idleSecondsMin:
			return OutOfRange(name, FormatTimeSpan(idleSecondsMin), FormatTimeSpan(secondsMax), FormatTimeSpan(seconds))
		case seconds >= idleSecondsMax:
			seconds = 0
		}
		*field(e) = seconds
		return nil
	}, print: func(e *E) string {
		if seconds := *field(e); seconds > 0 {
			return FormatDuration(seconds)
		}
		return unlimited
	}}
}

func noDuration(name, value string) *Refused {
	return &Refused{name, "The property " + name + " cannot be '" + value + "': it must be a duration in the form of ISO 8601, " +
		"in whole seconds."}
}
