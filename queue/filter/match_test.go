package filter

import (
	"strings"
	"testing"
)

// mustParse parses a valid policy.
func mustParse(t testing.TB, text string, scope Scope) *Policy {
	t.Helper()
	p, err := Parse(text, scope)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// Each operator is tried with values of k in a body.
func TestOperators(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		conditions string
		match      []string
		others     []string
	}{
		{`["a","b"]`, []string{`"a"`, `"b"`, `"\u0061"`, `["x","b"]`}, []string{`"c"`, `"A"`, `"ab"`, `""`, `1`, `null`, `{"a":1}`, `[]`}},
		{`[""]`, []string{`""`}, []string{`" "`, `null`}},
		{`["\u00e9\ud83d\ude00"]`, []string{`"é😀"`, `"\u00E9\uD83D\uDE00"`}, []string{`"e\u0301😀"`}},
		{`[300]`, []string{`300`, `300.0`, `3.0e2`, `3E+2`, `30000e-2`, `[1,300]`}, []string{`"300"`, `300.00001`, `-300`, `30`, `3000`}},
		{`[0]`, []string{`0`, `-0`, `0.000`, `0e9`, `-0.0e-9`}, []string{`1e-400`, `-1e-400`, `"0"`, `false`}},
		{`[0.1]`, []string{`0.1`, `1e-1`, `0.10`}, []string{`0.1000000000000000055511151231257827`, `0.11`}},
		{`[123456789012345678901234567890]`, []string{`123456789012345678901234567890`, `12345678901234567890123456789e1`},
			[]string{`123456789012345678901234567891`}},
		{`[true]`, []string{`true`, `[null,true]`}, []string{`false`, `"true"`, `1`, `null`}},
		{`[false,null]`, []string{`false`, `null`}, []string{`true`, `0`, `""`, `"null"`}},
		{`[{"exists":true}]`, []string{`"a"`, `null`, `false`, `[1]`, `[[{"x":1},2]]`},
			[]string{`[]`, `{}`, `{"a":1}`, `[{"x":1}]`, `[[]]`}},
		{`[{"exists":false}]`, []string{`[]`, `{}`, `{"a":1}`}, []string{`"a"`, `null`}},
		{`[{"exists":false},"a"]`, []string{`[]`, `"a"`}, []string{`"b"`}},
		{`[{"prefix":"ba"}]`, []string{`"ba"`, `"bas"`, `["x","bar"]`}, []string{`"b"`, `"Bas"`, `"abas"`, `1`}},
		{`[{"prefix":""}]`, []string{`""`, `"x"`}, []string{`1`, `null`}},
		{`[{"prefix":"1"}]`, []string{`"12"`}, []string{`12`}},
		{`[{"suffix":"ll"}]`, []string{`"ll"`, `"ball"`}, []string{`"balls"`, `"l"`, `"LL"`}},
		{`[{"equals-ignore-case":"Straße Ω"}]`, []string{`"straße ω"`, `"STRAßE Ω"`}, []string{`"strasse ω"`, `"straße"`, `1`}},
		{`[{"equals-ignore-case":"ΟΔΟΣ"}]`, []string{`"οδος"`, `"οδοσ"`}, []string{`"οδο"`}},
		{`[{"equals-ignore-case":"a"},{"equals-ignore-case":"B"}]`, []string{`"A"`, `"b"`}, []string{`"c"`}},
		{`[{"anything-but":"a"}]`, []string{`"b"`, `"A"`, `1`, `null`, `true`, `["a","b"]`}, []string{`"a"`, `[]`, `{}`, `["a","a"]`}},
		{`[{"anything-but":["a","b"]}]`, []string{`"c"`, `1`}, []string{`"a"`, `["b","a"]`}},
		{`[{"anything-but":100}]`, []string{`101`, `100.1`, `"100"`, `[100,50]`}, []string{`100`, `1e2`}},
		{`[{"anything-but":[100,500]}]`, []string{`101`}, []string{`100.0`, `500`}},
		{`[{"anything-but":{"prefix":"ba"}}]`, []string{`"foo"`, `"b"`, `1`}, []string{`"ba"`, `"bas"`}},
		{`[{"anything-but":{"suffix":"ll"}}]`, []string{`"foo"`, `"l"`, `false`}, []string{`"ball"`}},
		{`[{"anything-but":{"equals-ignore-case":"Ab"}}]`, []string{`"abc"`, `1`}, []string{`"AB"`, `"ab"`}},
		{`[{"anything-but":{"equals-ignore-case":["Ab","c"]}}]`, []string{`"d"`}, []string{`"AB"`, `"C"`}},
		{`[{"numeric":["=",301.5]}]`, []string{`301.5`, `3.015e2`}, []string{`301`, `"301.5"`}},
		{`[{"numeric":["<",0]}]`, []string{`-1`, `-1e-9`, `-1e400`}, []string{`0`, `-0.0`, `1`, `"-1"`, `null`}},
		{`[{"numeric":["<=",0]}]`, []string{`0`, `-1`}, []string{`0.00001`}},
		{`[{"numeric":[">",-2.5]}]`, []string{`-2.49999`, `0`, `5e9`}, []string{`-2.5`, `-2.50001`, `-30`}},
		{`[{"numeric":[">=",-2.5]}]`, []string{`-2.5`, `-2.50`}, []string{`-2.500000001`}},
		{`[{"numeric":[">",0,"<=",150]}]`, []string{`0.00001`, `150`, `[0,1]`}, []string{`0`, `150.00001`, `[0,151]`}},
		{`[{"numeric":[">=",-1e9,"<",1e9]}]`, []string{`-1000000000`, `999999999.99999`}, []string{`1000000000`, `-1000000000.1`}},
		{`[{"cidr":"10.0.0.0/24"}]`, []string{`"10.0.0.0"`, `"10.0.0.255"`},
			[]string{`"10.0.1.0"`, `"10.0.0"`, `"10.0.0.256"`, `"::ffff:a00:1"`, `10.0`}},
		{`[{"cidr":"10.0.0.77/24"}]`, []string{`"10.0.0.1"`, `"10.0.0.200"`}, []string{`"10.0.1.77"`}},
		{`[{"cidr":"10.0.0.7/32"}]`, []string{`"10.0.0.7"`}, []string{`"10.0.0.6"`}},
		{`[{"cidr":"0.0.0.0/0"}]`, []string{`"255.1.2.3"`}, []string{`"::1"`, `"host"`}},
		{`[{"cidr":"2001:DB8::/33"}]`, []string{`"2001:db8::1"`, `"2001:0db8:7fff::"`}, []string{`"2001:db8:8000::"`, `"2001:db9::"`}},
		{`[{"cidr":"::/0"}]`, []string{`"::"`, `"ffff::"`}, []string{`"0.0.0.0"`}},
		{`[{"cidr":"::1/128"}]`, []string{`"::1"`, `"0:0:0:0:0:0:0:1"`}, []string{`"::2"`, `"1::1"`}},
		{`[5,-3,"z",100,"a",0.5,"m"]`, []string{`5`, `-3`, `100`, `0.5`, `"a"`, `"m"`, `"z"`}, []string{`3`, `50`, `"b"`}},
		{`["x",5,null,{"prefix":"a"},{"numeric":["<",0]}]`, []string{`"x"`, `5`, `null`, `"ab"`, `-1`}, []string{`"y"`, `6`, `true`}},
	} {
		p := mustParse(t, `{"k":`+tc.conditions+`}`, MessageBody)
		for _, v := range tc.match {
			if !p.Match(NewMessage(nil, `{"k":`+v+`}`)) {
				t.Errorf("%s: %s does not match", tc.conditions, v)
			}
		}
		for _, v := range tc.others {
			if p.Match(NewMessage(nil, `{"k":`+v+`}`)) {
				t.Errorf("%s: %s matches", tc.conditions, v)
			}
		}
		if want := strings.Contains(tc.conditions, `"exists":false`); p.Match(NewMessage(nil, `{"l":1}`)) != want {
			t.Errorf("%s: without k: %v", tc.conditions, !want)
		}
	}
}

