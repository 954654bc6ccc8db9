package filter

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// recorded returns the position that SNS's reader adds to an error in one line.
func recorded(policy string, column int) string {
	return fmt.Sprintf("\n at [Source: (String)\"%s\"; line: 1, column: %d]", policy, column)
}

// Texts and positions recorded by localstack at SNS in May 2024.
func TestParseErrorsRecordedAtSNS(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		policy string
		want   string
		column int
	}{
		{`{"key":[["value"]]}`, "Match value must be String, number, true, false, or null", 10},
		{`{"key":[{"wrong-operator":true}]}`, "Unrecognized match type wrong-operator", 31},
		{`{"key":[{"suffix":"value","prefix":"value2"}]}`, "Only one key allowed in match expression", 37},
		{`{"key":[{"suffix":100}]}`, "suffix match pattern must be a string", 22},
		{`{"key":[{"suffix":null}]}`, "suffix match pattern must be a string", 23},
		{`{"key":{"suffix":"value"}}`, `"suffix" must be an object or an array`, 19},
		{`{"key":[{"suffix":[]}]}`, "suffix match pattern must be a string", 20},
		{`{"key":[{"suffix":["test","test2"]}]}`, "suffix match pattern must be a string", 20},
		{`{"key":{"suffix":"value","prefix":"value"}}`, `"suffix" must be an object or an array`, 19},
		{`{"key":{"not-an-operator":"value"}}`, `"not-an-operator" must be an object or an array`, 28},
		{`{"key_a":"value_one"}`, `"key_a" must be an object or an array`, 11},
		{`{"key":[{"numeric":[]}]}`, "Invalid member in numeric match: ]", 22},
		{`{"key":[{"numeric":["operator"]}]}`, "Unrecognized numeric range operator: operator", 32},
		{`{"key":[{"numeric":[1,"<="]}]}`, "Invalid member in numeric match: 1", 22},
		{`{"key":[{"numeric":["=","000"]}]}`, "Value of equals must be numeric", 26},
		{`{"key":[{"numeric":[">="]}]}`, "Value of >= must be numeric", 26},
		{`{"key":[{"numeric":["<",100,">",10]}]}`, "Too many elements in numeric expression", 30},
		{`{"key":[{"numeric":[">=",1,">",2]}]}`, "Bad numeric range operator: >", 31},
		{`{"key":[{"numeric":[">",3,"<",1]}]}`, "Bottom must be less than top", 33},
		{`{"key":[{"numeric":[">",20,"<="]}]}`, "Value of <= must be numeric", 33},
		{`{"key":[{"numeric":[">",20,30]}]}`, "Bad value in numeric range: 30", 30},
		{`{"key":[{"numeric":[">",20,"test"]}]}`, "Bad numeric range operator: test", 34},
		{`{"key":[{"numeric":[">","20","<","30"]}]}`, "Value of > must be numeric", 26},
		{`{"key":[{"numeric":[">",20,"<","30"]}]}`, "Value of < must be numeric", 33},
		{`{"key":[{"numeric":[">",20,"<",30,"<",50]}]}`, "Too many terms in numeric range expression", 36},
		{`{"key":[{"exists":null}]}`, "exists match pattern must be either true or false.", 23},
		{`{"key":[{"exists":"no"}]}`, "exists match pattern must be either true or false.", 20},
		{`{"key":[{"anything-but":{"wrong-operator":null}}]}`, "Unsupported anything-but pattern: wrong-operator", 47},
		{`{"key":[{"anything-but":{"exists":false}}]}`, "Unsupported anything-but pattern: exists", 40},
		{`{"key":[{"anything-but":{"prefix":false}}]}`, "prefix match pattern must be a string", 40},
	} {
		for _, scope := range []Scope{MessageAttributes, MessageBody} {
			_, err := Parse(tc.policy, scope)
			if want := "FilterPolicy: " + tc.want + recorded(tc.policy, tc.column); err == nil || err.Error() != want {
				t.Errorf("%s %s: got %v, want %s", scope, tc.policy, err, want)
			}
		}
	}
}

