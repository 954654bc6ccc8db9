package filter

import (
	"fmt"
	"strings"
	"testing"
)

const benchPolicy = `{"store":["example_corp"],"event":[{"anything-but":"order_cancelled"}],"customer_interests":["rugby","football","baseball"],"price_usd":[{"numeric":[">=",100,"<",500]}]}`

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(benchPolicy, MessageAttributes); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMatchAttributes(b *testing.B) {
	p := mustParse(b, benchPolicy, MessageAttributes)
	attributes := []Attribute{
		{"store", "String", "example_corp"},
		{"event", "String", "order_placed"},
		{"customer_interests", "String.Array", `["soccer","rugby","hockey"]`},
		{"price_usd", "Number", "210.75"},
	}
	m := NewMessage(attributes, "body")
	for _, bench := range []struct {
		name    string
		message func() *Message
	}{
		{"first policy", func() *Message { return NewMessage(attributes, "body") }},
		{"next policy", func() *Message { return m }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !p.Match(bench.message()) {
					b.Fatal("no match")
				}
			}
		})
	}
}

func BenchmarkMatchBody(b *testing.B) {
	p := mustParse(b, `{"detail":{"state":["running",{"prefix":"stop"}],"items":{"price":[{"numeric":["=",999]}]}},"source":["shop"]}`,
		MessageBody)
	for _, items := range []int{10, 4000} {
		body := `{"source":"shop","detail":{"state":"stopped","items":[`
		for i := range items {
			body += fmt.Sprintf(`{"name":"article number %d","count":3,"price":%d.0},`, i, 1000-items+i)
		}
		body += `{}]}}`
		b.Run(fmt.Sprintf("%d bytes/first policy", len(body)), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if !p.Match(NewMessage(nil, body)) {
					b.Fatal("no match")
				}
			}
		})
		m := NewMessage(nil, body)
		b.Run(fmt.Sprintf("%d bytes/next policy", len(body)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !p.Match(m) {
					b.Fatal("no match")
				}
			}
		})
	}
}

// BenchmarkMatchWorst matches the largest message against the most conditions, without a match.
func BenchmarkMatchWorst(b *testing.B) {
	conditions := func(format string) string {
		list := make([]string, CombinationsMax)
		for i := range list {
			list[i] = fmt.Sprintf(format, i)
		}
		return `{"k":[` + strings.Join(list, ",") + `]}`
	}
	for _, bench := range []struct{ name, policy, value string }{
		{"texts", conditions(`"x%d"`), `"x"`},
		{"numbers", conditions(`1%d`), `1`},
		{"prefixes", conditions(`{"prefix":"x%d"}`), `"x"`},
		{"ranges", conditions(`{"numeric":[">",1%d]}`), `1`},
		{"networks", conditions(`{"cidr":"10.0.%d.0/24"}`), `"9.9.9.9"`},
		{"case", conditions(`{"equals-ignore-case":"x%d"}`), `"X"`},
	} {
		p := mustParse(b, bench.policy, MessageBody)
		body := `{"k":[` + strings.Repeat(bench.value+",", 255<<10/(len(bench.value)+1)) + bench.value + `]}`
		b.Run(bench.name, func(b *testing.B) {
			m := NewMessage(nil, body)
			b.ReportAllocs()
			for b.Loop() {
				if p.Match(m) {
					b.Fatal("match")
				}
			}
		})
	}
}
