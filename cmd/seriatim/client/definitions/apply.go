package definitions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/queue/attributes"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/grpc/ruletext"
)

// Step is one change of a cluster.
type Step struct {
	Text  string // in the imperative, for a plan
	Drops bool   // it removes something, or lowers an attribute so that messages or ids are lost
	do    func(context.Context) error
}

// Plan is an ordered list of changes.
type Plan struct {
	Steps []Step
	Notes []string // differences that a plan cannot remove
}

// planner makes the plan for a cluster.
type planner struct {
	cluster    *Cluster
	have, want *Document
	prune      bool
	place      place // of the cluster, learned from the first object
	plan       Plan
	forwards   map[string]map[string]string // by queue, to set when all queues and topics exist
}

// NewPlan returns the changes that make a cluster, which Collect described, equal to a document. It
// removes what the document lacks only if prune is set.
func NewPlan(c *Cluster, have, want *Document, prune bool) (*Plan, error) {
	p := &planner{cluster: c, have: have, want: want, prune: prune, place: have.place, forwards: map[string]map[string]string{}}
	all := Compare(have, want)
	if err := fixed(all, prune); err != nil {
		return nil, err
	}
	by := func(object string, kind ...Kind) (list []Difference) {
		for _, d := range all {
			if d.Object == object && slices.Contains(kind, d.Kind) {
				list = append(list, d)
			}
		}
		return list
	}
	present := []Kind{Add, Change, Remove}
	p.accounts(by(accountObject, present...))
	p.createQueues(by(queueObject, Add))
	p.values(by(queueObject, present...), p.setQueue)
	p.createTopics(by(topicObject, Add))
	p.values(by(topicObject, present...), p.setTopic)
	p.setForwards()
	p.subscribe(by(subscriptionObject, Add))
	p.values(by(subscriptionObject, present...), p.setSubscription)
	p.policies(by(policyObject, present...))
	p.keys(by(keyObject, present...))
	if prune {
		p.remove(by(subscriptionObject, Remove), by(topicObject, Remove), by(queueObject, Remove))
		p.removeAccounts(by(accountObject, Remove))
	}
	return &p.plan, nil
}

// Apply makes the changes in order. It calls done after each, and ends with the first error.
func (p *Plan) Apply(ctx context.Context, done func(Step)) error {
	for _, s := range p.Steps {
		if err := s.do(ctx); err != nil {
			return exit.New(exit.CodeOf(exit.Wrap(err)), fmt.Errorf("%s: %w", s.Text, err), cmp.Or(exit.HintOf(err),
				"the steps before it are done: correct the cause, then run the same command again"))
		}
		done(s)
	}
	return nil
}

// fixed refuses changes of attributes that are fixed at creation.
func fixed(all []Difference, prune bool) error {
	var err error
	for _, d := range all {
		known := described(d.Object, d.Value)
		if !known.Fixed || d.Kind == Remove && !prune {
			continue
		}
		have, want := cmp.Or(d.Have, known.Default), cmp.Or(d.Want, known.Default)
		if have != want {
			err = errors.Join(err, fmt.Errorf("%s of the %s %s is %q and cannot become %q", d.Value, d.Object, d.Name, have, want))
		}
	}
	if err != nil {
		return exit.New(exit.Conflict, err, "these attributes are fixed at creation: delete the object, or change the file")
	}
	return nil
}

func (p *planner) add(drops bool, text string, do func(context.Context, *api.Client) error) {
	p.plan.Steps = append(p.plan.Steps, Step{text, drops, func(ctx context.Context) error {
		return p.cluster.Native.Do(ctx, 0, do)
	}})
}

// withARNs names the attributes with ARNs, which are set when the cluster's place is known.
var withARNs = map[string]bool{"Policy": true, "RedrivePolicy": true, "RedriveAllowPolicy": true}

// forwarding names the attributes with the name of a queue or topic, which must exist then.
var forwarding = map[string]bool{attributes.NameForwardTo: true, attributes.NameForwardDeadLetters: true}

