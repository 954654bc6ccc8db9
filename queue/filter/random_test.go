package filter

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// random generates policies and messages from few names and values, so that matches are common.
type random struct{ *rand.Rand }

func (r random) one(of ...string) string { return of[r.IntN(len(of))] }

func (r random) name() string { return r.one("a", "b", "c", "a.b", "$or", "", "é") }

func (r random) text() string {
	return r.one(`"a"`, `"A"`, `"ab"`, `"aB"`, `"b"`, `""`, `"1"`, `"é"`, `"\u00C9"`, `"10.0.0.1"`, `"10.0.1.1"`, `"::1"`, `"\ud83d\ude00"`)
}

func (r random) number() string { return randomNumber(r.Rand) }

func (r random) plain() string {
	switch r.IntN(4) {
	case 0, 1:
		return r.text()
	case 2:
		return r.number()
	}
	return r.one("true", "false", "null")
}

// join joins up to n elements with commas.
func (r random) join(least, n int, element func() string) string {
	parts := make([]string, least+r.IntN(n-least+1))
	for i := range parts {
		parts[i] = element()
	}
	return strings.Join(parts, ",")
}

func (r random) condition() string {
	switch r.IntN(12) {
	case 0, 1, 2:
		return r.plain()
	case 3:
		return `{"exists":` + r.one("true", "false") + `}`
	case 4, 5:
		return `{"` + r.one("prefix", "suffix", "equals-ignore-case") + `":` + r.text() + `}`
	case 6:
		return `{"cidr":` + r.one(`"10.0.0.0/24"`, `"10.0.0.0/8"`, `"::/0"`) + `}`
	case 7:
		return `{"anything-but":{"` + r.one("prefix", "suffix") + `":` + r.one(`"a"`, `"b"`, `"1"`) + `}}`
	case 8:
		return `{"anything-but":` + r.one(r.text(), r.number(), `[`+r.join(1, 3, r.text)+`]`, `[`+r.join(1, 3, r.number)+`]`,
			`{"equals-ignore-case":[`+r.join(1, 3, r.text)+`]}`) + `}`
	case 9, 10:
		return `{"numeric":["` + r.one("=", "<", "<=", ">", ">=") + `",` + r.number() + `]}`
	}
	return fmt.Sprintf(`{"numeric":["%s",%d,"%s",%d.5]}`, r.one(">", ">="), r.IntN(5)-3, r.one("<", "<="), 2+r.IntN(100))
}

// policy generates an object of a policy.
func (r random) policy(depth int, scope Scope) string {
	used := map[string]bool{}
	var members []string
	for range 1 + r.IntN(3) {
		name := r.name()
		if used[name] {
			continue
		}
		used[name] = true
		v := ""
		switch {
		case name == orName && r.IntN(4) > 0 && depth < 4:
			v = `[` + r.join(2, 3, func() string { return r.policy(depth+1, scope) }) + `]`
		case scope == MessageBody && r.IntN(3) == 0 && depth < 4:
			v = r.policy(depth+1, scope)
		default:
			v = `[` + r.join(1, 3, r.condition) + `]`
		}
		members = append(members, `"`+name+`":`+v)
	}
	return `{` + strings.Join(members, ` , `) + `}`
}

// value generates a value in a body.
func (r random) value(depth int) string {
	switch {
	case depth < 4 && r.IntN(3) == 0:
		return r.object(depth + 1)
	case depth < 4 && r.IntN(4) == 0:
		return `[` + r.join(0, 3, func() string { return r.value(depth + 1) }) + `]`
	}
	return r.plain()
}

func (r random) object(depth int) string {
	return `{` + r.join(0, 4, func() string { return `"` + r.name() + `": ` + r.value(depth) }) + `}`
}

func (r random) attributes() (attributes []Attribute) {
	for _, name := range []string{"a", "b", "c", "a.b", "$or", "", "é"} {
		a := Attribute{Name: name, DataType: r.one("String", "String.x", "Number", "Binary", "String.Array", "String.Array",
			"Number.Array")}
		switch a.DataType {
		case "Number":
			a.Value = r.one(r.number(), r.number(), "+1", "1.", ".5", "x")
		case "String.Array", "Number.Array":
			a.Value = `[` + r.join(0, 3, r.plain) + `]` + r.one("", "", "", "x")
		default:
			a.Value = decode(r.text()).(string)
		}
		if r.IntN(2) == 0 {
			attributes = append(attributes, a)
		}
	}
	return attributes
}