// Texts of event-ruler, or ours where it has none.
func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		policy string
		want   string
	}{
		{`[]`, "Filter is not an object"},
		{`"x"`, "Filter is not an object"},
		{`null`, "Filter is not an object"},
		{`{"a":[]}`, "Empty arrays are not allowed"},
		{`{"a":{}}`, "Empty objects are not allowed"},
		{`{"$or":[{},{}]}`, "Empty objects are not allowed"},
		{`{"a":[{}]}`, "Match expression name not found"},
		{`{"a":null}`, `"a" must be an object or an array`},
		{`{"a":{"b":5}}`, `"b" must be an object or an array`},
		{`{"a":[1],"a":[2]}`, "Path `a` cannot be allowed multiple times"},
		{`{"a":[1],"\u0061":[2]}`, "Path `a` cannot be allowed multiple times"},
		{`{"a":{"b":[1],"b":[2]}}`, "Path `a.b` cannot be allowed multiple times"},
		{`{"$or":[{"a":[1]},{"b":[1]}],"$or":[{"a":[1]},{"b":[1]}]}`, "Path `$or` cannot be allowed multiple times"},
		{`{"a":[{"":1}]}`, "Unrecognized match type "},
		{`{"a":[{"wildcard":"x*"}]}`, "Unrecognized match type wildcard"},
		{`{"a":[{"Prefix":"x"}]}`, "Unrecognized match type Prefix"},
		{`{"a":[{"equals-ignore-case":["x"]}]}`, "equals-ignore-case match pattern must be a string"},
		{`{"a":[{"exists":true,"exists":true}]}`, "Only one key allowed in match expression"},
		{`{"a":[{"cidr":"10.0.0.0/8","x":1}]}`, "Only one key allowed in match expression"},
		{`{"a":[{"cidr":7}]}`, "prefix match pattern must be a string"},
		{`{"a":[{"numeric":5}]}`, "Value of numeric must be an array."},
		{`{"a":[{"numeric":[[]]}]}`, "Invalid member in numeric match: ["},
		{`{"a":[{"numeric":[{"b":1}]}]}`, "Invalid member in numeric match: {"},
		{`{"a":[{"numeric":[true]}]}`, "Invalid member in numeric match: true"},
		{`{"a":[{"numeric":["!=",1]}]}`, "Unrecognized numeric range operator: !="},
		{`{"a":[{"numeric":["",1]}]}`, "Unrecognized numeric range operator: "},
		{`{"a":[{"numeric":["=",1,"<",2]}]}`, "Too many elements in numeric expression"},
		{`{"a":[{"numeric":["<=",1,2]}]}`, "Too many elements in numeric expression"},
		{`{"a":[{"numeric":["=",1],"x":1}]}`, "Too many elements in numeric expression"},
		{`{"a":[{"numeric":[">",1,null]}]}`, "Bad value in numeric range: null"},
		{`{"a":[{"numeric":[">=",1,"<=",1]}]}`, "Bottom must be less than top"},
		{`{"a":[{"numeric":[">=",1.50,"<",1.5]}]}`, "Bottom must be less than top"},
		{`{"a":[{"numeric":["=",1000000000.00001]}]}`, "Value must be between -1.0E9 and 1.0E9, inclusive"},
		{`{"a":[{"numeric":[">",-1e10]}]}`, "Value must be between -1.0E9 and 1.0E9, inclusive"},
		{`{"a":[{"numeric":[">",0,"<",1e99]}]}`, "Value must be between -1.0E9 and 1.0E9, inclusive"},
		{`{"a":[{"anything-but":1e10}]}`, "Value must be between -1.0E9 and 1.0E9, inclusive"},
		{`{"a":[{"anything-but":[1,-1e10]}]}`, "Value must be between -1.0E9 and 1.0E9, inclusive"},
		{`{"a":[{"anything-but":true}]}`, "Value of anything-but must be an array or single string/number value."},
		{`{"a":[{"anything-but":[]}]}`, "Inside anything but list, either all values are number or string, mixed type is not supported"},
		{`{"a":[{"anything-but":["x",1]}]}`,
			"Inside anything but list, either all values are number or string, mixed type is not supported"},
		{`{"a":[{"anything-but":["x",null]}]}`, "Inside anything but list, start|null|boolean is not supported."},
		{`{"a":[{"anything-but":[["x"]]}]}`, "Inside anything but list, start|null|boolean is not supported."},
		{`{"a":[{"anything-but":"x","y":1}]}`, "Too many elements in numeric expression"},
		{`{"a":[{"anything-but":{}}]}`, "Anything-But expression name not found"},
		{`{"a":[{"anything-but":{"prefix":""}}]}`, "Null prefix/suffix not allowed"},
		{`{"a":[{"anything-but":{"suffix":""}}]}`, "Null prefix/suffix not allowed"},
		{`{"a":[{"anything-but":{"suffix":["x"]}}]}`, "suffix match pattern must be a string"},
		{`{"a":[{"anything-but":{"prefix":"x","suffix":"y"}}]}`, "Only one key allowed in match expression"},
		{`{"a":[{"anything-but":{"equals-ignore-case":[]}}]}`, "Empty arrays are not allowed"},
		{`{"a":[{"anything-but":{"equals-ignore-case":["x",1]}}]}`,
			"Inside anything-but/equals-ignore-case list, number|start|null|boolean is not supported."},
		{`{"a":[{"anything-but":{"equals-ignore-case":null}}]}`,
			"Inside anything-but/equals-ignore-case list, number|start|null|boolean is not supported."},
		{`{"$or":[{"numeric":123},{"prefix":"abc"}]}`, "Value of numeric must be an array."},
		{`{"$or":[{"a":[1]}]}`, "Unrecognized match type a"},
		{`{"$or":[]}`, "Empty arrays are not allowed"},
		{`{"$or":"x"}`, `"$or" must be an object or an array`},
		{`{"$or":[{"a":[1]},{"b":1}]}`, `"b" must be an object or an array`},
	} {
		_, err := Parse(tc.policy, MessageBody)
		if err == nil || !strings.HasPrefix(err.Error(),
			"FilterPolicy: "+tc.want+"\n at [Source: (String)\""+tc.policy+"\"; line: 1, column: ") {
			t.Errorf("%s: got %v, want %s", tc.policy, err, tc.want)
		}
	}
}

