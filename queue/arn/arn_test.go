package arn

import (
	"strings"
	"testing"
)

func TestQueue(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text, want string
		ok         bool
	}{
		{"arn:aws:sqs:us-east-1:000000000000:q.fifo", "q.fifo", true},
		{"arn:aws-cn:sqs:cn-north-1:1:q", "q", true},
		{"arn:aws:sns:us-east-1:000000000000:q", "", false},
		{"arn:aws:sqs:us-east-1:000000000000:", "", false},
		{"arn:aws:sqs:us-east-1:q", "", false},
		{"arn:aws:sqs:us-east-1:0:q:r", "", false},
		{"q", "", false},
	} {
		if got, ok := Queue(tc.text); got != tc.want || ok != tc.ok {
			t.Errorf("%q: got %q %v", tc.text, got, ok)
		}
	}
}

// A name from an ARN is its suffix, and a name put into an ARN is read back.
func FuzzQueue(f *testing.F) {
	f.Add("arn:aws:sqs:us-east-1:000000000000:orders.fifo")
	f.Add("arn::sqs:::")
	f.Fuzz(func(t *testing.T, text string) {
		if name, ok := Queue(text); ok && (name == "" || !strings.HasSuffix(text, ":"+name) || strings.Contains(name, ":")) {
			t.Fatalf("%q of %q", name, text)
		}
		if text == "" || strings.Contains(text, ":") {
			return
		}
		if name, ok := Queue(OfQueue("us-east-1", "000000000000", text)); !ok || name != text {
			t.Fatalf("%q became %q, %v", text, name, ok)
		}
	})
}

func TestTopic(t *testing.T) {
	cases := []struct {
		text, name, account string
	}{
		{"arn:aws:sns:us-east-1:000000000000:t.fifo", "t.fifo", "000000000000"},
		{"arn:aws:sns:us-east-1:000000000000:", "", "000000000000"},
		{"arn:aws:sqs:us-east-1:000000000000:q", "", "000000000000"},
		{"arn:aws:sns:us-east-1:0:t:id", "", "0"},
		{"t.fifo", "", ""},
	}
	for _, c := range cases {
		if name, ok := Topic(c.text); name != c.name || ok != (c.name != "") {
			t.Errorf("%s names %q, %v", c.text, name, ok)
		}
		if account := AccountOf(c.text); account != c.account {
			t.Errorf("%s has the account %q", c.text, account)
		}
	}
}

func TestSubscription(t *testing.T) {
	cases := []struct {
		text, topic, id string
		elements        int
	}{
		{"arn:aws:sns:us-east-1:0:t:id", "t", "id", 7},
		{"arn:aws:sns:us-east-1:0:t", "", "", 6},
		{"arn:aws:sns:us-east-1:0:t:id:more", "", "", 8},
		{"", "", "", 1},
	}
	for _, c := range cases {
		topic, id, elements := Subscription(c.text)
		if topic != c.topic || id != c.id || elements != c.elements {
			t.Errorf("%s is %q, %q, %d", c.text, topic, id, elements)
		}
	}
}
