package model

import (
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// encode makes an entry one of the native API: ids of any characters, many attributes, bytes, or a
// message of AMQP.
func (g *generator) encode(k kind, e *reference.SendEntry) {
	e.Native = true
	if e.Group != nil && e.Partition == nil && !k.partition && g.oneIn(3) {
		e.Group = new(pickOf(g, "\x00", "\u00fc", "\u00fc", "a b", strings.Repeat("\u20ac", 128), "\x00\x00", "\xff", ""))
	}
	if e.Dedup != nil && g.oneIn(3) {
		e.Dedup = new(pickOf(g, "\u00fc", "x y", "\t", strings.Repeat("\U0001f642", 128), strings.Repeat("\u20ac", 129), "\x00"))
	}
	if g.oneIn(4) {
		for i := range 12 {
			e.Attributes = append(e.Attributes, reference.Attribute{Name: "many " + string(rune('a'+i)), Type: "String"})
		}
	}
	switch g.rng.IntN(4) {
	case 0:
		e.Parts.Format, e.Body = "bytes", pickOf(g, "", "\x00", "\xff\xfe", "text", strings.Repeat("\x00", 700))
	case 1, 2:
		e.Parts.Format, e.Body = "amqp", pickOf(g, "", "\x00Su\xa0\x01x", "\x00Sw\x40")
		e.Parts.Sections = pickOf(g, "", "\x00St\xc1\x01\x00", "\x00Ss\x45",
			"\x00St\xd1\x00\x00\x02\x0d\x00\x00\x00\x02\xa1\x01a\xb1\x00\x00\x02\x01"+strings.Repeat("s", 513))
		if g.oneIn(3) {
			e.Parts.Changes = []reference.Change{{Name: "a", Value: "\x40"}, {System: true, Name: "subject"}}
		}
	}
}

// changes returns changed properties, of which two large ones are too much for a message.
func (g *generator) changes() []reference.Change {
	name := func() string { return pickOf(g, "a", "b", "\u00fc") }
	list := []reference.Change{{Name: name(), Value: pickOf(g, "", "\x40", "\xa1\x01x")}}
	if g.oneIn(2) {
		list = append(list, reference.Change{System: g.oneIn(2), Name: name(), Value: pickOf(g, "", "\x41")})
	}
	if g.oneIn(20) {
		list[0].Value = strings.Repeat("v", 40<<10)
	}
	return list
}

func encoded(p reference.Parts) *queue.Encoded {
	format := map[string]message.Format{"bytes": message.FormatBytes, "amqp": message.FormatAMQP}[p.Format]
	return (&queue.Encoded{Format: format, Sections: p.Sections, Changes: changes(p.Changes)}).OrNil()
}

func changes(list []reference.Change) (out []queue.PropertyChange) {
	for _, c := range list {
		one := queue.PropertyChange{Name: c.Name, Value: c.Value}
		if c.System {
			one.Scope = message.ScopeSystem
		}
		out = append(out, one)
	}
	return out
}