func TestParseErrorsWithoutPlace(t *testing.T) {
	t.Parallel()
	sixKeys := `{"a":[1],"b":[1],"c":[1],"d":[1],"e":[1],"f":[1]}`
	for _, tc := range []struct {
		policy string
		scope  Scope
		want   string
	}{
		{sixKeys, MessageAttributes, "FilterPolicy: Filter policy can not have more than 5 keys"},
		{sixKeys, MessageBody, "FilterPolicy: Filter policy can not have more than 5 keys"},
		{`{"a":{"b":[1],"c":[1],"d":[1]},"e":{"f":[1],"g":[1],"h":[1]}}`, MessageBody,
			"FilterPolicy: Filter policy can not have more than 5 keys"},
		{`{"a":[1],"$or":[{"b":[1],"c":[1]},{"d":[1]},{"e":[1],"f":[1]}]}`, MessageBody,
			"FilterPolicy: Filter policy can not have more than 5 keys"},
		{`{"object":{"key":[{"prefix":"auto-"}]}}`, MessageAttributes,
			"Filter policy scope MessageAttributes does not support nested filter policy"},
		{`{"$or":[{"a":[1]},{"b":{"c":[1]}}]}`, MessageAttributes,
			"Filter policy scope MessageAttributes does not support nested filter policy"},
		{`{"a":[{"cidr":"10.0.0.0"}]}`, MessageBody, "FilterPolicy: Malformed CIDR, one '/' required"},
		{`{"a":[{"cidr":"10.0.0.0/8/8"}]}`, MessageBody, "FilterPolicy: Malformed CIDR, one '/' required"},
		{`{"a":[{"cidr":"10.0.0.0/x"}]}`, MessageBody, "FilterPolicy: Malformed CIDR, mask bits must be an integer"},
		{`{"a":[{"cidr":"10.0.0.0/-1"}]}`, MessageBody, "FilterPolicy: Malformed CIDR, mask bits must not be negative"},
		{`{"a":[{"cidr":"10.0.0/8"}]}`, MessageBody, "FilterPolicy: Nonstandard IP address: 10.0.0"},
		{`{"a":[{"cidr":"10.0.0.0/33"}]}`, MessageBody, "FilterPolicy: IPv4 mask bits must be < 33"},
		{`{"a":[{"cidr":"::/129"}]}`, MessageBody, "FilterPolicy: IPv6 mask bits must be < 129"},
		{`{"a":["` + strings.Repeat("x", BytesMax) + `"]}`, MessageBody, "FilterPolicy: Filter policy is too long"},
	} {
		if _, err := Parse(tc.policy, tc.scope); err == nil || err.Error() != tc.want {
			t.Errorf("%s %.80s: got %v, want %s", tc.scope, tc.policy, err, tc.want)
		}
	}
}

