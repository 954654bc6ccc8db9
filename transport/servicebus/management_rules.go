package servicebus

import (
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/servicebus/entity/lookup"
)

// ruleOperations has those that a subscription has beside those of its queue.
var ruleOperations = map[string]operation{
	"add-rule":        {"PutRule", toSetRules, service.Changes, (*managed).addRule},
	"remove-rule":     {"RemoveRule", toSetRules, service.Changes, (*managed).removeRule},
	"enumerate-rules": {"ListRules", toListRules, service.Reads, (*managed).listRules},
}

// rulesMax bounds one page of rules.
const rulesMax = 1000

// subscribed finds the subscription of the node. It can be another one than at the attach.
func (m *managed) subscribed() (e lookup.Entity, err error) {
	err = m.call.look(m.call.ctx, func(v queue.View) error {
		var ok bool
		if e, ok = (lookup.In{View: v, Owner: m.call.Scope.Caller()}).Find(m.entity.subscription); !ok || e.ARN == "" {
			return errNoEntity
		}
		return nil
	})
	return e, err
}

// addRule adds a rule to a subscription.
func (m *managed) addRule() (wire.Value, error) {
	d, err := readRule(m.field("rule-name"), m.field("rule-description"))
	if err != nil {
		return nil, err
	}
	e, err := m.subscribed()
	if err != nil {
		return nil, err
	}
	_, _, err = submit[queue.Done](m.call, &queue.PutRule{SubscriptionARN: e.ARN, Rule: d, Existing: queue.RuleMustNot})
	return emptyMap(), err
}

// removeRule removes a rule of a subscription.
func (m *managed) removeRule() (wire.Value, error) {
	name, ok := m.field("rule-name").Text()
	if !ok {
		return nil, argument("rule-name", "it is missing")
	}
	e, err := m.subscribed()
	if err != nil {
		return nil, err
	}
	_, _, err = submit[queue.Done](m.call, &queue.RemoveRule{SubscriptionARN: e.ARN, Rule: name})
	return emptyMap(), err
}

// listRules returns a page of the rules of a subscription, sorted by name.
func (m *managed) listRules() (wire.Value, error) {
	skip, top := m.integer("skip", 0), min(m.integer("top", rulesMax), rulesMax)
	if skip < 0 || top < 1 {
		return nil, argument("top or skip", "it is out of range")
	}
	e, err := m.subscribed()
	if err != nil {
		return nil, err
	}
	var all []*rules.Rule
	if err := m.call.look(m.call.ctx, func(v queue.View) error {
		var refused *queue.Error
		if all, refused = v.Rules(e.ARN); refused != nil {
			return refused
		}
		return nil
	}); err != nil {
		return nil, err
	}
	all = all[min(skip, int64(len(all))):]
	all = all[:min(top, int64(len(all)))]
	if len(all) == 0 {
		return nil, errNothing
	}
	b, list := wire.BeginList(nil)
	for _, r := range all {
		b = wire.AppendValue(b, mapOf("rule-description", appendRule(nil, r)))
	}
	return mapOf("rules", list.End(b)), nil
}
