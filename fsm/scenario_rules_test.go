package fsm

import (
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/property"
	"github.com/seriatimq/seriatim/queue/rules"
)

// ruleCommand reads the lines that change rules. The rest of the line is the rule: a name, a filter,
// and perhaps => and an action. A filter is TRUE, FALSE, {conditions} or SQL.
func (s *scenario) ruleCommand(verb, line string) queue.Command {
	conditions := map[string]queue.ExistingRule{
		"put-rule": queue.RuleMayExist, "add-rule": queue.RuleMustNot, "update-rule": queue.RuleMustExist,
	}
	existing, known := conditions[verb]
	if !known {
		return nil
	}
	words := strings.SplitN(line, " ", 4)
	return &queue.PutRule{SubscriptionARN: s.topics.arns[words[1]], Existing: existing, Rule: s.rule(words[2], words[3])}
}

func (s *scenario) rule(name, text string) rules.Definition {
	d := rules.Definition{Name: name}
	filter, action, changes := strings.Cut(text, "=>")
	if changes {
		d.Action = &rules.Expression{Text: strings.TrimSpace(action)}
	}
	switch filter = strings.TrimSpace(filter); {
	case filter == "TRUE":
		d.Kind = rules.KindTrue
	case filter == "FALSE":
		d.Kind = rules.KindFalse
	case strings.HasPrefix(filter, "{"):
		d.Kind = rules.KindCorrelation
		for _, word := range strings.Fields(strings.Trim(filter, "{}")) {
			name, value, _ := strings.Cut(word, "=")
			if system, ok := strings.CutPrefix(name, "sys."); ok {
				d.System = append(d.System, rules.NewParameter(system, property.String(value)))
			} else {
				d.Application = append(d.Application, rules.NewParameter(name, property.String(value)))
			}
		}
	default:
		d.Kind, d.SQL = rules.KindSQL, &rules.Expression{Text: filter}
	}
	canonical, err := d.InCanonicalForm()
	if err != nil {
		s.t.Fatal(err)
	}
	return canonical
}

// rules shows the rules of a subscription.
func (s *scenario) rules(label string) (lines []string) {
	list, err := s.replica.fsm.View().Rules(s.topics.arns[label])
	if err != nil {
		return []string{s.refusal(err)}
	}
	for _, r := range list {
		line := r.Name + ": " + r.Filter.String()
		if r.Change != nil {
			line += " => " + r.Change.String()
		}
		lines = append(lines, line)
	}
	return append(lines, "end of rules")
}