func TestMatchAttributes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		policy    string
		attribute Attribute
		want      bool
	}{
		{"a string", `{"k":["a"]}`, Attribute{"k", "String", "a"}, true},
		{"another string", `{"k":["a"]}`, Attribute{"k", "String", "b"}, false},
		{"another name", `{"k":["a"]}`, Attribute{"K", "String", "a"}, false},
		{"a string of a type of its own", `{"k":["a"]}`, Attribute{"k", "String.custom", "a"}, true},
		{"a dot in the name", `{"k.l":["a"]}`, Attribute{"k.l", "String", "a"}, true},
		{"digits are not a number", `{"k":[1]}`, Attribute{"k", "String", "1"}, false},
		{"a word is a string", `{"k":[true]}`, Attribute{"k", "String", "true"}, false},
		{"a number is not a string", `{"k":["1"]}`, Attribute{"k", "Number", "1"}, false},
		{"a number", `{"k":[300]}`, Attribute{"k", "Number", "3.0e2"}, true},
		{"a number as SQS takes it", `{"k":[0.5]}`, Attribute{"k", "Number", "+.5"}, true},
		{"another such", `{"k":[5]}`, Attribute{"k", "Number", "5."}, true},
		{"a number of a type of its own", `{"k":[{"numeric":["<",2]}]}`, Attribute{"k", "Number.int", "1"}, true},
		{"a number out of range", `{"k":[{"numeric":[">",2]}]}`, Attribute{"k", "Number", "5e9"}, true},
		{"no number at all", `{"k":[{"anything-but":1}]}`, Attribute{"k", "Number", "x"}, false},
		{"no number, but there", `{"k":[{"exists":true}]}`, Attribute{"k", "Number", "x"}, true},
		{"binary is ignored", `{"k":[{"exists":true}]}`, Attribute{"k", "Binary", "a"}, false},
		{"binary is not there", `{"k":[{"exists":false}]}`, Attribute{"k", "Binary.x", "a"}, true},
		{"an element", `{"k":["b"]}`, Attribute{"k", "String.Array", `["a","b"]`}, true},
		{"no element", `{"k":["c"]}`, Attribute{"k", "String.Array", `["a","b"]`}, false},
		{"not all elements", `{"k":[{"anything-but":["rugby","tennis"]}]}`, Attribute{"k", "String.Array", `["rugby","baseball"]`}, true},
		{"all elements", `{"k":[{"anything-but":["rugby","tennis"]}]}`, Attribute{"k", "String.Array", `["rugby","tennis"]`}, false},
		{"a number in an array", `{"k":[2]}`, Attribute{"k", "String.Array", `["a",2.0]`}, true},
		{"a word in an array", `{"k":[null]}`, Attribute{"k", "String.Array", ` [true, null] `}, true},
		{"an array of numbers", `{"k":[{"anything-but":[100,500]}]}`, Attribute{"k", "Number.Array", `[100,50]`}, true},
		{"an empty array is there", `{"k":[{"exists":true}]}`, Attribute{"k", "String.Array", `[]`}, true},
		{"an empty array has no value", `{"k":[{"anything-but":"a"}]}`, Attribute{"k", "String.Array", `[]`}, false},
		{"an array in an array", `{"k":["a"]}`, Attribute{"k", "String.Array", `["a",["b"]]`}, false},
		{"an object in an array", `{"k":[{"exists":true}]}`, Attribute{"k", "String.Array", `["a",{}]`}, true},
		{"not an array", `{"k":["a"]}`, Attribute{"k", "String.Array", `a`}, false},
		{"a string for an array", `{"k":["a"]}`, Attribute{"k", "String.Array", `"a"`}, false},
		{"no array, but there", `{"k":[{"exists":true}]}`, Attribute{"k", "String.Array", `a`}, true},
		{"an array of another type", `{"k":["[]"]}`, Attribute{"k", "String.array", `[]`}, true},
		{"an address", `{"k":[{"cidr":"10.0.0.0/24"}]}`, Attribute{"k", "String", "10.0.0.9"}, true},
		{"an unknown type", `{"k":[{"exists":true}]}`, Attribute{"k", "Strings", "a"}, false},
		{"a body does not count", `{"body":[{"exists":true}]}`, Attribute{"k", "String", "a"}, false},
	} {
		m := NewMessage([]Attribute{{"other", "String.Array", `[1]`}, tc.attribute}, `{"body":1}`)
		p := mustParse(t, tc.policy, MessageAttributes)
		for range 2 { // the second time from the cache
			if got := p.Match(m); got != tc.want {
				t.Errorf("%s: %v", tc.name, got)
			}
		}
	}
}