// list returns an array of n different values.
func list(n int) string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf(`"value%d"`, i)
	}
	return "[" + strings.Join(values, ",") + "]"
}

// deep nests conditions n levels deep.
func deep(n int, conditions string) string {
	return strings.Repeat(`{"a":`, n) + conditions + strings.Repeat("}", n)
}

func TestCombinations(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		policy string
		ok     bool
	}{
		{"150 values", `{"a":` + list(150) + `}`, true},
		{"151 values", `{"a":` + list(151) + `}`, false},
		{"15 x 10", `{"a":` + list(15) + `,"b":` + list(10) + `}`, true},
		{"100 x 51", `{"a":` + list(100) + `,"b":` + list(51) + `}`, false},
		{"the guide: 3 x 4 x 2 x 3", `{"a":{"b":{"c":` + list(4) + `}},"d":{"e":` + list(3) + `}}`, true},
		{"the guide: 3 x 4 x 2 x 3 x 1 x 3", `{"a":{"b":{"c":` + list(4) + `}},"d":{"e":` + list(3) + `},"f":` + list(3) + `}`, false},
		{"recorded: 3x6 + 3x4x4 + 3x4x7 = 150",
			`{"s":` + list(3) + `,"$or":[{"n":` + list(6) + `},{"t":` + list(4) +
				`,"$or":[{"i":[1234,4321,5678,9012]},{"j":[1,2,3,4,5,6,7]}]}]}`, true},
		{"recorded: 4x6 + 4x4x4 + 4x4x4 = 152",
			`{"s":` + list(4) + `,"$or":[{"n":` + list(6) + `},{"t":` + list(4) + `,"$or":[{"i":[1,2,3,4]},{"j":[1,2,3,4]}]}]}`, false},
		{"recorded: 160 nested", `{"$or":[{"m":` + list(3) + `},{"n":` + list(2) + `}],"d":{"s":` + list(2) + `,"$or":[{"u":` + list(1) +
			`},{"t":` + list(3) + `}]}}`, false},
		{"the members of $or in any order", `{"$or":[{"n":` + list(76) + `},{"m":` + list(75) + `}],"s":` + list(1) + `}`, false},
		{"an anything-but is one value", `{"a":[{"anything-but":` + list(5000) + `}]}`, true},
		{"150 deep", deep(150, `[1]`), true},
		{"151 deep", deep(151, `[1]`), false},
		{"75 deep, 2 values", deep(75, `[1,2]`), true},
		{"76 deep, 2 values", deep(76, `[1,2]`), false},
		{"999 deep", deep(999, `[1]`), false},
	} {
		_, err := Parse(tc.policy, MessageBody)
		if tc.ok && err != nil || !tc.ok && (err == nil || err.Error() != "FilterPolicy: Filter policy is too complex") {
			t.Errorf("%s: got %v", tc.name, err)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{
		`{"a":[1],"b":[1],"c":[1],"d":[1],"e":[1]}`,
		`{"a":{"b":[1],"c":[1],"d":[1]},"e":[1],"f":[1]}`,
		`{"$or":[{"a":[1],"b":[1],"c":[1]},{"a":[2],"b":[2],"c":[2]}],"d":[1],"e":[1]}`,
		`{"a":{"b":[1]},"a.b":[1],"c":[1],"d":[1],"e":[1],"f":[1]}`,
	} {
		if _, err := Parse(policy, MessageBody); err != nil {
			t.Errorf("%s: %v", policy, err)
		}
	}
}

// Invalid JSON is reported as such, with its position.
func TestParseNotJSON(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		policy string
		at     string
	}{
		{`{invalidjson}`, "line: 1, column: 3]"},
		{`{"a":["x"]`, "line: 1, column: 11]"},
		{`{"a":["x"]} x`, "line: 1, column: 14]"},
		{"{\n\"a\":\r\n[1,\r \t}", "line: 4, column: 4]"},
		{"{\"\u00e9\U0001f600\":x}", "line: 1, column: 9]"},
		{"{\"a\":[\"\xff\"]}", "line: 1, column: 9]"},
		{`{"a":[01]}`, "line: 1, column: 9]"},
		{`{"a":[1.]}`, "line: 1, column: 8]"},
		{`{"a":["\x"]}`, "line: 1, column: 8]"},
		{`{"a":["\ud83d"],}`, "line: 1, column: 18]"},
		{"\ufeff{}", "line: 1, column: 2]"},
		{strings.Repeat(`{"a":`, 1001), "column: 5002]"},
		{strings.Repeat(`[`, 200_000), "column: 1002]"},
	} {
		_, err := Parse(tc.policy, MessageAttributes)
		if err == nil || !strings.HasPrefix(err.Error(), "FilterPolicy: failed to parse JSON.\n at [Source: (String)\"") ||
			!strings.HasSuffix(err.Error(), tc.at) {
			t.Errorf("%.60q: got %v", tc.policy, err)
		}
	}
}

