package jsontext

import "testing"

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[true,null]}`, ` { "b" : [ true , null ] , "a" : 1 } `, true},
		{`{"a":{"c":"x","d":"y"}}`, `{"a":{"d":"y","c":"x"}}`, true},
		{`"a\u0062"`, `"ab"`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1}`, `{"a":1,"b":1}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":"1"}`, `{"a":1}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1,2]`, `[1]`, false},
		{`[1]`, `[1,2]`, false},
		{`{}`, `[]`, false},
		{`true`, `false`, false},
	} {
		a, errA := Parse(c.a, depthMax)
		b, errB := Parse(c.b, depthMax)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if Equal(a, b) != c.want || Equal(b, a) != c.want {
			t.Errorf("%s and %s: want %t", c.a, c.b, c.want)
		}
	}
}
