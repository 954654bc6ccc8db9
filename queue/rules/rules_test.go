package rules

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/property"
)

// testMessage is a message in encoded form, with further system properties.
type testMessage struct {
	property.Set
	system map[property.System]property.Value
}

func (m *testMessage) System(s property.System) property.Value {
	if v := m.system[s]; v != (property.Value{}) {
		return v
	}
	return m.Set.System(s)
}

func (m *testMessage) NewID(n int) [16]byte {
	return [16]byte{0xff, 5: byte(n), 6: 0xff, 8: 0xff, 15: 0xff}
}

// encoded returns a section with values in a list or map of 32 bits.
func encoded(descriptor, code byte, values ...property.Value) string {
	var body []byte
	for _, v := range values {
		body = property.Append(body, v)
	}
	head := []byte{0, 0x53, descriptor, code}
	head = binary.BigEndian.AppendUint32(head, uint32(len(body)+4))
	head = binary.BigEndian.AppendUint32(head, uint32(len(values)))
	return string(append(head, body...))
}

// messageOf returns a message from names and values in turn. Names that begin with sys. are system
// properties.
func messageOf(t testing.TB, pairs ...any) *testMessage {
	t.Helper()
	m := &testMessage{system: map[property.System]property.Value{}}
	var application []property.Value
	for i := 0; i < len(pairs); i += 2 {
		name, v := pairs[i].(string), valueOf(t, pairs[i+1])
		if system, ok := strings.CutPrefix(name, "sys."); ok {
			s, known := property.ParseSystem(system)
			if !known {
				t.Fatalf("%q is no system property", name)
			}
			m.system[s] = v
			continue
		}
		application = append(application, property.String(name), v)
	}
	if err := m.Read("", encoded(0x74, 0xd1, application...)); err != nil {
		t.Fatal(err)
	}
	return m
}

// valueOf converts a value of Go. Texts that begin with a type and a colon are of that type.
func valueOf(t testing.TB, v any) property.Value {
	t.Helper()
	switch v := v.(type) {
	case nil:
		return property.Null
	case int:
		return property.Long(int64(v))
	case float64:
		return property.DoubleBits(math.Float64bits(v))
	case bool:
		return property.Boolean(v)
	case []byte:
		return property.Binary(string(v))
	case property.Value:
		return v
	case string:
		prefix, text, _ := strings.Cut(v, ":")
		for typ := property.TypeNull; typ < property.TypeOther; typ++ {
			if prefix == typ.String() {
				converted, ok := property.Convert(property.String(text), typ)
				if !ok {
					t.Fatalf("%q is no value", v)
				}
				return converted
			}
		}
		return property.String(v)
	}
	t.Fatalf("%v has no type", v)
	return property.Value{}
}

