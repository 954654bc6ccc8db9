package document

import (
	"encoding/base64"
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/queue/property"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
)

// valueTypes has the types of values. The first row of a type of AMQP is the one that is written.
var valueTypes = [...]struct {
	name  string // by the schema of XML
	space string
	of    property.Type
}{
	{"string", schemaSpace, property.TypeString},
	{"string", schemaSpace, property.TypeSymbol},
	{"string", schemaSpace, property.TypeChar},
	{"boolean", schemaSpace, property.TypeBoolean},
	{"int", schemaSpace, property.TypeInt},
	{"long", schemaSpace, property.TypeLong},
	{"short", schemaSpace, property.TypeShort},
	{"byte", schemaSpace, property.TypeByte},
	{"unsignedByte", schemaSpace, property.TypeUByte},
	{"unsignedShort", schemaSpace, property.TypeUShort},
	{"unsignedInt", schemaSpace, property.TypeUInt},
	{"unsignedLong", schemaSpace, property.TypeULong},
	{"double", schemaSpace, property.TypeDouble},
	{"float", schemaSpace, property.TypeFloat},
	{"decimal", schemaSpace, property.TypeDecimal},
	{"dateTime", schemaSpace, property.TypeTimestamp},
	{"dateTime", schemaSpace, property.TypeDateTimeOffset},
	{"duration", serializationSpace, property.TypeTimeSpan},
	{"guid", serializationSpace, property.TypeUUID},
	{"anyURI", schemaSpace, property.TypeURI},
	{"base64Binary", schemaSpace, property.TypeBinary},
}

// Layouts of times without a zone, to read and to write.
const (
	zoneless        = "2006-01-02T15:04:05.9999999"
	zonelessWritten = "2006-01-02T15:04:05.0000000Z"
)

// readValue reads a value, null if the element says so.
func readValue(e *Element) (property.Value, error) {
	if e.isNil() {
		return property.Null, nil
	}
	of := e.typeName()
	for i := range valueTypes {
		if valueTypes[i].name != of {
			continue
		}
		if v, ok := parse(e, valueTypes[i].of); ok {
			return v, nil
		}
		return property.Value{}, refuse("The value '" + e.Value() + "' has not the type " + of + ".")
	}
	return property.Value{}, refuse("The type '" + of + "' of a value is unknown.")
}

func parse(e *Element, of property.Type) (property.Value, bool) {
	text := e.Value()
	switch of {
	case property.TypeString, property.TypeURI:
		text = e.Text
	case property.TypeBinary:
		bytes, err := base64.StdEncoding.DecodeString(text)
		return property.Binary(string(bytes)), err == nil
	case property.TypeBoolean:
		is, err := strconv.ParseBool(text)
		return property.Boolean(is), err == nil
	case property.TypeDouble:
		if number, err := strconv.ParseFloat(text, 64); err == nil { // also INF and NaN
			return property.DoubleBits(math.Float64bits(number)), true
		}
	case property.TypeTimeSpan:
		return parseDuration(text)
	case property.TypeTimestamp:
		if t, err := time.Parse(zoneless, text); err == nil {
			return property.Convert(property.String(t.Format(zonelessWritten)), property.TypeDateTimeOffset)
		}
		t, err := time.Parse(time.RFC3339Nano, text)
		return property.Time(t.UnixMilli()), err == nil
	default:
	}
	return property.Convert(property.String(text), of)
}

const ticksPerSecond = 10_000_000

// parseDuration reads a duration in the form of ISO 8601 with up to seven decimals.
func parseDuration(text string) (property.Value, bool) {
	positive, negative := strings.CutPrefix(text, "-")
	whole, fraction, fractional := strings.Cut(strings.TrimSuffix(positive, "S"), ".")
	if fractional || whole != positive {
		whole += "S"
	}
	seconds, ok := description.ParseDuration(whole)
	part, err := strconv.ParseUint((fraction + "0000000")[:7], 10, 32)
	if !ok || err != nil || seconds > math.MaxInt64/ticksPerSecond {
		return property.Value{}, false
	}
	ticks := seconds*ticksPerSecond + int64(part)
	if negative {
		ticks = -ticks
	}
	return property.Duration(ticks), ticks < 0 == negative || ticks == 0
}

// writtenDuration is the inverse of parseDuration.
func writtenDuration(ticks int64) string {
	sign := ""
	if ticks < 0 {
		sign, ticks = "-", max(-ticks, -math.MaxInt64)
	}
	text := description.FormatDuration(ticks / ticksPerSecond)
	fraction := ticks % ticksPerSecond
	if fraction == 0 || strings.Contains(text, ".") {
		return sign + text
	}
	text, ended := strings.CutSuffix(text, "S")
	switch {
	case ended:
	case strings.Contains(text, "T"):
		text += "0"
	default:
		text += "T0"
	}
	return sign + text + "." + strings.TrimRight(strconv.FormatInt(ticksPerSecond+fraction, 10)[1:], "0") + "S"
}

// value returns the element of a value in its AMQP encoding.
func value(encoded string) Element {
	v, _ := property.Decode(encoded) // a definition has no other values
	e := Text("Value", v.Text())
	switch v.Type() {
	case property.TypeNull:
		e.Attrs = []xml.Attr{{Name: xml.Name{Local: "i:nil"}, Value: "true"}}
		return e
	case property.TypeBoolean:
		e.Text = strconv.FormatBool(v.Bool())
	case property.TypeBinary:
		e.Text = base64.StdEncoding.EncodeToString([]byte(v.Str()))
	case property.TypeTimeSpan:
		e.Text = writtenDuration(v.Ticks())
	case property.TypeDateTimeOffset:
		e.Text = strings.TrimSuffix(e.Text, "Z")
	case property.TypeDouble, property.TypeFloat:
		e.Text = strings.Replace(e.Text, "Infinity", "INF", 1)
	default:
	}
	for i := range valueTypes {
		if row := &valueTypes[i]; row.of == v.Type() {
			e.Attrs = []xml.Attr{
				{Name: xml.Name{Local: "i:type"}, Value: "d6p1:" + row.name}, {Name: xml.Name{Local: "xmlns:d6p1"}, Value: row.space},
			}
		}
	}
	return e
}
