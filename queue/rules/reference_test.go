package rules

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/queue/property"
)

// The reference evaluates its own trees with values of Go. It shares no code with the product: it
// has fractions, package time and regular expressions instead. It prints a tree as SQL with extra
// parentheses, blanks and letter case, so that the parser is compared, too.

// Values are missing{}, nil, bool, int64, float64, exact, string, time.Time, time.Duration and guid.
type (
	missing struct{}
	guid    string
	exact   struct { // a decimal
		n      *big.Rat
		places int
	}
	refFault string
	skipped  struct{} // beyond the reference
)

// term is an operation with its operands.
type term struct {
	op       string
	operands []term
	value    any    // of a constant
	name     string // of a property
}

// precedence of an operation, from loose to tight. The operands of one operation need more.
func (x term) precedence() int {
	for i, ops := range []string{"OR", "AND", "NOT", "= <> < <= > >= IN LIKE ISNULL NOTIN NOTLIKE NOTNULL", "+ -", "* / %", "neg pos"} {
		if strings.Contains(" "+ops+" ", " "+x.op+" ") {
			return i
		}
	}
	return 9
}

// printer prints terms with random variations.
type printer struct{ t *rapid.T }

func (p printer) flip() bool { return rapid.Bool().Draw(p.t, "variation") }

func (p printer) word(w string) string {
	if p.flip() {
		w = strings.ToLower(w)
	}
	return " " + w + " "
}

func (p printer) inside(x term, least int) string {
	text := p.print(x)
	if x.precedence() < least || p.flip() && x.op != "property" {
		return "(" + text + ")"
	}
	return text
}

func (p printer) print(x term) string {
	level := x.precedence()
	switch x.op {
	case "constant":
		return p.constant(x.value)
	case "property":
		return p.name(x.name)
	case "call":
		return p.word("p") + "(" + p.inside(x.operands[0], 4) + ")"
	case "EXISTS":
		return p.word("EXISTS") + "(" + p.print(x.operands[0]) + ")"
	case "NOT":
		return p.word("NOT") + p.inside(x.operands[0], level)
	case "neg":
		return "- " + p.inside(x.operands[0], level)
	case "pos":
		return "+" + p.inside(x.operands[0], level)
	case "ISNULL", "NOTNULL":
		not := ""
		if x.op == "NOTNULL" {
			not = "NOT"
		}
		return p.print(x.operands[0]) + p.word("IS") + p.word(not) + p.word("NULL")
	case "IN", "NOTIN":
		var list []string
		for _, o := range x.operands[1:] {
			list = append(list, p.inside(o, 4))
		}
		return p.inside(x.operands[0], 4) + p.word(strings.Replace(x.op, "NOTIN", "NOT IN", 1)) + "(" + strings.Join(list, ",") + ")"
	case "LIKE", "NOTLIKE":
		text := p.inside(x.operands[0], 4) + p.word(strings.Replace(x.op, "NOTLIKE", "NOT LIKE", 1)) + p.inside(x.operands[1], 4)
		if len(x.operands) > 2 {
			text += p.word("ESCAPE") + p.inside(x.operands[2], 4)
		}
		return text
	case "<>":
		return p.inside(x.operands[0], 4) + rapid.SampledFrom([]string{"<>", " != "}).Draw(p.t, "unequal") + p.inside(x.operands[1], 4)
	case "AND", "OR":
		return p.inside(x.operands[0], level) + p.word(x.op) + p.inside(x.operands[1], level+1)
	}
	return p.inside(x.operands[0], max(level, 4)) + rapid.SampledFrom([]string{"", " ", "\n"}).Draw(p.t, "blank") + x.op + " " +
		p.inside(x.operands[1], level+1)
}

func (p printer) name(name string) string {
	switch {
	case strings.HasPrefix(name, "sys."):
		return p.word(name)
	case strings.Contains(name, " "):
		return rapid.SampledFrom([]string{"[" + name + "]", `"` + name + `"`, "user.[" + name + "]"}).Draw(p.t, "delimiter")
	}
	return rapid.SampledFrom([]string{name, "user." + name, " [" + name + "] ", strings.ToUpper(name)}).Draw(p.t, "scope")
}