func TestMatchLogic(t *testing.T) {
	t.Parallel()
	// The example of localstack's recording at SNS.
	const or = `{"$or":[{"metricName":["CPUUtilization","ReadLatency"]},{"namespace":["AWS/EC2","AWS/ES"]}],` +
		`"detail":{"scope":["Service"],"$or":[{"source":["aws.cloudwatch"]},{"type":["CloudWatch Alarm State Change"]}]}}`
	const records = `{"Records":{"s3":{"object":{"key":[{"prefix":"auto-"}]}},"eventName":[{"prefix":"ObjectCreated:"}]}}`
	for _, tc := range []struct {
		policy string
		body   string
		want   bool
	}{
		{`{"a":[1],"b":[2]}`, `{"a":1,"b":2}`, true},
		{`{"a":[1],"b":[2]}`, `{"a":1,"b":3}`, false},
		{`{"a":[1],"b":[2]}`, `{"a":1}`, false},
		{`{"a":[1],"b":[{"exists":false}]}`, `{"a":1}`, true},
		{or, `{"metricName":"CPUUtilization","detail":{"scope":"aws.cloudwatch","type":"CloudWatch Alarm State Change"}}`, false},
		{or, `{"metricName":"CPUUtilization","detail":{"scope":"Service","type":"CPUUtilization"}}`, false},
		{or, `{"metricName":"CPUUtilization","detail":{"type":"CloudWatch Alarm State Change"}}`, false},
		{or, `{"metricName":"CPUUtilization","detail":{"scope":"Service"}}`, false},
		{or, `{"metricName":"CPUUtilization","scope":"Service"}`, false},
		{or, `{"metricName":"CPUUtilization","detail":{"scope":"Service","source":"aws.cloudwatch"}}`, true},
		{or, `{"namespace":"AWS/ES","detail":{"scope":"Service","source":"aws.cloudwatch"}}`, true},
		{or, `{"namespace":"AWS/EC2","detail":{"scope":"Service","type":"CloudWatch Alarm State Change"}}`, true},
		{or, `{"metricName":"AWS/EC2","detail":{"scope":"Service","type":"CloudWatch Alarm State Change"}}`, false},
		{`{"$or":[{"a":[1],"b":[1]},{"a":[2],"$or":[{"b":[2]},{"b":[3]}]}]}`, `{"a":2,"b":3}`, true},
		{`{"$or":[{"a":[1],"b":[1]},{"a":[2],"$or":[{"b":[2]},{"b":[3]}]}]}`, `{"a":1,"b":3}`, false},
		{`{"$or":["a",null]}`, `{"$or":null}`, true},
		{`{"a":{"$or":{"b":[1]}}}`, `{"a":{"$or":{"b":1}}}`, true},
		{records, `{"Records":[{"eventName":"ObjectCreated:Put","s3":{"object":[[{"key":"auto-insurance-2314.xml","size":17}]]}},` +
			`{"eventName":"ObjectRemoved:Delete","s3":{"object":{"key":"home-insurance-2314.xml"}}}]}`, true},
		{records, `{"Records":[{"eventName":"ObjectRemoved:Delete","s3":{"object":{"key":"auto-insurance-2314.xml"}}}]}`, false},
		{records, `{"Records":[{"eventName":"ObjectCreated:Put","s3":{"object":{"key":"home-insurance-2314.xml"}}}]}`, false},
		{records, `{"Records":[{"eventName":"ObjectCreated:Put","s3":{"object":{"key":"auto-insurance-2314.xml"}}}]}`, true},
		{`{"headers":{"route-to":["queue1"]}}`, `{"headers":{"route-to":["queue1","queue2"]}}`, true},
		{`{"headers":{"route-to":["queue1"]}}`, `{"headers":{"route-to":["queue3"]}}`, false},
		{`{"object.nested.test":["v"]}`, `{"object":{"nested":{"test":"v"}}}`, true},
		{`{"object.nested.test":["v"]}`, `{"object.nested.test":"v"}`, true},
		{`{"object.nested.test":["v"]}`, `{"object.nested":{"test":"v"}}`, true},
		{`{"object.nested.test":["v"]}`, `{"object":{"nested.test":"v"}}`, true},
		{`{"object":{"nested.test":["v"]}}`, `{"object.nested":{"test":"v"}}`, true},
		{`{"object.nested.test":["v"]}`, `{"object":{"nested":{"test":"w"}}}`, false},
		{`{"object.nested.test":["v"]}`, `{"object":{"nested":{"test":{"v":"v"}}}}`, false},
		{`{"a":{"":{"b":[1]}}}`, `{"a":{"":{"b":1}}}`, true},
		{`{"a":{"":{"b":[1]}}}`, `{"a.":{"b":1}}`, true},
		{`{"a":{"":{"b":[1]}}}`, `{"a":{"b":1}}`, false},
		{`{"":[1]}`, `{"":1}`, true},
		{`{".":[1]}`, `{"":{"":1}}`, true},
		{`{"\u0061":{"\"":[1]}}`, `{"a":{"\u0022":1}}`, true},
		{`{"a":[2]}`, `{"a":1,"a":2}`, true},
		{`{"a":{"b":[1]},"a.b":[2]}`, `{"a":{"b":[1,2]}}`, true},
		{`{"a":{"b":[1]},"a.b":[2]}`, `{"a":{"b":1}}`, false},
		{`{"a":{"b":[1],"c":[2]}}`, `{"a":[{"b":1},{"c":2}]}`, true},
		{`{"a":{"b":[{"exists":false}]}}`, `{"a":[{"b":1},{"c":2}]}`, false},
		{`{"a":[1]}`, `{"a":[[[[1]]]]}`, true},
		// From the developer guide.
		{`{"source_ip":[{"cidr":"10.0.0.0/24"}]}`, `{"source_ip":["10.1.1.0","10.0.0.0"]}`, true},
	} {
		if got := mustParse(t, tc.policy, MessageBody).Match(NewMessage(nil, tc.body)); got != tc.want {
			t.Errorf("%s, %s: %v", tc.policy, tc.body, got)
		}
	}
}

