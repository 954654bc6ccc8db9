package property

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/lettercase"
)

// Limits of the sections. SectionBytesMax is that of Azure Service Bus for all properties together.
const (
	SectionBytesMax = 64 << 10
)

// Named is an application property.
type Named struct {
	Name  string
	Value Value
}

// fieldCount is the number of fields of the properties section.
const fieldCount = 13

// fields are the fields of the properties section, AMQP 1.0 part 3.2.4, with their types. A field
// without a System is checked only. Ids have several types.
var fields = [fieldCount]struct {
	name   string
	system System
	types  []Type
}{
	{"message-id", MessageID, []Type{TypeString, TypeULong, TypeUUID, TypeBinary}},
	{"user-id", SystemNone, []Type{TypeBinary}},
	{"to", To, []Type{TypeString}},
	{"subject", Label, []Type{TypeString}},
	{"reply-to", ReplyTo, []Type{TypeString}},
	{"correlation-id", CorrelationID, []Type{TypeString, TypeULong, TypeUUID, TypeBinary}},
	{"content-type", ContentType, []Type{TypeSymbol, TypeString}},
	{"content-encoding", SystemNone, []Type{TypeSymbol, TypeString}},
	{"absolute-expiry-time", SystemNone, []Type{TypeTimestamp}},
	{"creation-time", SystemNone, []Type{TypeTimestamp}},
	{"group-id", SessionID, []Type{TypeString}},
	{"group-sequence", SystemNone, []Type{TypeUInt}},
	{"reply-to-group-id", ReplyToSessionID, []Type{TypeString}},
}

// fieldOf returns the field of a system property, -1 if it is not in the section.
func fieldOf(s System) int {
	for i := range fields {
		if s != SystemNone && fields[i].system == s {
			return i
		}
	}
	return -1
}

// Change is a change to a property: System, or else the application property Name. Without a value
// the property is removed. Name finds an existing property as [Set.Application] does.
type Change struct {
	System System
	Name   string
	Value  Value
}

// Set is the properties of one message. It belongs to one goroutine. Its texts are parts of the
// sections.
type Set struct {
	system [systemCount]Value
	// named is sorted by folded name, then by name.
	named []Named
}

// Check reports the first error in the sections of a message. An empty section is absent.
func Check(properties, application string) error {
	var s Set
	return s.Read(properties, application)
}

// Read replaces the set by the properties of a message. After an error the set is empty.
func (s *Set) Read(properties, application string) error {
	s.reset()
	err := s.readProperties(properties)
	if err == nil {
		err = s.readApplication(application)
	}
	if err != nil {
		s.reset()
	}
	return err
}

// NewSet returns the set of some properties, whose names are distinct.
func NewSet(system map[System]Value, application []Named) *Set {
	s := &Set{named: slices.Clone(application)}
	for p, v := range system { // order does not matter: each has its place
		s.system[p] = v
	}
	slices.SortFunc(s.named, func(a, b Named) int { return compareNames(a.Name, b.Name) })
	return s
}

func (s *Set) reset() {
	s.system = [systemCount]Value{}
	clear(s.named)
	s.named = s.named[:0]
}

// System returns a system property of the properties section: ids, addresses, label and content
// type. All are strings. It is none if the message does not have it, or if it is not in the section.
func (s *Set) System(p System) Value { return s.system[p] }

// Application returns an application property, none if there is none. Letter case counts only
// between names that differ in nothing else: an equal name wins, then the first in the order of
// bytes.
func (s *Set) Application(name string) Value {
	if found := s.find(name); found != nil {
		return found.Value
	}
	return Value{}
}

// NameOf returns the name of the property that Application finds, name if there is none.
func (s *Set) NameOf(name string) string {
	if found := s.find(name); found != nil {
		return found.Name
	}
	return name
}

func (s *Set) find(name string) *Named {
	if len(s.named) <= scannedMax {
		for i := range s.named {
			if s.named[i].Name == name {
				return &s.named[i]
			}
		}
	}
	i, found := slices.BinarySearchFunc(s.named, name, func(n Named, name string) int { return compareNames(n.Name, name) })
	if found {
		return &s.named[i]
	}
	// Names that differ in letter case are on both sides of i.
	if i < len(s.named) && lettercase.Equal(s.named[i].Name, name) || i > 0 && lettercase.Equal(s.named[i-1].Name, name) {
		i, _ = slices.BinarySearchFunc(s.named, name, func(n Named, name string) int {
			if lettercase.Compare(n.Name, name) < 0 {
				return -1
			}
			return 1
		})
		return &s.named[i]
	}
	return nil
}