// split separates the attributes with ARNs, those with variables, and those of forwarding.
func split(all map[string]string) (plain, later map[string]string) {
	plain, later = map[string]string{}, map[string]string{}
	for name, value := range all {
		if withARNs[name] || forwarding[name] || hasVariables(value) {
			later[name] = value
		} else {
			plain[name] = value
		}
	}
	return plain, later
}

// placed returns attributes with the place of the cluster in their ARNs.
func (p *planner) placed(all map[string]string) map[string]string {
	out := make(map[string]string, len(all))
	for name, value := range all {
		out[name] = p.place.fill(value)
	}
	return out
}

// createQueues creates all queues, and then sets their policies, which may name any of them.
func (p *planner) createQueues(list []Difference) {
	policies := map[string]map[string]string{}
	for _, d := range list {
		if d.Value != "" {
			continue
		}
		i := slices.IndexFunc(p.want.Queues, func(q Queue) bool { return q.Name == d.Name })
		q := p.want.Queues[i]
		plain, later := split(q.Attributes)
		if len(later) > 0 {
			policies[q.Name] = later
		}
		p.add(false, "create the queue "+q.Name, func(ctx context.Context, c *api.Client) error {
			arn, err := c.CreateQueue(ctx, q.Name, plain, q.Tags)
			p.place.learn(arn)
			return err
		})
	}
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		p.setQueue(name, policies[name], nil, nil)
	}
}

// names lists the keys of a map.
func names(m map[string]string) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }

func (p *planner) createTopics(list []Difference) {
	for _, d := range list {
		if d.Value != "" {
			continue
		}
		i := slices.IndexFunc(p.want.Topics, func(t Topic) bool { return t.Name == d.Name })
		t := p.want.Topics[i]
		plain, later := split(t.Attributes)
		p.add(false, "create the topic "+t.Name, func(ctx context.Context, c *api.Client) error {
			arn, err := c.CreateTopic(ctx, t.Name, plain, t.Tags)
			p.place.learn(arn)
			return err
		})
		if len(later) > 0 {
			p.add(false, "set "+names(later)+" of the topic "+t.Name, func(ctx context.Context, c *api.Client) error {
				return c.SetTopicAttributes(ctx, t.Name, p.placed(later))
			})
		}
	}
}

// subscribe makes the subscriptions, including those of new topics.
func (p *planner) subscribe(list []Difference) {
	for _, d := range list {
		topic, subscriber, _ := strings.Cut(d.Name, " -> ")
		if d.Value != "" {
			continue
		}
		s := p.want.subscription(topic, subscriber)
		p.add(false, "subscribe "+subscriber+" to "+topic, func(ctx context.Context, c *api.Client) (err error) {
			if s.Queue == "" {
				_, _, err = c.SubscribeURL(ctx, topic, s.URL, p.placed(s.Attributes))
				return err
			}
			return subscribeQueue(ctx, c, topic, s, p.placed(s.Attributes))
		})
		if s.URL != "" {
			p.plan.Notes = append(p.plan.Notes,
				"the topic "+topic+" posts a token to "+s.URL+", with which its owner confirms the subscription")
		}
	}
}

// subscribeQueue subscribes a queue with its rules.
func subscribeQueue(ctx context.Context, c *api.Client, topic string, s *Subscription, attrs map[string]string) error {
	wanted := s.rules()
	if len(wanted) == 0 { // a subscription begins with a rule, which must select nothing until it is removed
		wanted = []ruletext.Rule{{Name: ruletext.Default().Name, All: new(false)}}
	}
	var list []*api.Rule
	for _, r := range wanted {
		m, err := r.Message()
		if err != nil {
			return err
		}
		list = append(list, m)
	}
	arn, err := c.SubscribeWithRules(ctx, topic, s.Queue, attrs, list)
	if err == nil && len(s.rules()) == 0 {
		err = c.RemoveRule(ctx, arn, wanted[0].Name)
	}
	return err
}