// A body that is no object passes no policy, even one that an empty object passes.
func TestBodyIsNoObject(t *testing.T) {
	t.Parallel()
	p := mustParse(t, `{"k":[{"exists":false}]}`, MessageBody)
	for _, body := range []string{`{}`, ` {"a":[]} `, deep(1000, `1`)} {
		if !p.Match(NewMessage(nil, body)) {
			t.Errorf("%.40s does not match", body)
		}
	}
	for _, body := range []string{
		``, `Regular string message`, `"Regular string message"`, `[]`, `[{}]`, `null`, `1`, `{`, `{}}`, `{},`, `{"a":}`, `{'a':1}`,
		"\ufeff{}", "{\"a\":\"\xff\"}", "{\"a\":\"\x00\"}", `{"a":NaN}`,
		deep(1001, `1`), strings.Repeat(`{"a":`, 1_000_000), `{"a":` + strings.Repeat(`[`, 1_000_000),
		`{"k":` + strings.Repeat(`[`, 1000) + strings.Repeat(`]`, 1000) + `}`,
	} {
		if p.Match(NewMessage(nil, body)) {
			t.Errorf("%.40q matches", body)
		}
	}
}

func TestValuesMax(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		before int
		want   bool
	}{
		{ValuesMax - 1, true},
		{ValuesMax, false},
	} {
		array := `[` + strings.Repeat(`1,`, tc.before) + `2]`
		if got := mustParse(t, `{"k":[2]}`, MessageBody).Match(NewMessage(nil, `{"l":`+array+`,"k":`+array+`}`)); got != tc.want {
			t.Errorf("a body with %d values before: %v", tc.before, got)
		}
		if got := mustParse(t, `{"k":[2]}`,
			MessageAttributes).Match(NewMessage([]Attribute{{"k", "String.Array", array}}, "")); got != tc.want {
			t.Errorf("an attribute with %d values before: %v", tc.before, got)
		}
	}
}

