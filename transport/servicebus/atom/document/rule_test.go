package document

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue/property"
	"github.com/seriatimq/seriatim/queue/rules"
)

// read returns the rule in a document, and the document of the rule.
func read(t *testing.T, d *rules.Definition) (again rules.Definition, text string) {
	t.Helper()
	encoded, err := xml.Marshal(Description("RuleDescription", Rule(d, "2020-01-01T00:00:00Z")))
	if err != nil {
		t.Fatal(err)
	}
	var e Element
	if err := xml.Unmarshal(encoded, &e); err != nil {
		t.Fatal(err)
	}
	if again, err = ReadRule(&e); err != nil {
		t.Fatalf("%s: %v", encoded, err)
	}
	return again, string(encoded)
}

// A rule is the same one after it was written and read.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	parameters := []rules.Parameter{
		rules.NewParameter("@n", property.Integer(property.TypeInt, -5)), rules.NewParameter("@s", property.String(" <a> ")),
	}
	for _, d := range []rules.Definition{
		{Name: "$Default", Kind: rules.KindTrue},
		{Name: "f", Kind: rules.KindFalse, Action: &rules.Expression{Text: "SET a = 1"}},
		{Name: "s", Kind: rules.KindSQL, SQL: &rules.Expression{Text: "a < @n ", Parameters: parameters},
			Action: &rules.Expression{Text: "SET a = @s", Parameters: parameters}},
		{Name: "c", Kind: rules.KindCorrelation, Application: parameters, System: []rules.Parameter{
			rules.NewParameter("CorrelationId", property.String("1")), rules.NewParameter("MessageId", property.String("")),
			rules.NewParameter("To", property.String("3")), rules.NewParameter("ReplyTo", property.String("4")),
			rules.NewParameter("Label", property.String("5")), rules.NewParameter("SessionId", property.String("6")),
			rules.NewParameter("ReplyToSessionId", property.String("7")), rules.NewParameter("ContentType", property.String("8")),
		}},
	} {
		again, text := read(t, &d)
		if diff := cmp.Diff(d, again); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

// Values keep their types. Two types of AMQP that XML does not tell apart become one.
func TestValues(t *testing.T) {
	t.Parallel()
	decimal, _ := property.Convert(property.String("1.50"), property.TypeDecimal)
	float, _ := property.Convert(property.DoubleBits(0x3FF8000000000000), property.TypeFloat)
	uri, _ := property.Convert(property.String("sb://x"), property.TypeURI)
	symbol, _ := property.Convert(property.String("sym"), property.TypeSymbol)
	zoneless, _ := property.Convert(property.String("2020-07-05T11:12:13.5000001Z"), property.TypeDateTimeOffset)
	for text, v := range map[string]property.Value{
		` i:nil="true">`:                         property.Null,
		`string"> &lt; <`:                        property.String(" < "),
		`string"><`:                              property.String(""),
		`string">sym<`:                           symbol,
		`boolean">true<`:                         property.Boolean(true),
		`int">-7<`:                               property.Integer(property.TypeInt, -7),
		`long">7<`:                               property.Long(7),
		`short">7<`:                              property.Integer(property.TypeShort, 7),
		`byte">-7<`:                              property.Integer(property.TypeByte, -7),
		`unsignedByte">7<`:                       property.Integer(property.TypeUByte, 7),
		`unsignedShort">7<`:                      property.Integer(property.TypeUShort, 7),
		`unsignedInt">7<`:                        property.Integer(property.TypeUInt, 7),
		`unsignedLong">18446744073709551615<`:    property.ULong(1<<64 - 1),
		`double">1E+16<`:                         property.DoubleBits(0x4341C37937E08000),
		`double">-INF<`:                          property.DoubleBits(0xFFF0000000000000),
		`float">1.5<`:                            float,
		`decimal">1.50<`:                         decimal,
		`dateTime">2020-07-05T11:12:13.5000001<`: zoneless,
		`dateTime">1970-01-01T00:00:01.000Z<`:    property.Time(1000),
		`duration">P1DT2H3M<`:                    property.Duration(((26*60 + 3) * 60) * ticksPerSecond),
		`duration">-PT1.0000001S<`:               property.Duration(-ticksPerSecond - 1),
		`duration">P1DT0.5S<`:                    property.Duration(86400*ticksPerSecond + ticksPerSecond/2),
		`duration">PT1M0.5S<`:                    property.Duration(60*ticksPerSecond + ticksPerSecond/2),
		`duration">PT0S<`:                        property.Duration(0),
		`guid">00112233-4455-6677-8899-aabbccddeeff<`: property.GUID([16]byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99,
			0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}),
		`anyURI">sb://x<`:     uri,
		`base64Binary">AP8=<`: property.Binary("\x00\xff"),
	} {
		want := rules.NewParameter("p", v)
		x := &rules.Expression{Parameters: []rules.Parameter{want}}
		again, document := read(t, &rules.Definition{Name: "r", Kind: rules.KindSQL, SQL: x})
		got, _ := property.Decode(again.SQL.Parameters[0].Value)
		plain := document
		for _, space := range []string{schemaSpace, serializationSpace} {
			plain = strings.ReplaceAll(plain, ` xmlns:d6p1="`+space+`"`, "")
		}
		if v == symbol {
			v = property.String("sym")
		}
		if got != v || !strings.Contains(plain, text) {
			t.Errorf("%s: %v of %v, want %v", document, got, got.Type(), v)
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"P1DT2H3M4.5S": ((26*60+3)*60+4)*ticksPerSecond + ticksPerSecond/2, "-P1D": -86400 * ticksPerSecond,
		"PT0.12345678S": 1234567, "P10675199DT2H48M5.4775807S": 1<<63 - 1,
	} {
		if v, ok := parseDuration(text); !ok || v.Ticks() != want {
			t.Errorf("%s is %d, %v", text, v.Ticks(), ok)
		}
	}
	for _, text := range []string{"", "P", "1S", "PT1.5M", "PT1.xS", "P1Y", "P10675199DT2H48M5.4775808S"} {
		if v, ok := parseDuration(text); ok {
			t.Errorf("%s is %d", text, v.Ticks())
		}
	}
}