// subscription returns a subscription of the document.
func (d *Document) subscription(topic, subscriber string) *Subscription {
	for i := range d.Topics {
		for j := range d.Topics[i].Subscriptions {
			if s := &d.Topics[i].Subscriptions[j]; d.Topics[i].Name == topic && s.subscriber() == subscriber {
				return s
			}
		}
	}
	return nil
}

// values changes the attributes and tags of objects that exist.
func (p *planner) values(list []Difference, set func(name string, attrs, tags map[string]string, untag []string)) {
	for len(list) > 0 {
		name, attrs, tags, untag := list[0].Name, map[string]string{}, map[string]string{}, []string(nil)
		first, drops := len(p.plan.Steps), false
		for len(list) > 0 && list[0].Name == name {
			d := list[0]
			list = list[1:]
			tag, isTag := strings.CutPrefix(d.Value, tagPrefix)
			switch {
			case d.Value == "": // the whole object is new, or removed
			case d.Kind == Remove && !p.prune:
				p.plan.Notes = append(p.plan.Notes, "the "+d.Object+" "+name+" keeps "+d.Value+", which the file lacks: see --prune")
			case isTag && d.Kind == Remove:
				untag = append(untag, tag)
			case isTag:
				tags[tag] = d.Want
			default:
				known := described(d.Object, d.Value)
				attrs[d.Value] = d.Want
				if d.Kind == Remove {
					attrs[d.Value] = known.Default
				}
				drops = drops || d.Kind == Remove || known.Loss(cmp.Or(d.Have, known.Default), d.Want) != ""
			}
		}
		set(name, attrs, tags, untag)
		for i := range p.plan.Steps[first:] {
			p.plan.Steps[first+i].Drops = drops || p.plan.Steps[first+i].Drops
		}
	}
}

// described returns the description of an attribute.
func described(object, name string) attributes.Described {
	known := map[string][]attributes.Described{
		queueObject: attributes.Describe(), topicObject: attributes.DescribeTopics(),
		subscriptionObject: attributes.DescribeSubscriptions(),
	}[object]
	i := slices.IndexFunc(known, func(k attributes.Described) bool { return k.Name == name })
	if i < 0 {
		return attributes.Described{}
	}
	return known[i]
}

// setQueue changes a queue, except for targets of forwarding, which setForwards sets.
func (p *planner) setQueue(name string, attrs, tags map[string]string, untag []string) {
	targets := maps.Clone(attrs)
	maps.DeleteFunc(targets, func(attribute, value string) bool { return !forwarding[attribute] || value == "" })
	maps.DeleteFunc(attrs, func(attribute, _ string) bool { return targets[attribute] != "" })
	if len(targets) > 0 {
		p.forwards[name] = targets
	}
	if len(attrs) > 0 {
		p.add(false, "set "+names(attrs)+" of the queue "+name, func(ctx context.Context, c *api.Client) error {
			return c.SetQueueAttributes(ctx, name, p.placed(attrs))
		})
	}
	if len(tags) > 0 {
		p.add(false, "tag the queue "+name+": "+names(tags), func(ctx context.Context, c *api.Client) error {
			return c.TagQueue(ctx, name, tags)
		})
	}
	if len(untag) > 0 {
		p.add(true, "remove tags of the queue "+name+": "+strings.Join(untag, ", "), func(ctx context.Context, c *api.Client) error {
			return c.UntagQueue(ctx, name, untag...)
		})
	}
}

// setForwards sets the targets of forwarding.
func (p *planner) setForwards() {
	for _, name := range slices.Sorted(maps.Keys(p.forwards)) {
		targets := p.forwards[name]
		p.add(false, "set "+names(targets)+" of the queue "+name, func(ctx context.Context, c *api.Client) error {
			return c.SetQueueAttributes(ctx, name, targets)
		})
	}
}

