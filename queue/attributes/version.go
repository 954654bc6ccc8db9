package attributes

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/policy"
)

// word is one value that an attribute may have, with the format version that introduced it.
type word struct {
	text  string
	since uint32
}

// words are all values of an attribute.
type words []word

// index returns the index of a value, -1 if it is unknown.
func (w words) index(text string) int {
	for i := range w {
		if w[i].text == text {
			return i
		}
	}
	return -1
}

// since returns the format version of a value, zero if it is unknown.
func (w words) since(text string) uint32 {
	if i := w.index(text); i >= 0 {
		return w[i].since
	}
	return 0
}

// takes describes the values of an attribute: some words, policies with a grammar, or a text for
// the manual. A row has exactly one of them.
type takes struct {
	words   words
	grammar policy.Grammar
	text    string
}

func takesPolicy(g policy.Grammar) takes { return takes{grammar: g} }
func takesText(rule string) takes        { return takes{text: rule} }

// values describes the values for the manual.
func (t takes) values() string {
	switch {
	case len(t.grammar) > 0:
		return "JSON"
	case t.text != "":
		return t.text
	}
	texts := make([]string, len(t.words))
	for i, w := range t.words {
		texts[i] = w.text
	}
	return strings.Join(texts, ", ")
}

// choices lists all values of an attribute of words, or of a boolean.
func (t takes) choices() (list []string) {
	if t.text == booleanText {
		return []string{"true", "false"}
	}
	for _, w := range t.words {
		list = append(list, w.text)
	}
	return list
}

// since returns the format version that a value needs.
func (t takes) since(value string) uint32 {
	return max(t.words.since(value), t.grammar.Since(value))
}

// mustSay panics at the start of the program if a row lacks its format version, or does not have
// exactly one description of its values.
func (t takes) mustSay(name string, since uint32) {
	kinds := 0
	for _, is := range []bool{len(t.words) > 0, len(t.grammar) > 0, t.text != ""} {
		if is {
			kinds++
		}
	}
	if since == 0 || kinds != 1 {
		panic("attributes: the row of " + name + " needs its format version and its values")
	}
}

// elements returns an attribute and its values, for the list of names by format version.
func (t takes) elements(kind, name string, since uint32) []policy.Element {
	title := kind + " " + name
	list := []policy.Element{{Name: title, Since: since}}
	if t.text != "" {
		list[0].Name += ": " + t.text
	}
	for _, w := range t.words {
		list = append(list, policy.Element{Name: title + "=" + w.text, Since: max(since, w.since)})
	}
	for _, e := range t.grammar {
		list = append(list, policy.Element{Name: title + " has " + e.Name, Since: max(since, e.Since)})
	}
	return list
}

// QueueSince returns the format version that the attributes of a queue need. A name that is
// no attribute needs none: every program refuses it.
func QueueSince(given []Attribute) uint32 { return queueTable.since(given) }

// TopicSince is QueueSince for the attributes of a topic.
func TopicSince(given []Attribute) uint32 { return topicTable.since(given) }

// SubscriptionSince is QueueSince for the attributes of a subscription.
func SubscriptionSince(given []Attribute) uint32 { return subscriptionTable.since(given) }

// AccessSince returns the format version that an access policy needs.
func AccessSince(text string) uint32 { return policy.AccessGrammar.Since(text) }

func (t *table[T]) since(given []Attribute) (version uint32) {
	for _, g := range given {
		if r := t.find(g.Name); r != nil {
			version = max(version, r.since, r.takes.since(g.Value))
		}
	}
	return version
}

// Elements lists all attributes and values with the format version they came with.
func Elements() []policy.Element {
	list := slices.Concat(queueTable.elements("queue"), topicTable.elements("topic"), subscriptionTable.elements("subscription"))
	for _, p := range protocols {
		list = append(list, policy.Element{Name: "subscription protocol " + p.text, Since: p.since})
	}
	return list
}

func (t *table[T]) elements(kind string) (list []policy.Element) {
	for i := range t.rows {
		list = append(list, t.rows[i].takes.elements(kind, t.rows[i].name, t.rows[i].since)...)
	}
	return list
}