// All returns the application properties, sorted by folded name. The caller must not change them.
func (s *Set) All() []Named { return s.named }

func compareNames(a, b string) int {
	if order := lettercase.Compare(a, b); order != 0 {
		return order
	}
	return strings.Compare(a, b)
}

// scannedMax is the number of properties up to which a search for an equal name is faster than a
// binary search.
const scannedMax = 16

// malformed returns an error about a section.
func malformed(section string, at int, problem string) error {
	return errors.New("the " + section + " section is malformed at byte " + strconv.Itoa(at) + ": " + problem)
}

const (
	propertiesName    = "properties"
	applicationName   = "application-properties"
	propertiesCode    = 0x73
	applicationCode   = 0x74
	propertiesSymbol  = "amqp:properties:list"
	applicationSymbol = "amqp:application-properties:map"
)

// section reads the descriptor of a section, and the head of the list or map in it. It returns the
// number of its elements.
func (d *decoder) section(code uint64, symbol string, compound byte) (count int) {
	if len(d.text) > SectionBytesMax {
		d.fail("it has more than 64 KiB")
	}
	if d.number(1) != codeDescribed {
		d.fail("it has no descriptor")
	}
	descriptor := d.primitive(byte(d.number(1)))
	if descriptor != ULong(code) && (descriptor.typ != TypeSymbol || descriptor.text != symbol) {
		d.fail("it has another descriptor")
	}
	size := 0
	switch actual := byte(d.number(1)); {
	case actual == codeList0 && compound == codeList8:
	case actual == compound:
		size = d.size(1) - 1
		count = d.size(1)
	case actual == compound+codeList32-codeList8:
		size = d.size(4) - 4
		count = d.size(4)
	case compound == codeList8:
		d.fail("it is not a list")
	default:
		d.fail("it is not a map")
	}
	if size != len(d.text)-d.at {
		d.fail("its size differs from the number of its bytes")
	}
	return count
}

func (s *Set) readProperties(text string) error {
	if text == "" {
		return nil
	}
	d := decoder{text: text}
	count := d.section(propertiesCode, propertiesSymbol, codeList8)
	if count > fieldCount {
		d.fail("it has more than 13 fields")
	}
	for i := 0; i < count && d.problem == ""; i++ {
		v := d.value()
		if v.typ == TypeNull || d.problem != "" {
			continue
		}
		f := &fields[i]
		if !slices.Contains(f.types, v.typ) {
			return malformed(propertiesName, d.at, "the field "+f.name+" is a "+v.typ.String())
		}
		if v.typ != TypeString && f.system != SystemNone {
			v = String(v.Text())
		}
		s.system[f.system] = v
	}
	s.system[SystemNone] = Value{}
	return d.end(propertiesName)
}

// end returns the error of a section that should end here.
func (d *decoder) end(section string) error {
	if d.problem == "" && d.at != len(d.text) {
		d.fail("bytes follow the last value")
	}
	if d.problem != "" {
		return malformed(section, d.at, d.problem)
	}
	return nil
}

func (s *Set) readApplication(text string) error {
	if text == "" {
		return nil
	}
	d := decoder{text: text}
	count := d.section(applicationCode, applicationSymbol, codeMap8)
	if count%2 != 0 {
		d.fail("it has a name without a value")
	}
	for i := 0; i < count && d.problem == ""; i += 2 {
		name := d.value()
		if name.typ != TypeString {
			d.fail("a name is not a string")
		}
		s.named = append(s.named, Named{name.text, d.value()})
	}
	if err := d.end(applicationName); err != nil {
		return err
	}
	slices.SortFunc(s.named, func(a, b Named) int { return compareNames(a.Name, b.Name) })
	for i := 1; i < len(s.named); i++ {
		if s.named[i-1].Name == s.named[i].Name {
			return malformed(applicationName, d.at, "it has a name twice: "+strconv.Quote(shortened(s.named[i].Name)))
		}
	}
	return nil
}

// shortened bounds a name that an error quotes.
func shortened(name string) string {
	const most = 128
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "..."
}
