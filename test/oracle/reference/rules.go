package reference

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
)

// Rule is a rule of a subscription (servicebus.md; Azure's page on topic filters and actions). The model
// has no SQL: it knows the texts in Filters and Actions.
type Rule struct{ Name, Filter, Action string }

// defaultRules are those with which a subscription begins.
func defaultRules() []Rule { return []Rule{{"$Default", "TRUE", ""}} }

const (
	isTrue    = "true"
	isFalse   = "false"
	isUnknown = "unknown"
	divided   = "a division by zero"
)

func truthOf(b bool) string { return pick(b, isTrue, isFalse) }

// Filters are the filters that the model knows, with their results for a publication.
var Filters = map[string]func(p *Publication, id string) string{
	"TRUE":        func(*Publication, string) string { return isTrue },
	"FALSE":       func(*Publication, string) string { return isFalse },
	"{color=red}": func(p *Publication, _ string) string { return truthOf(p.value("color") == "red") },
	"color = 'red'": func(p *Publication, _ string) string {
		return pick(p.has("color"), truthOf(p.value("color") == "red"), isUnknown)
	},
	"color <> 'red' AND n >= 5": func(p *Publication, _ string) string {
		if p.value("color") == "red" {
			return isFalse
		}
		if !p.has("n") {
			return isUnknown
		}
		return pick(p.number("n") < 5, isFalse, pick(p.has("color"), isTrue, isUnknown))
	},
	"NOT (N > 4) OR color LIKE 'g%'": func(p *Publication, _ string) string {
		if p.has("n") && p.number("n") <= 4 || strings.HasPrefix(p.value("color"), "g") {
			return isTrue
		}
		return pick(p.has("n") && p.has("color"), isFalse, isUnknown)
	},
	"color IS NULL OR EXISTS(raw)": func(p *Publication, _ string) string { return truthOf(!p.has("color") || p.has("raw")) },
	"sys.MessageId = 'x'":          func(_ *Publication, id string) string { return pick(id == "", isUnknown, truthOf(id == "x")) },
	"1 / (n - 5) >= 0": func(p *Publication, _ string) string {
		switch p.value("n") {
		case "":
			return isUnknown
		case "5":
			return divided
		}
		return isTrue // 1 / -2 is 0
	},
}

func (p *Publication) find(name string) int {
	return slices.IndexFunc(p.Attributes, func(a Attribute) bool { return a.Name == name })
}

func (p *Publication) has(name string) bool { return p.find(name) >= 0 }

func (p *Publication) value(name string) string {
	if i := p.find(name); i >= 0 {
		return p.Attributes[i].Value
	}
	return ""
}

func (p *Publication) number(name string) float64 {
	n, _ := strconv.ParseFloat(p.value(name), 64)
	return n
}

// Actions are the actions that the model knows. They change a copy, and return why that is not possible.
var Actions = map[string]func(c *ruleCopy, fifo bool) (problem string){
	"":                        func(*ruleCopy, bool) string { return "" },
	"SET Color = 'black'":     func(c *ruleCopy, _ bool) string { return c.set(c.spelled("Color"), "black") },
	"REMOVE n; SET extra = 7": func(c *ruleCopy, _ bool) string { c.remove("n"); return c.setNumber("extra", 7) },
	"SET sys.SessionId = 'b'": func(c *ruleCopy, fifo bool) string {
		c.changes = append(c.changes, Change{true, "SessionId", encodedText("b")})
		if fifo && c.partition == c.group && c.partition != "" {
			c.partition = "b"
		}
		if fifo {
			c.group = "b"
		}
		return c.differ()
	},
	"SET sys.PartitionKey = 'p'": func(c *ruleCopy, fifo bool) string {
		if fifo {
			c.partition = "p"
		}
		return c.differ()
	},
	"SET sys.TimeToLive = sys.TimeToLive + sys.TimeToLive": func(c *ruleCopy, _ bool) string { c.timeToLive *= 2; return "" },
	"SET sys.ScheduledEnqueueTimeUtc = sys.ExpiresAtUtc": func(c *ruleCopy, _ bool) string {
		c.due.scheduled, c.due.dueAt = c.timeToLive > 0, c.published.At+c.timeToLive
		return ""
	},
	"SET x = 1 % (sys.Size - sys.Size)": func(*ruleCopy, bool) string { return divided },
}

// ruleCopy is one copy of a publication for a subscription.
type ruleCopy struct {
	published        Publication
	group, partition string
	timeToLive       int64
	due              reservedValues // its scheduled time
	changes          []Change
	why              []Attribute // of a dead letter
	source           string
}

