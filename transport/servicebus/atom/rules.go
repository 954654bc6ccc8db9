package atom

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/document"
	"github.com/seriatimq/seriatim/transport/servicebus/entity/lookup"
)

// cutSegment splits the last segment off a path.
func cutSegment(path string) (before, last string) {
	at := strings.LastIndexByte(path, '/')
	return path[:at], path[at+1:]
}

// serveRule serves a request for a rule.
func (c *call) serveRule() error {
	path, name := cutSegment(c.path)
	path, _ = cutSegment(path)
	e, err := c.locateSubscription(path)
	if err != nil {
		return err
	}
	switch c.r.Method {
	case http.MethodPut:
		return c.putRule(&e, name)
	case http.MethodDelete:
		return c.deleteRule(&e, name)
	default:
		return c.getRule(&e, name)
	}
}

// rulesOf reads the rules of a subscription.
func (c *call) rulesOf(e *lookup.Entity) ([]*rules.Rule, error) {
	if e.Kind == 0 {
		return nil, notFound()
	}
	return service.ReadValue(c.ctx, &c.Call, func(v queue.View) ([]*rules.Rule, *queue.Error) { return v.Rules(e.ARN) })
}

// entryOfRule returns the entry of a rule.
func (c *call) entryOfRule(e *lookup.Entity, r *rules.Rule) entry {
	created := atTime(r.CreatedAt)
	one := c.newEntry(e.Path+"/Rules/"+url.PathEscape(r.Name), r.Name,
		document.Description("RuleDescription", document.Rule(&r.Definition, created)))
	one.Published, one.Updated = created, created
	return one
}

// answerRule answers with the present state of a rule.
func (c *call) answerRule(status int, e *lookup.Entity, name string) error {
	list, err := c.rulesOf(e)
	if err != nil {
		return err
	}
	r, ok := rules.Find(list, name)
	if !ok {
		return notFound()
	}
	return c.write(status, c.entryOfRule(e, r))
}

func (c *call) getRule(e *lookup.Entity, name string) error {
	if err := c.begin(getSubscriptionAttributes, e.Topic); err != nil {
		return err
	}
	return c.answerRule(http.StatusOK, e, name)
}

// putRule creates a rule, or changes one if the header If-Match says so.
func (c *call) putRule(e *lookup.Entity, name string) error {
	given, err := c.readDescription()
	if err != nil {
		return err
	}
	if given.XMLName.Local != "RuleDescription" {
		return badRequest("Bad Request. The content " + given.XMLName.Local + " is no description of a rule.")
	}
	update, err := c.updates()
	if err != nil {
		return err
	}
	cmd := &queue.PutRule{SubscriptionARN: e.ARN, Existing: queue.RuleMustNot}
	status := http.StatusCreated
	if update {
		cmd.Existing, status = queue.RuleMustExist, http.StatusOK
	}
	if err := c.begin(setSubscriptionAttributes, e.Topic); err != nil {
		return err
	}
	if cmd.Rule, err = document.ReadRule(&given); err != nil {
		return err
	}
	cmd.Rule.Name = name
	if e.Kind == 0 {
		return notFound()
	}
	if _, err := c.Submit(c.ctx, cmd); err != nil {
		return err
	}
	return c.answerRule(status, e, name)
}

func (c *call) deleteRule(e *lookup.Entity, name string) error {
	if err := c.begin(setSubscriptionAttributes, e.Topic); err != nil {
		return err
	}
	if e.Kind == 0 {
		return notFound()
	}
	if _, err := c.Submit(c.ctx, &queue.RemoveRule{SubscriptionARN: e.ARN, Rule: name}); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusOK)
	return nil
}

// listRules lists the rules of a subscription in the order of their names.
func (c *call) listRules() error {
	path, _ := cutSegment(c.path)
	e, err := c.locateSubscription(path)
	if err != nil {
		return err
	}
	if err := c.begin(getSubscriptionAttributes, e.Topic); err != nil {
		return err
	}
	skip, top, err := c.page()
	if err != nil {
		return err
	}
	list, err := c.rulesOf(&e)
	if err != nil {
		return err
	}
	list = list[min(skip, len(list)):]
	var entries []entry
	for _, r := range list[:min(top, len(list))] {
		entries = append(entries, c.entryOfRule(&e, r))
	}
	return c.writePage("Rules", entries, skip, top, len(list) > top)
}