func (p printer) constant(v any) string {
	switch v := v.(type) {
	case nil:
		return p.word("NULL")
	case bool:
		return p.word(strings.ToUpper(strconv.FormatBool(v)))
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		text := fmt.Sprintf("%.3f", v)
		if p.flip() {
			text = strconv.FormatFloat(v, 'e', -1, 64)
		}
		return text
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	panic(v)
}

// generator draws terms and messages from few values, so that relations hold often.
type generator struct{ t *rapid.T }

func (g generator) one(of ...string) string { return rapid.SampledFrom(of).Draw(g.t, "choice") }

func (g generator) below(n int) int { return rapid.IntRange(0, n-1).Draw(g.t, "number") }

func (g generator) name() string {
	return g.one("a", "b", "c", "d", "e", "a b", "absent", "sys.Label", "sys.SequenceNumber", "sys.EnqueuedTimeUtc")
}

func (g generator) text() string {
	return g.one("", "a", "ab", "aXb", "a%", "5", "a_b", "%", "b", "c", "é", "true")
}

// constant draws a value that the grammar has a constant for.
func (g generator) constant() any {
	switch g.below(6) {
	case 0:
		return int64(g.below(2) * (math.MaxInt64 - 1))
	case 1:
		return []any{0.5, 2.0, 0.0, 1e18}[g.below(4)]
	case 2:
		return g.text()
	case 3:
		return []any{nil, true, false}[g.below(3)]
	}
	return int64(g.below(7))
}

// value draws any value that a property can have.
func (g generator) value() any {
	switch g.below(8) {
	case 0:
		return exact{big.NewRat(int64(g.below(7)-3), 1), 0}
	case 1:
		return exact{big.NewRat(int64(g.below(500)-50), 100), 2}
	case 2:
		return time.UnixMilli(int64(g.below(3)) * 86_400_500).UTC()
	case 3:
		return time.Duration(g.below(3)-1) * (26*time.Hour + 1500*time.Millisecond)
	case 4:
		return guid(fmt.Sprintf("0000000%d-0000-0000-0000-0123456789ab", g.below(2)))
	case 5:
		return []any{math.NaN(), math.Inf(1), -0.5, 3.0}[g.below(4)]
	}
	return g.constant()
}

func (g generator) operand(depth int) term {
	if depth > 3 {
		depth = 99
	}
	switch n := g.below(12); {
	case n < 5 || depth == 99 && n < 8:
		return term{op: "property", name: g.name()}
	case n < 8 || depth == 99:
		return term{op: "constant", value: g.constant()}
	case n == 8:
		return term{op: g.one("neg", "pos"), operands: []term{g.operand(depth + 1)}}
	case n == 9:
		return term{op: "call", operands: []term{g.operand(depth + 1)}}
	}
	return term{op: g.one("+", "-", "*", "/", "%", "+", "-"), operands: []term{g.operand(depth + 1), g.operand(depth + 1)}}
}

func (g generator) condition(depth int) term {
	if depth < 4 && g.below(2) == 0 {
		if g.below(4) == 0 {
			return term{op: "NOT", operands: []term{g.condition(depth + 1)}}
		}
		return term{op: g.one("AND", "OR"), operands: []term{g.condition(depth + 1), g.condition(depth + 1)}}
	}
	switch g.below(8) {
	case 0:
		return term{op: g.one("ISNULL", "NOTNULL", "EXISTS"), operands: []term{{op: "property", name: g.name()}}}
	case 1:
		x := term{op: g.one("IN", "NOTIN"), operands: []term{g.operand(1)}}
		for range 1 + g.below(3) {
			x.operands = append(x.operands, g.operand(2))
		}
		return x
	case 2, 3:
		pattern := term{op: "constant", value: g.one("a%", "%b", "a_b", "_", "%", "", "%!%%", "a!_b", "%a%b", "a%b%", "%_b", "_%_", "!a%")}
		if g.below(4) == 0 {
			pattern = g.operand(3)
			if pattern.op == "constant" {
				pattern = term{op: "+", operands: []term{pattern, {op: "property", name: "a"}}}
			}
		}
		x := term{op: g.one("LIKE", "NOTLIKE"), operands: []term{g.operand(2), pattern}}
		if g.below(2) == 0 {
			x.operands = append(x.operands, term{op: "constant", value: "!"})
		}
		return x
	}
	return term{op: g.one("=", "<>", "<", "<=", ">", ">="), operands: []term{g.operand(1), g.operand(1)}}
}

// refMessage is a message of the reference: values by name.
type refMessage map[string]any

func (g generator) message() refMessage {
	m := refMessage{}
	for _, name := range []string{"a", "b", "c", "d", "e", "a b"} {
		if g.below(4) > 0 {
			m[name] = g.value()
		}
	}
	if g.below(2) == 0 {
		m["sys.Label"] = g.text()
	}
	m["sys.SequenceNumber"] = int64(g.below(7))
	m["sys.EnqueuedTimeUtc"] = time.UnixMilli(86_400_500).UTC()
	return m
}

// encode returns the message with sections.
func (m refMessage) encode(t *rapid.T) *testMessage {
	encoded := &testMessage{system: map[property.System]property.Value{}}
	var application []property.Value
	for name, v := range m {
		if system, ok := strings.CutPrefix(name, "sys."); ok {
			s, _ := property.ParseSystem(system)
			encoded.system[s] = productValue(t, v)
			continue
		}
		application = append(application, property.String(name), productValue(t, v))
	}
	if err := encoded.Read("", encodedMap(application)); err != nil {
		t.Fatal(err)
	}
	return encoded
}

func encodedMap(values []property.Value) string { return encoded(0x74, 0xd1, values...) }

func productValue(t *rapid.T, v any) property.Value {
	to, text := property.TypeString, ""
	switch v := v.(type) {
	case nil:
		return property.Null
	case bool:
		return property.Boolean(v)
	case int64:
		return property.Long(v)
	case float64:
		return property.DoubleBits(math.Float64bits(v))
	case string:
		return property.String(v)
	case time.Time:
		return property.Time(v.UnixMilli())
	case time.Duration:
		return property.Duration(int64(v / 100))
	case guid:
		to, text = property.TypeUUID, string(v)
	case exact:
		to, text = property.TypeDecimal, v.n.FloatString(v.places)
	}
	converted, ok := property.Convert(property.String(text), to)
	if !ok {
		t.Fatalf("%v is no value", v)
	}
	return converted
}

// TestAgainstReference compares random filters and messages.
func TestAgainstReference(t *testing.T) {
	t.Parallel()
	results := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		for range 30 {
			compareRandom(t, results)
		}
	})
	for _, result := range []string{"true", "false", "unknown", "a division by zero"} {
		if results[result] == 0 && !t.Failed() {
			t.Errorf("no result is %s: the test tests little", result)
		}
	}
	t.Log(results)
}