func (p *planner) setTopic(name string, attrs, tags map[string]string, untag []string) {
	if len(attrs) > 0 {
		p.add(false, "set "+names(attrs)+" of the topic "+name, func(ctx context.Context, c *api.Client) error {
			return c.SetTopicAttributes(ctx, name, p.placed(attrs))
		})
	}
	if len(tags) > 0 {
		p.add(false, "tag the topic "+name+": "+names(tags), func(ctx context.Context, c *api.Client) error {
			return c.TagTopic(ctx, name, tags)
		})
	}
	if len(untag) > 0 {
		p.add(true, "remove tags of the topic "+name+": "+strings.Join(untag, ", "), func(ctx context.Context, c *api.Client) error {
			return c.UntagTopic(ctx, name, untag...)
		})
	}
}

func (p *planner) setSubscription(name string, attrs, _ map[string]string, _ []string) {
	topic, subscriber, _ := strings.Cut(name, " -> ")
	p.setRules(name, attrs)
	if len(attrs) == 0 {
		return
	}
	arn := p.have.subscription(topic, subscriber).arn
	p.add(false, "set "+names(attrs)+" of the subscription "+name, func(ctx context.Context, c *api.Client) error {
		return c.SetSubscriptionAttributes(ctx, arn, p.placed(attrs))
	})
}

// setRules changes the rules among the attributes of a subscription, and removes them from these. A rule
// may return with another letter case, so removals come first.
func (p *planner) setRules(name string, attrs map[string]string) {
	topic, subscriber, _ := strings.Cut(name, " -> ")
	have, want := p.have.subscription(topic, subscriber), p.want.subscription(topic, subscriber)
	var puts []string
	for _, key := range slices.Sorted(maps.Keys(attrs)) {
		rule, is := strings.CutPrefix(key, rulePrefix)
		if !is {
			continue
		}
		kept := attrs[key] != ""
		delete(attrs, key)
		if kept {
			puts = append(puts, rule)
			continue
		}
		p.add(true, "remove the rule "+rule+" of the subscription "+name, func(ctx context.Context, c *api.Client) error {
			return c.RemoveRule(ctx, have.arn, rule)
		})
	}
	for _, rule := range puts {
		p.add(false, "set the rule "+rule+" of the subscription "+name, func(ctx context.Context, c *api.Client) error {
			m, err := want.rule(rule).Message()
			if err != nil {
				return err
			}
			return c.PutRule(ctx, have.arn, m)
		})
	}
}

// remove deletes subscriptions, topics and queues, in this order.
func (p *planner) remove(subscriptions, topics, queues []Difference) {
	gone := map[string]bool{}
	for _, d := range topics {
		gone[d.Name] = d.Value == ""
	}
	for _, d := range subscriptions {
		if topic, subscriber, _ := strings.Cut(d.Name, " -> "); d.Value == "" && !gone[topic] {
			arn := p.have.subscription(topic, subscriber).arn
			p.add(true, "unsubscribe "+subscriber+" from "+topic, func(ctx context.Context, c *api.Client) error {
				return c.Unsubscribe(ctx, arn)
			})
		}
	}
	for _, d := range topics {
		if d.Value == "" {
			i := slices.IndexFunc(p.have.Topics, func(t Topic) bool { return t.Name == d.Name })
			archived := p.have.Topics[i].Attributes["ArchivePolicy"] != ""
			p.add(true, "delete the topic "+d.Name, func(ctx context.Context, c *api.Client) error {
				if archived { // a topic with an archive cannot be deleted
					if err := c.SetTopicAttributes(ctx, d.Name, map[string]string{"ArchivePolicy": "{}"}); err != nil {
						return err
					}
				}
				return c.DeleteTopic(ctx, d.Name)
			})
		}
	}
	for _, d := range queues {
		if d.Value == "" {
			p.add(true, "delete the queue "+d.Name+" with its messages",
				func(ctx context.Context, c *api.Client) error { return c.DeleteQueue(ctx, d.Name) })
		}
	}
}