func TestRandomPolicies(t *testing.T) {
	t.Parallel()
	r := random{rand.New(rand.NewPCG(7, 11))}
	accepted, matched, refusals := 0, 0, map[string]int{}
	for range 1500 {
		scope := Scope(r.IntN(2))
		policy := r.policy(1, scope)
		combinations, paths := referenceCount(decode(policy).(map[string]any), "", 1)
		p, err := Parse(policy, scope)
		if want := combinations <= CombinationsMax && len(paths) <= KeysMax; (err == nil) != want {
			t.Fatalf("%s %s with %d combinations of %q: %v", scope, policy, combinations, paths, err)
		}
		if err != nil {
			refusals[err.Error()]++
			continue
		}
		accepted++
		for range 4 {
			attributes, body := r.attributes(), r.object(1)
			got, want := p.Match(NewMessage(attributes, body)), referenceMatch(policy, scope, attributes, body)
			if got != want {
				t.Fatalf("%s %s\nbody %s\nattributes %q\nmatches: %v, want %v", scope, policy, body, attributes, got, want)
			}
			if got {
				matched++
			}
		}
	}
	if accepted < 1000 || matched < 400 || len(refusals) != 2 {
		t.Errorf("%d policies accepted, %d matches, refused %v: the test tests little", accepted, matched, refusals)
	}
	t.Logf("%d policies accepted, %d matches, refused %v", accepted, matched, refusals)
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"a":["x",1,true,null,{"prefix":"y"}]}`, `{"a":{"b":[{"numeric":[">=",0.5,"<",1e3]}]}}`,
		`{"$or":[{"a":[1]},{"b":[{"exists":false}]}],"c":[{"anything-but":["x"]}]}`,
		`{"a":[{"cidr":"10.0.0.0/8"},{"cidr":"::/0"}]}`, `{"a":[{"anything-but":{"equals-ignore-case":["\u00e9","B"]}}]}`, ` { } `,
		`{"a":[1],"a":[1]}`, `{"$or":[{"prefix":"a"},{}]}`,
		deep(150, `[1]`), strings.Repeat(`{"$or":[`, 60), `{"a":[1e99999999999999999999,-0,0.000]}`, `{"a":["\ud83d","\ud83d\ude00"]}`,
		"{\"a\":[\"\xff\"]}", `{"a":[{"numeric":[">",1,"<",`, `{invalidjson}`, "{\r\n\t1",
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, inBody bool) {
		scope := MessageAttributes
		if inBody {
			scope = MessageBody
		}
		p, err := Parse(text, scope)
		if err != nil {
			if p != nil || !utf8.ValidString(err.Error()) || len(err.Error()) > 3000 || !strings.Contains(err.Error(), "ilter") {
				t.Fatalf("%q: %v, %q", text, p, err)
			}
			return
		}
		again, err := Parse(p.Text(), p.Scope())
		if err != nil || !reflect.DeepEqual(p, again) || p != nil && (p.Text() != text || p.Scope() != scope) {
			t.Fatalf("%q is %+v, then %+v (%v)", text, p, again, err)
		}
		p.Match(NewMessage([]Attribute{{"a", "String.Array", `["x",1]`}, {"b", "Number", "1"}}, `{"a":{"b":1},"c":["x",null]}`))
	})
}

func FuzzMatch(f *testing.F) {
	r := random{rand.New(rand.NewPCG(3, 5))}
	for range 40 {
		attributes := append(r.attributes(), Attribute{"a", "String", "a"})
		f.Add(r.policy(1, MessageBody), r.object(1), attributes[0].DataType, attributes[0].Value)
	}
	f.Add(`{"a":[{"exists":false}]}`, strings.Repeat(`{"a":`, 2000), "String.Array", strings.Repeat("[", 2000))
	f.Add(`{"a":[{"numeric":["<",1]}]}`, `{"a":-1e-99999999999999999999999999}`, "Number", "1e-99999999999999999999999999")
	f.Add(`{"a":["\ud83d"]}`, "{\"a\":\"\xff\",\"a\":\"\\ud83d\"}", "String", "\xff")
	f.Fuzz(func(t *testing.T, policy, body, dataType, value string) {
		for _, scope := range []Scope{MessageAttributes, MessageBody} {
			p, err := Parse(policy, scope)
			if p == nil || err != nil {
				continue
			}
			attributes := []Attribute{{"a", dataType, value}, {"b", "Number", "7"}}
			m := NewMessage(attributes, body)
			got := p.Match(m)
			if p.Match(m) != got {
				t.Fatalf("%s %q: the second time, %q does not match as the first time", scope, policy, body)
			}
			if beyondReference(policy) || beyondReference(body) || beyondReference(value) {
				continue
			}
			if want := referenceMatch(policy, scope, attributes, body); got != want {
				t.Fatalf("%s %q\nbody %q\n%s %q\nmatches: %v, want %v", scope, policy, body, dataType, value, got, want)
			}
		}
	})
}

// beyondReference reports whether a text has exponents that are slow in the reference, or letters
// that only the tables of the standard library fold.
func beyondReference(text string) bool {
	digits := 0
	for _, r := range text {
		if r >= '0' && r <= '9' {
			digits++
		} else if r != '.' {
			digits = 0
		}
		if digits > 3 || r > '\u00ff' || r == utf8.RuneError {
			return true
		}
	}
	return strings.Contains(text, `\u`) || !utf8.ValidString(text)
}