// Half of a surrogate pair reads as U+FFFD in policies and bodies.
func TestSurrogates(t *testing.T) {
	t.Parallel()
	p := mustParse(t, `{"k":["\ud83d"]}`, MessageBody)
	for body, want := range map[string]bool{`{"k":"\ud83d"}`: true, `{"k":"\ufffd"}`: true, `{"k":"\ud83d\ude00"}`: false,
		`{"k":""}`: false} {
		if got := p.Match(NewMessage(nil, body)); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}

func TestNoPolicyMatches(t *testing.T) {
	t.Parallel()
	for _, scope := range []Scope{MessageAttributes, MessageBody} {
		if !mustParse(t, `{}`, scope).Match(NewMessage(nil, "any")) {
			t.Errorf("%s: no policy lets nothing pass", scope)
		}
	}
}

// Message attributes k=b do not pass a filter on k=a.
func TestSeveralPoliciesOneMessage(t *testing.T) {
	t.Parallel()
	m := NewMessage([]Attribute{{"k", "String", "b"}, {"l", "String.Array", `["x",7]`}}, `{"k":"a","l":{"m":[1,2]}}`)
	for _, tc := range []struct {
		policy string
		scope  Scope
		want   bool
	}{
		{`{"k":["a"]}`, MessageAttributes, false},
		{`{"k":["b"],"l":[7]}`, MessageAttributes, true},
		{`{"k":["a"]}`, MessageBody, true},
		{`{"l":{"m":[2]},"k":["a"]}`, MessageBody, true},
		{`{"l":["x"]}`, MessageAttributes, true},
		{`{"l":["x"]}`, MessageBody, false},
		{``, MessageBody, true},
	} {
		p := mustParse(t, tc.policy, tc.scope)
		for range 3 {
			if got := p.Match(m); got != tc.want {
				t.Errorf("%s %s: %v", tc.scope, tc.policy, got)
			}
		}
	}
}