func mustParse(t testing.TB, text string, parameters ...property.Named) *SQLFilter {
	t.Helper()
	f, err := ParseSQL(text, parameters)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

// TestExamplesOfTheVendor has the filters in the pages "Subscription Rule SQL Filter Syntax", "Set
// subscription filters", and "Topic filters and actions" of Azure Service Bus, each with messages.
func TestExamplesOfTheVendor(t *testing.T) {
	t.Parallel()
	parameters := []property.Named{
		{Name: "@stringParam", Value: property.String("orders")},
		{Name: "@dtParam", Value: valueOf(t, "timestamp:2026-01-02T00:00:00Z")},
		{Name: "@timespan", Value: valueOf(t, "timespan:01:00:00")},
	}
	stores := "'Store1','Store2','Store3','Store4','Store5','Store6','Store7','Store8'"
	early, late := "timestamp:2026-01-01T00:00:00Z", "timestamp:2026-01-03T00:00:00Z"
	for _, c := range []struct {
		filter  string
		message []any
		want    Truth
	}{
		{"1=1", nil, True},
		{"source = @stringParam", []any{"source", "orders"}, True},
		{"source = @stringParam", []any{"source", "others"}, False},
		{"sys.Label LIKE '%bus%'", []any{"sys.Label", "the bus stops"}, True},
		{"sys.Label LIKE '%bus%'", []any{"sys.Label", "the tram"}, False},
		{"sys.Label LIKE '%bus%'", nil, Unknown},
		{"sys.Label LIKE '%bus%' OR user.tag IN ('queue', 'topic', 'subscription')", []any{"tag", "topic"}, True},
		{"sys.Label LIKE '%bus%' OR user.tag IN ('queue', 'topic', 'subscription')", []any{"tag", "relay", "sys.Label", "x"}, False},
		{"StoreId IN('Store1', 'Store2', 'Store3')", []any{"StoreId", "Store2"}, True},
		{"StoreId IN('Store1', 'Store2', 'Store3')", []any{"StoreId", "Store4"}, False},
		{"sys.To IN ('Store5','Store6','Store7') OR StoreId = 'Store8'", []any{"sys.To", "Store6"}, True},
		{"sys.To IN ('Store5','Store6','Store7') OR StoreId = 'Store8'", []any{"StoreId", "Store8"}, True},
		{"sys.To IN ('Store5','Store6','Store7') OR StoreId = 'Store8'", []any{"StoreId", "Store1", "sys.To", "x"}, False},
		{"sys.To NOT IN (" + stores + ") OR StoreId NOT IN (" + stores + ")", []any{"StoreId", "Store9"}, True},
		{"sys.To NOT IN (" + stores + ") OR StoreId NOT IN (" + stores + ")", []any{"StoreId", "Store1", "sys.To", "Store8"}, False},
		{"sys.label LIKE '%bus%'", []any{"sys.Label", "bus"}, True},
		{"sys.messageid = 'xxxx'", []any{"sys.MessageId", "xxxx"}, True},
		{"sys.correlationid like 'abc-%'", []any{"sys.CorrelationId", "abc-1"}, True},
		{"sys.correlationid like 'abc-%'", []any{"sys.CorrelationId", "abd-1"}, False},
		{"MessageProperty = 'A'", []any{"messageproperty", "A"}, True},
		{"MessageProperty = 'A'", []any{"MessageProperty", "a"}, False},
		{"user.SuperHero like 'SuperMan%'", []any{"SuperHero", "SuperMan 2"}, True},
		{
			`"http://schemas.microsoft.com/xrm/2011/Claims/EntityLogicalName" = 'account'`,
			[]any{"http://schemas.microsoft.com/xrm/2011/Claims/EntityLogicalName", "account"},
			True,
		},
		{"MessageProperty = 1", []any{"MessageProperty", "int:1"}, True},
		{"MessageProperty = 1", []any{"MessageProperty", 1.0}, True},
		{"MessageProperty > 1", []any{"MessageProperty", "ubyte:2"}, True},
		{"MessageProperty > 1", []any{"MessageProperty", "string:2"}, Unknown},
		{"MessageProperty > 2.08", []any{"MessageProperty", "decimal:2.09"}, True},
		{"MessageProperty > 2.08", []any{"MessageProperty", 2}, False},
		{"MessageProperty = 1 AND MessageProperty2 = 3", []any{"MessageProperty", 1, "MessageProperty2", 3}, True},
		{"MessageProperty = 1 AND MessageProperty2 = 3", []any{"MessageProperty", 1}, Unknown},
		{"MessageProperty = 1 OR MessageProperty2 = 3", []any{"MessageProperty2", 3}, True},
		{"DateTimeMp < @dtParam", []any{"DateTimeMp", early}, True},
		{"DateTimeMp > @dtParam", []any{"DateTimeMp", early}, False},
		{"(DateTimeMp2-DateTimeMp1) <= @timespan", []any{"DateTimeMp1", early, "DateTimeMp2", "timestamp:2026-01-01T01:00:00Z"}, True},
		{"DateTimeMp2-DateTimeMp1 <= @timespan", []any{"DateTimeMp1", early, "DateTimeMp2", late}, False},
		{"color='blue' AND quantity=10", []any{"color", "blue", "quantity", "int:10"}, True},
		{"color='blue' AND quantity=10", []any{"color", "blue", "quantity", "int:5"}, False},
		{"user.color='red'", []any{"color", "red"}, True},
		{
			"sys.ReplyTo = 'johndoe@contoso.com' AND sys.Label = 'Important' AND color = 'Red'",
			[]any{"sys.ReplyTo", "johndoe@contoso.com", "sys.Subject", "Important", "Color", "Red"},
			True,
		},
		{`property LIKE 'ABC\%' ESCAPE '\'`, []any{"property", "ABC%"}, True},
		{`property LIKE 'ABC\%' ESCAPE '\'`, []any{"property", "ABCD"}, False},
		{"[Property With Space] = 1894", []any{"Property With Space", 1894}, True},
		{"[HR-EmployeeID] = 1894.1204", []any{"HR-EmployeeID", 1894.1204}, True},
		{`"Contoso & Northwind" = 101.5E5`, []any{"Contoso & Northwind", 10150000}, True},
		{"a = 0.5E-2", []any{"a", 0.005}, True},
		{"a = TRUE AND b = False", []any{"a", true, "b", false}, True},
		{"p('a') = property('b')", []any{"a", 1, "b", 1}, True},
		{"a IS NULL AND b IS NULL", []any{"b", nil}, True},
		{"a IS NOT NULL", []any{"a", ""}, True},
		{"EXISTS(a) AND NOT EXISTS(b)", []any{"a", 1}, True},
		{"newid() <> newid()", nil, True},
		{"-quantity % 3 = -1 AND (quantity + 1) * 2 = 16 AND quantity / 2 = 3", []any{"quantity", 7}, True},
	} {
		got, fault := mustParse(t, c.filter, parameters...).Evaluate(messageOf(t, c.message...))
		if got != c.want || fault != property.OK {
			t.Errorf("%s of %v is %s (%v), want %s", c.filter, c.message, got, fault, c.want)
		}
	}
}

// TestOrdersOfTheVendor runs the vendor's program: four subscriptions of a topic and 13 orders.
func TestOrdersOfTheVendor(t *testing.T) {
	t.Parallel()
	action, err := ParseAction("SET quantity = quantity / 2; REMOVE priority;SET sys.CorrelationId = 'low';", nil)
	if err != nil {
		t.Fatal(err)
	}
	high, err := NewCorrelationFilter([]SystemCondition{{property.Label, "red"}, {property.CorrelationID, "high"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	subscriptions := []Filter{
		TrueFilter{}, mustParse(t, "color='blue' AND quantity=10"), mustParse(t, "user.color='red'"), high, FalseFilter{},
	}
	counts := make([]int, len(subscriptions))
	var changed []string
	for _, order := range []struct {
		color    string
		quantity int64
		priority string
	}{
		{"", 0, ""},
		{"blue", 5, "low"},
		{"red", 10, "high"},
		{"yellow", 5, "low"},
		{"blue", 10, "low"},
		{"blue", 5, "high"},
		{"blue", 10, "low"},
		{"red", 5, "low"},
		{"red", 10, "low"},
		{"red", 5, "low"},
		{"yellow", 10, "high"},
		{"yellow", 5, "low"},
		{"yellow", 10, "low"},
	} {
		m := &testMessage{}
		if err := m.Read(encoded(0x73, 0xd0, property.Null, property.Null, property.Null, property.String(order.color), property.Null,
			property.String(order.priority)), encoded(0x74, 0xd1, property.String("color"), property.String(order.color),
			property.String("quantity"), property.Integer(property.TypeInt, order.quantity),
			property.String("priority"), property.String(order.priority))); err != nil {
			t.Fatal(err)
		}
		for i, f := range subscriptions {
			if got, fault := f.Evaluate(m); got == True && fault == property.OK {
				counts[i]++
			}
		}
		if r := Test(subscriptions[2], action, m); r.Selected {
			changed = append(changed, describe(r.Changes))
		}
	}
	if want := []int{13, 2, 4, 1, 0}; !slices.Equal(counts, want) {
		t.Errorf("the subscriptions receive %v messages, want %v", counts, want)
	}
	half := func(n int) string {
		return fmt.Sprintf("quantity = int %d; priority removed; sys.CorrelationId = string low", n)
	}
	if want := []string{half(5), half(2), half(5), half(2)}; !slices.Equal(changed, want) {
		t.Errorf("the action makes %q, want %q", changed, want)
	}
}

// describe returns changes as text, with types.
func describe(changes []property.Change) string {
	var texts []string
	for _, c := range changes {
		name := c.Name
		if c.System != property.SystemNone {
			name = "sys." + c.System.String()
		}
		if c.Value.Type() == property.TypeNone {
			texts = append(texts, name+" removed")
			continue
		}
		texts = append(texts, name+" = "+strings.TrimSpace(c.Value.Type().String()+" "+c.Value.Text()))
	}
	return strings.Join(texts, "; ")
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	m := messageOf(t, "s", "text", "n", 7, "zero", 0, "d", 2.5, "nan", math.NaN(), "b", true, "none", nil, "bin", []byte{1}, "Color", "red",
		"color", "blue", "m", "decimal:19.99", "id", "uuid:00000000-0000-0000-0000-000000000001", "name", "n", "pat", "te%", "e", "!",
		"big", math.MaxInt64, "at", "timestamp:2026-01-02T00:00:00Z", "long", strings.Repeat("a", 20_000), "multi", "a\nb", "empty", "",
		"sys.EnqueuedTimeUtc", "timestamp:2026-01-02T00:00:00Z", "sys.SequenceNumber", 5)
	for _, c := range []struct{ filter, want string }{
		// Three values.
		{"missing = 1", "unknown"},
		{"NOT missing = 1", "unknown"},
		{"missing <> 1", "unknown"},
		{"missing + 1 = 1", "unknown"},
		{"-missing = 1", "unknown"},
		{"+missing = 1", "unknown"},
		{"none = NULL", "unknown"},
		{"n = NULL", "unknown"},
		{"none <> 1", "unknown"},
		{"missing = 1 AND n = 8", "false"},
		{"n = 8 AND missing = 1", "false"},
		{"missing = 1 AND n = 7", "unknown"},
		{"missing = 1 OR n = 7", "true"},
		{"n = 7 OR missing = 1", "true"},
		{"missing = 1 OR n = 8", "unknown"},
		{"missing IS NULL", "true"},
		{"none IS NULL", "true"},
		{"none IS NOT NULL", "false"},
		{"EXISTS(none)", "true"},
		{"EXISTS(missing)", "false"},
		{"sys.Label IS NULL", "true"},
		{"EXISTS(sys.Label)", "false"},
		{"EXISTS(sys.SequenceNumber)", "true"},
		{"n IN (1, 7)", "true"},
		{"n IN (1, missing)", "unknown"},
		{"n IN (7, missing)", "true"},
		{"n NOT IN (1, missing)", "unknown"},
		{"n NOT IN (1, 2)", "true"},
		{"missing IN (1)", "unknown"},
		{"missing NOT IN (1)", "unknown"},
		{"n IN ('7', 1)", "unknown"},
		{"missing LIKE '%'", "unknown"},
		{"missing NOT LIKE '%'", "unknown"},
		{"s LIKE missing", "unknown"},
		{"n LIKE '7'", "unknown"},
		// Kinds.
		{"s = 7", "unknown"},
		{"n = '7'", "unknown"},
		{"b = 1", "unknown"},
		{"b = TRUE", "true"},
		{"b <> TRUE", "false"},
		{"b > FALSE", "unknown"},
		{"bin = bin", "unknown"},
		{"bin IS NOT NULL", "true"},
		{"id = id", "true"},
		{"id >= id", "unknown"},
		{"id = '1'", "unknown"},
		{"nan = nan", "false"},
		{"nan <> nan", "true"},
		{"nan < 1", "false"},
		{"n = 7.0", "true"},
		{"m = 19.99", "true"},
		{"m > 19", "true"},
		{"at = sys.EnqueuedTimeUtc", "true"},
		{"at = '2026-01-02T00:00:00Z'", "unknown"},
		{"s > 'a'", "true"},
		{"s < 'Z'", "false"},
		{"n / 2 = 3", "true"},
		{"n / 2.0 = 3.5", "true"},
		{"-n / 2 = -3", "true"},
		{"-n % 2 = -1", "true"},
		{"d + n = 9.5", "true"},
		{"s + n = 'text7'", "true"},
		{"s + '' + d = 'text2.5'", "true"},
		{"s - 'x' = 'te'", "unknown"},
		{"b + 1 = 2", "unknown"},
		{"d / 0 > 1", "true"},
		{"n - 2 - 3 = 2", "true"},
		{"n - (2 - 3) = 8", "true"},
		{"2 + 3 * 4 = 14", "true"},
		{"12 / 2 * 3 = 18", "true"},
		{"- - n = 7", "true"},
		{"+n = 7", "true"},
		{"+s = 'text'", "unknown"},
		{"- 9223372036854775808 < 0", "true"},
		// Names.
		{"color = 'blue'", "true"},
		{"Color = 'red'", "true"},
		{"COLOR = 'red'", "true"},
		{"sys.Label = 'x'", "unknown"},
		{"user.n = 7", "true"},
		{"property('n') = 7", "true"},
		{"p(name) = 7", "true"},
		{"p('mis' + 'sing') IN (1)", "unknown"},
		{"p(n) = 7", "unknown"},
		{"p('sys.SequenceNumber') = 5", "unknown"},
		{"sys.SequenceNumber = 5", "true"},
		// LIKE.
		{"s LIKE 'text'", "true"},
		{"s LIKE 'TEXT'", "false"},
		{"s LIKE 't_x_'", "true"},
		{"s LIKE '____'", "true"},
		{"s LIKE '___'", "false"},
		{"s LIKE '%'", "true"},
		{"s LIKE ''", "false"},
		{"empty LIKE ''", "true"},
		{"empty LIKE '%%'", "true"},
		{"empty LIKE '_'", "false"},
		{"s LIKE 't%t%t'", "false"},
		{"s LIKE 't%x%t'", "true"},
		{"s LIKE '%ex%'", "true"},
		{"s LIKE '%e_t'", "true"},
		{"s LIKE '%_e%'", "true"},
		{"s LIKE pat", "true"},
		{"s LIKE pat + 't'", "true"},
		{"'100%' LIKE '100!%' ESCAPE e", "true"},
		{"'1000' LIKE '100!%' ESCAPE e", "false"},
		{"'a!b' LIKE 'a!!b' ESCAPE '!'", "true"},
		{"'ab' LIKE 'a!b' ESCAPE '!'", "true"},
		{"s LIKE 't%' ESCAPE s", "unknown"},
		{"s LIKE pat + '!' ESCAPE e", "unknown"},
		{"multi LIKE 'a_b'", "true"},
		{"multi LIKE 'a%b'", "true"},
		{"'é' LIKE '_'", "true"},
		{"s NOT LIKE 't%'", "false"},
		{"NOT s LIKE 't%'", "false"},
		// Faults.
		{"n / zero = 1", "a division by zero"},
		{"n % zero = 1", "a division by zero"},
		{"big + 1 = 1", "a result beyond the range of its type"},
		{"FALSE = TRUE AND n / zero = 1", "false"},
		{"n / zero = 1 AND FALSE = TRUE", "a division by zero"},
		{"TRUE = TRUE OR n / zero = 1", "true"},
		{"missing = 1 OR n / zero = 1", "a division by zero"},
		{"n / zero IS NOT NULL", "error"},
		{"missing IN (n / zero)", "unknown"},
		{"n IN (7, n / zero)", "true"},
		{"n IN (8, n / zero, 7)", "a division by zero"},
		{"m / zero = 1", "a division by zero"},
		{"long + long = ''", "a string of more than 32 KiB"},
		{"long LIKE '%a_" + strings.Repeat("a", 400) + "_b%'", "too many steps"},
		{"long LIKE '%b%'", "false"},
		{"long LIKE '%aaa%'", "true"},
	} {
		f, err := ParseSQL(c.filter, nil)
		if err != nil {
			if c.want != "error" {
				t.Errorf("%s: %v", c.filter, err)
			}
			continue
		}
		result, fault := f.Evaluate(m)
		got := result.String()
		if fault != property.OK {
			got = fault.String()
		}
		if got != c.want {
			t.Errorf("%s is %s, want %s", c.filter, got, c.want)
		}
	}
}

// TestNewID counts the ids in the order of evaluation.
func TestNewID(t *testing.T) {
	t.Parallel()
	a, err := ParseAction("SET a = newid(); SET b = '' + newid(); SET sys.SessionId = newid()", nil)
	if err != nil {
		t.Fatal(err)
	}
	changes, _ := a.Evaluate(messageOf(t))
	want := "a = uuid ff000000-0000-4f00-bf00-0000000000ff; b = string ff000000-0001-4f00-bf00-0000000000ff; " +
		"sys.SessionId = string ff000000-0002-4f00-bf00-0000000000ff"
	if got := describe(changes); got != want {
		t.Errorf("the action makes %s, want %s", got, want)
	}
}