// An error quotes a bounded part of a policy and its words.
func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("\U0001f600", 1000)
	policy := `{"` + word + `":1}`
	_, err := Parse(policy, MessageBody)
	want := `FilterPolicy: "` + strings.Repeat("\U0001f600", 64) + `" must be an object or an array` +
		"\n at [Source: (String)\"{\"" + strings.Repeat("\U0001f600", 249) + "\"[truncated 1506 chars]; line: 1, column: 2006]"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = ParseScope("x" + word)
	want = "FilterPolicyScope: Invalid value [x" + strings.Repeat("\U0001f600", 63) +
		"]. Please use either MessageBody or MessageAttributes"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNoPolicy(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " \n", "{}", " { } "} {
		p, err := Parse(text, MessageBody)
		if p != nil || err != nil {
			t.Errorf("%q: %v, %v", text, p, err)
		}
		if p.Text() != "" || p.Scope() != MessageAttributes {
			t.Errorf("%q: text %q, scope %s", text, p.Text(), p.Scope())
		}
	}
}

func TestPolicyKeepsItsText(t *testing.T) {
	t.Parallel()
	const text = ` { "b" : [ 1.0e2 , "\u0041" ],` + "\n\t" + `"a":[{"exists" : true}]} `
	for _, scope := range []Scope{MessageAttributes, MessageBody} {
		p, err := Parse(text, scope)
		if err != nil || p.Text() != text || p.Scope() != scope {
			t.Fatalf("%v: %q, %s", err, p.Text(), p.Scope())
		}
		again, err := Parse(p.Text(), p.Scope())
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%+v, want %+v", again, p)
		}
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	for _, want := range []Scope{MessageAttributes, MessageBody} {
		if got, err := ParseScope(want.String()); got != want || err != nil {
			t.Errorf("%s: %s, %v", want, got, err)
		}
	}
	const want = "FilterPolicyScope: Invalid value [RandomValue]. Please use either MessageBody or MessageAttributes"
	if _, err := ParseScope("RandomValue"); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	for _, text := range []string{"", "messagebody"} {
		if _, err := ParseScope(text); err == nil {
			t.Errorf("%q is a scope", text)
		}
	}
	if got := Scope(9).String(); got != "Scope(9)" {
		t.Error(got)
	}
}