func (c *ruleCopy) differ() string {
	if c.group != "" && c.partition != "" && c.group != c.partition {
		return "the partition key differs from the session id"
	}
	return ""
}

// spelled returns the name of the attribute that differs from a name only in letter case.
func (c *ruleCopy) spelled(name string) string {
	for _, a := range c.published.Attributes {
		if strings.EqualFold(a.Name, name) {
			return a.Name
		}
	}
	return name
}

func (c *ruleCopy) set(name, value string) string {
	c.changes = append(c.changes, Change{false, name, encodedText(value)})
	c.replace(name, &Attribute{name, "String", value})
	return ""
}

func (c *ruleCopy) setNumber(name string, value uint64) string {
	c.changes = append(c.changes, Change{false, name, "\x81" + string(binary.BigEndian.AppendUint64(nil, value))})
	c.replace(name, &Attribute{name, "Number.long", strconv.FormatUint(value, 10)})
	return ""
}

func (c *ruleCopy) remove(name string) {
	c.changes = append(c.changes, Change{false, name, ""})
	c.replace(name, nil)
}

// replace changes an attribute as envelopes show it.
func (c *ruleCopy) replace(name string, to *Attribute) {
	c.published.Attributes = slices.DeleteFunc(slices.Clone(c.published.Attributes), func(a Attribute) bool { return a.Name == name })
	if to != nil {
		c.published.Attributes = append(c.published.Attributes, *to)
	}
}

// encodedText encodes a short string in AMQP 1.0.
func encodedText(text string) string { return "\xa1" + string(rune(len(text))) + text }

// copies returns the copies that the rules select: one for the rules without an action, and one for each
// other. why is the reason of the first rule that fails.
func (s *Subscription) copies(fifo bool, original ruleCopy, id string) (list []ruleCopy, why []Attribute) {
	plain := false
	for _, r := range s.rules {
		result, failed, problem := Filters[r.Filter](&original.published, id), "FilterException", ""
		c := original
		if result == divided {
			problem = divided
		} else if result == isTrue && r.Action != "" {
			failed = "RuleActionException"
			problem = Actions[r.Action](&c, fifo)
		}
		switch {
		case problem != "":
			if why == nil {
				why = reasons(failed, "The rule "+r.Name+" failed: "+problem+".")
			}
		case result != isTrue:
		case r.Action == "":
			plain = true
		default:
			c.set("RuleName", r.Name)
			list = append(list, c)
		}
	}
	if plain {
		list = slices.Insert(list, 0, original)
	}
	return list, why
}

func reasons(reason, description string) []Attribute {
	return []Attribute{{"DeadLetterReason", "String", reason}, {"DeadLetterErrorDescription", "String", description}}
}

// The conditions of PutRule.
const (
	RuleMustNotExist = 1
	RuleMustExist    = 2
)

// PutRule adds or replaces a rule.
func (b *Broker) PutRule(id int, r Rule, condition int) *Error {
	t, s := b.subscription(id)
	if s == nil {
		return &Error{"NotFound", "Subscription does not exist"}
	}
	at := s.ruleAt(r.Name)
	switch {
	case at >= 0 && condition == RuleMustNotExist:
		return &Error{Code: "RuleAlreadyExists"}
	case at < 0 && condition == RuleMustExist:
		return &Error{Code: "RuleNotFound"}
	}
	t.usedAt = b.now
	b.Use(s.Queue)
	s.rules = slices.Clone(s.rules)
	if at >= 0 {
		s.rules[at] = r
	} else {
		s.rules = append(s.rules, r)
	}
	slices.SortFunc(s.rules, func(a, b Rule) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return nil
}

// RemoveRule removes a rule.
func (b *Broker) RemoveRule(id int, name string) *Error {
	t, s := b.subscription(id)
	if s == nil {
		return &Error{"NotFound", "Subscription does not exist"}
	}
	at := s.ruleAt(name)
	if at < 0 {
		return &Error{Code: "RuleNotFound"}
	}
	t.usedAt = b.now
	b.Use(s.Queue)
	s.rules = slices.Delete(slices.Clone(s.rules), at, at+1)
	return nil
}

func (s *Subscription) ruleAt(name string) int {
	return slices.IndexFunc(s.rules, func(r Rule) bool { return strings.EqualFold(r.Name, name) })
}

// Rules returns the rules in the order of their names.
func (s *Subscription) Rules() []Rule { return s.rules }