// compareRandom compares the results of one filter for some messages, and counts them.
func compareRandom(t *rapid.T, results map[string]int) {
	g := generator{t}
	x := g.condition(0)
	text := printer{t}.print(x)
	f, err := ParseSQL(text, nil)
	if err != nil {
		if !strings.Contains(err.Error(), "at most 1024") && !strings.Contains(err.Error(), "ends with its escape") &&
			!strings.Contains(err.Error(), "pattern of LIKE is not") {
			t.Fatalf("%s: %v", text, err)
		}
		return
	}
	for range 3 {
		m := g.message()
		want := m.result(x)
		if want == "skipped" {
			continue
		}
		result, fault := f.Evaluate(m.encode(t))
		got := result.String()
		if fault != property.OK {
			got = fault.String()
		}
		if got != want {
			t.Fatalf("%s\n%s\nof %v is %s, want %s", text, f, m, got, want)
		}
		results[got]++
	}
}

// result evaluates a condition.
func (m refMessage) result(x term) (result string) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refFault:
			result = string(r)
		case skipped:
			result = "skipped"
		default:
			panic(r)
		}
	}()
	switch m.test(x) {
	case nil:
		return "unknown"
	case true:
		return "true"
	}
	return "false"
}

// regular translates a pattern of LIKE. It is nil if the pattern is invalid.
func regular(like string, escape string) *regexp.Regexp {
	text := "(?s)^"
	letters := []rune(like)
	for i := 0; i < len(letters); i++ {
		switch c := string(letters[i]); {
		case c == escape:
			i++
			if i == len(letters) {
				return nil
			}
			text += regexp.QuoteMeta(string(letters[i]))
		case c == "%":
			text += ".*"
		case c == "_":
			text += "."
		default:
			text += regexp.QuoteMeta(c)
		}
	}
	return regexp.MustCompile(text + "$")
}
