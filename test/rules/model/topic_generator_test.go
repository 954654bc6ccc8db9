package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// topicKind is a kind of topic that histories use.
type topicKind struct {
	name    string
	fifo    bool
	content bool
	fixed   attributes
	off     bool // DeduplicationEnabled=false
	lone    bool // messages may have no group
	keyed   bool // messages carry partition keys
	small   bool // MaxSizeInMegabytes is small, and messages are large
	idle    bool // AutoDeleteOnIdleSeconds
}

func topicKinds() []topicKind {
	return []topicKind{
		{name: "orders.fifo", fifo: true},
		{name: "news.fifo", fifo: true, content: true},
		{name: "both.fifo", fifo: true, content: true, fixed: attributes{"ContentDeduplicationMode": "IdAndContent"}},
		{name: "grouped.fifo", fifo: true, fixed: attributes{"FifoThroughputScope": "MessageGroup"}},
		{name: "archived.fifo", fifo: true, content: true, fixed: attributes{"ArchivePolicy": `{"MessageRetentionPeriod":"1"}`}},
		{name: "off.fifo", fifo: true, off: true, fixed: attributes{"DeduplicationEnabled": "false"}},
		{name: "bus.fifo", fifo: true, lone: true, keyed: true, fixed: attributes{"CompatibilityProfile": "servicebus",
			"DeduplicationScope": "partitionKey", "MessageGroupIdMode": "Optional", "ReservedAttributesEnabled": "true"}},
		{name: "capped.fifo", fifo: true, content: true, fixed: attributes{"MaxDeduplicationEntries": "4"}},
		{name: "small.fifo", fifo: true, small: true, fixed: attributes{"MaxSizeInMegabytes": "1"}},
		idleTopic,
		{name: "plain"},
	}
}

// idleTopic is deleted when it is idle, with the queue of its subscription, idleSubscription.
var (
	idleTopic = topicKind{name: "idle.fifo", fifo: true, idle: true, fixed: attributes{
		"AutoDeleteOnIdleSeconds": "300", "ReservedAttributesEnabled": "true"}}
	idleSubscription = kind{name: "idle_2FSubscriptions_2Fone.fifo", fifo: true, implicit: true, idle: true,
		fixed: attributes{"ImplicitDeadLetterQueue": "true", "AutoDeleteOnIdleSeconds": "400"}}
)

// chooseTopics uses two topics in two histories of three, each with subscribed queues.
func (g *generator) chooseTopics(seed uint64) {
	all := topicKinds()
	chosen := g.rng.Perm(len(all))[:2]
	archived := slices.IndexFunc(all, func(t topicKind) bool { return t.fixed["ArchivePolicy"] != "" })
	if g.oneIn(2) && !slices.Contains(chosen, archived) { // replays need many commands
		chosen[0] = archived
	}
	idle := slices.IndexFunc(all, func(t topicKind) bool { return t.idle })
	if g.oneIn(3) && !slices.Contains(chosen, idle) {
		chosen[1] = idle
	}
	if seed%3 == 0 {
		chosen = nil
	}
	for _, i := range chosen {
		t := all[i]
		g.topics = append(g.topics, t)
		g.queued = append(g.queued, createTopic{t.name, t.create(g), nil})
		for range 3 {
			g.queued = append(g.queued, g.subscribe(t))
		}
		if t.idle {
			g.kinds = append(g.kinds, idleSubscription, idleSubscription.builtIn())
			g.queued = append(g.queued, createQueue{idleSubscription.name, idleSubscription.create(g)},
				subscribe{topic: t.name, queue: idleSubscription.name, attributes: attributes{}})
		}
	}
}

func (t topicKind) create(g *generator) attributes {
	a := attributes{}
	if t.fifo {
		a["FifoTopic"] = "true"
		a["DeduplicationWindowSeconds"] = pickOf(g, "1", "2", "5", "20", "300")
	}
	if t.content {
		a["ContentBasedDeduplication"] = "true"
	}
	maps.Copy(a, t.fixed)
	return a
}

// change returns a change, sometimes one that is refused.
func (t topicKind) change(g *generator) attributes {
	if g.oneIn(5) {
		return attributes{"EntityStatus": pickOf(g, "Active", "Active", "Disabled", "SendDisabled", "ReceiveDisabled")}
	}
	if t.idle && g.oneIn(3) {
		return attributes{"AutoDeleteOnIdleSeconds": pickOf(g, "0", "299", "300", "300", "600")}
	}
	if !t.fifo {
		return attributes{"DisplayName": pickOf(g, "", "x")}
	}
	switch g.rng.IntN(12) {
	case 0, 1, 2, 3, 4:
		return attributes{"DeduplicationWindowSeconds": pickOf(g, "1", "2", "5", "20", "300", "604800")}
	case 5:
		return attributes{"FifoThroughputScope": "MessageGroup"}
	case 6:
		return t.extension(g)
	case 7:
		return attributes{"FifoThroughputScope": "Topic", "DeduplicationWindowSeconds": pickOf(g, "2", "20")}
	case 8:
		if t.content {
			return attributes{"ContentDeduplicationMode": pickOf(g, "IdOverrides", "IdAndContent")}
		}
		return attributes{"ContentBasedDeduplication": pickOf(g, "true", "false")}
	case 9:
		return attributes{"DeduplicationWindowSeconds": pickOf(g, "0", "604801", "x")}
	case 10:
		return attributes{pickOf(g, "FifoTopic", "Nosuch"): "true"}
	}
	if t.fixed["ArchivePolicy"] == "" {
		return attributes{"ArchivePolicy": "{}"}
	}
	return attributes{"ArchivePolicy": pickOf(g, "{}", archiveDays(1), archiveDays(1), archiveDays(2), archiveDays(5), archiveDays(0),
		archiveDays(366), "null")}
}

// extension changes an attribute that SNS does not have.
func (t topicKind) extension(g *generator) attributes {
	switch g.rng.IntN(7) {
	case 0:
		return attributes{"DeduplicationScope": pickOf(g, "queue", "messageGroup", "partitionKey", "partitionKey")}
	case 1:
		return attributes{"DeduplicationScope": pickOf(g, "queue", "messageGroup", "partitionKey"),
			"FifoThroughputScope": pickOf(g, "Topic", "MessageGroup")}
	case 2:
		return attributes{"ReservedAttributesEnabled": pickOf(g, "true", "false")}
	case 3:
		if t.fixed["MaxDeduplicationEntries"] != "" {
			return attributes{"MaxDeduplicationEntries": pickOf(g, "2", "4", "0")}
		}
		return attributes{"MaxDeduplicationEntries": "0"}
	case 4:
		return attributes{"DeduplicationEnabled": pickOf(g, "true", "false")}
	case 5:
		return attributes{"DefaultTimeToLiveSeconds": pickOf(g, "0", "1", "5", "3600", "-1")}
	}
	return attributes{"MessageGroupIdMode": pickOf(g, "Optional", "Required")}
}

func archiveDays(days int) string {
	return fmt.Sprintf(`{"MessageRetentionPeriod":%d}`, days)
}

// subscribe chooses a queue of the history, or one that does not exist.
func (g *generator) subscribe(t topicKind) action {
	c := subscribe{topic: t.name, attributes: attributes{}, rules: g.ownRules()}
	for c.queue == "" || !t.fifo && strings.HasSuffix(c.queue, ".fifo") && !g.oneIn(30) {
		c.queue = pickOf(g, g.kinds...).name
		if g.oneIn(10) {
			c.queue = pickOf(g, "gone", "gone.fifo")
		}
	}
	if g.oneIn(2) {
		c.attributes["RawMessageDelivery"] = pickOf(g, "true", "false", "True")
	}
	if g.oneIn(3) {
		c.attributes["FilterPolicy"] = pickOf(g, attributePolicies...)
	} else if g.oneIn(4) {
		c.attributes["FilterPolicyScope"], c.attributes["FilterPolicy"] = "MessageBody", pickOf(g, bodyPolicies...)
	}
	if g.oneIn(2) {
		c.attributes["RedrivePolicy"] = g.subscriptionRedrive(strings.HasSuffix(c.queue, ".fifo"))
	}
	if t.fixed["ArchivePolicy"] != "" && g.oneIn(3) || g.oneIn(60) {
		c.attributes["ReplayPolicy"] = g.replayPolicy()
	}
	if g.oneIn(40) {
		c.attributes[pickOf(g, "RawMessageDelivery", "FilterPolicyScope", "Nosuch", "FilterPolicy")] = "maybe"
	}
	return c
}

// ownRules returns the rules with which a subscription begins, mostly none.
func (g *generator) ownRules() (list []reference.Rule) {
	if g.oneIn(4) {
		list = append(list, reference.Rule{Name: "a", Filter: g.filter()},
			reference.Rule{Name: "B", Filter: g.filter(), Action: g.ruleAction()})
	}
	return list
}

func (g *generator) rule() reference.Rule {
	r := reference.Rule{Name: g.ruleName(), Filter: g.filter()}
	if g.oneIn(2) {
		r.Action = g.ruleAction()
	}
	return r
}

func (g *generator) ruleName() string {
	return pickOf(g, "$Default", "$default", "a", "A", "b", "B", "c")
}

func (g *generator) filter() string { return pickOf(g, slices.Sorted(maps.Keys(reference.Filters))...) }

func (g *generator) ruleAction() string {
	return pickOf(g, slices.Sorted(maps.Keys(reference.Actions))...)
}

func (g *generator) subscriptionRedrive(fifo bool) string {
	target := "dead"
	if fifo != g.oneIn(20) {
		target = "dead.fifo"
	}
	if g.oneIn(8) {
		target = pickOf(g, "gone.fifo", "dead2.fifo")
	}
	return `{"deadLetterTargetArn":"` + arn(target) + `"}`
}

// Policies that most published messages pass, but not all.
var (
	attributePolicies = []string{
		`{"color":["red","blue"]}`, `{"color":[{"prefix":"r"}]}`, `{"color":[{"anything-but":["red"]}]}`,
		`{"color":[{"exists":true}]}`, `{"color":[{"exists":false}]}`, `{"n":[{"numeric":[">=",2,"<",7]}]}`,
		`{"n":[3,{"numeric":["=",5]}],"color":["red","green"]}`, `{"color":[{"equals-ignore-case":"RED"},{"suffix":"n"}]}`,
	}
	bodyPolicies = []string{`{"kind":["a","b"]}`, `{"deep":{"k":[{"anything-but":"x"}]}}`, `{"n":[{"numeric":[">",1]}]}`,
		`{"kind":[{"exists":false}]}`}
)

// topicAction mostly publishes.
func (g *generator) topicAction() action {
	t := pickOf(g, g.topics...)
	if g.w.model.Topic(t.name) == nil && g.oneIn(2) {
		return createTopic{t.name, t.create(g), nil}
	}
	sub := 0
	if len(g.subscribed) > 0 {
		sub = pickOf(g, g.subscribed...)
	}
	if t.fixed["ArchivePolicy"] != "" && g.oneIn(12) {
		return setSubscription{sub, attributes{"ReplayPolicy": g.replayPolicy()}}
	}
	switch n := g.rng.IntN(1000); {
	case n < 60:
		return g.subscribe(t)
	case n < 110:
		return setTopic{t.name, t.change(g)}
	case n < 170:
		return setSubscription{sub, g.subscriptionChange()}
	case n < 190:
		return unsubscribe{sub}
	case n < 200:
		return createTopic{t.name, pickOf(g, t.create(g), attributes{"FifoTopic": strconv.FormatBool(t.fifo)}),
			pickOf(g, nil, attributes{"k": "v"})}
	case n < 206:
		return deleteTopic{t.name}
	case n < 255:
		return replayStep{sub, pickOf(g, 1, 2, 100)}
	case n < 300 && t.fifo:
		return g.cancelPublish(t, newest(g, g.bus.scheduled["topic "+t.name]))
	case n < 350:
		return putRule{sub, g.rule(), pickOf(g, 0, 0, 0, reference.RuleMustNotExist, reference.RuleMustExist)}
	case n < 370:
		return removeRule{sub, g.ruleName()}
	case n < 379:
		return tagTopic{t.name, attributes{"k": pickOf(g, "v", "w")}, []string{"l"}}
	}
	return g.publish(t)
}

func (g *generator) cancelPublish(t topicKind, n numberRef) action {
	if n == (numberRef{}) {
		n.step = -1
	}
	return cancel{"topic " + t.name, []numberRef{n}, g.oneIn(2)}
}

func (g *generator) subscriptionChange() attributes {
	switch g.rng.IntN(12) {
	case 8, 9, 10:
		return attributes{"ReplayPolicy": g.replayPolicy()}
	case 11:
		return attributes{"ReplayPolicy": pickOf(g, "", "{}", "null", `{"PointType":"Timestamp"}`)}
	case 0:
		return attributes{"FilterPolicy": pickOf(g, attributePolicies...)}
	case 1:
		return attributes{"FilterPolicyScope": pickOf(g, "MessageBody", "MessageAttributes")}
	case 2:
		return attributes{"FilterPolicyScope": "MessageBody", "FilterPolicy": pickOf(g, bodyPolicies...)}
	case 3:
		return attributes{"RedrivePolicy": pickOf(g, g.subscriptionRedrive(true), g.subscriptionRedrive(false))}
	case 4:
		return attributes{"RawMessageDelivery": "maybe"}
	case 5:
		return attributes{"DeadLetterOnFilterError": pickOf(g, "true", "false", "false")}
	}
	return attributes{"RawMessageDelivery": pickOf(g, "true", "false")}
}

func (g *generator) publish(t topicKind) publish {
	c := publish{topic: t.name, sender: pickOf(g, "123456789012", "anonymous"), batch: g.oneIn(3)}
	entries := g.size(c.batch)
	if c.large = c.batch && g.oneIn(4); c.large {
		entries += pickOf(g, 0, 4, 10)
	}
	for range entries {
		c.entries = append(c.entries, g.publishEntry(t))
	}
	if t.small && !c.batch && g.oneIn(2) {
		c.entries[0].Message = strings.Repeat("s", 100_000+g.rng.IntN(100_000))
	}
	if g.oneIn(100) {
		c.topic = "nosuch"
	}
	if g.oneIn(20) {
		c.since = max(1, g.w.model.Now()-pickOf(g, int64(-5), 0, 1, 700, 30_000))
	}
	return c
}

func (g *generator) publishEntry(t topicKind) reference.PublishEntry {
	e := reference.PublishEntry{Message: "body " + strconv.Itoa(g.rng.IntN(6))}
	if g.oneIn(3) {
		e.Message = fmt.Sprintf(`{"kind":%q,"n":%d,"deep":{"k":%q}}`, pickOf(g, "a", "b", "c"), g.rng.IntN(4), pickOf(g, "x", "y"))
	}
	if g.oneIn(8) {
		e.Subject = new("subject <" + strconv.Itoa(g.rng.IntN(3)) + ">")
	}
	if !g.oneIn(3) {
		e.Attributes = append(e.Attributes, reference.Attribute{Name: "color", Type: "String", Value: pickOf(g, "red", "blue", "green")})
	}
	if g.oneIn(2) {
		e.Attributes = append(e.Attributes, reference.Attribute{Name: "n", Type: "Number", Value: pickOf(g, "3", "5", "6.5", "9")})
	}
	if g.oneIn(9) {
		e.Attributes = append(e.Attributes, reference.Attribute{Name: "raw", Type: "Binary", Value: "\x00\xff"})
	}
	if g.oneIn(25) {
		for i := range 10 {
			e.Attributes = append(e.Attributes, reference.Attribute{Name: "many" + strconv.Itoa(i), Type: "String", Value: "v"})
		}
	}
	if t.fifo && !t.lone || g.oneIn(2) {
		e.Group = new(pickOf(g, "a", "b", "c"))
	}
	if t.fifo {
		g.publishOptions(t, &e)
	}
	switch {
	case !t.fifo, (t.content || t.off) && g.oneIn(2):
	case g.oneIn(3):
		g.unique++
		e.Dedup = new("u" + strconv.Itoa(g.unique))
	case t.content && g.oneIn(6):
		e.Dedup = new(reference.ContentID("body " + strconv.Itoa(g.rng.IntN(6))))
	default:
		e.Dedup = new(pickOf(g, "x", "y", "z", "X"))
	}
	if g.oneIn(120) {
		g.spoilPublish(t, &e)
	}
	return e
}

// publishOptions sometimes schedules a message or gives it a partition key, by options or by reserved
// attributes.
func (g *generator) publishOptions(t topicKind, e *reference.PublishEntry) {
	at := g.w.model.Now() + pickOf(g, int64(-1000), 1, 500, 500, 1000, 5000, 30_000)
	if g.oneIn(5) {
		e.EnqueueAt = &at
	} else if t.fixed["ReservedAttributesEnabled"] != "" && g.oneIn(4) || g.oneIn(60) {
		e.Attributes = append(e.Attributes, g.scheduled(at))
	}
	if g.oneIn(12) {
		e.TimeToLive = new(pickOf(g, int64(-1), 1, 999, 1000, 2000, 5000, 30_000))
	}
	if !t.keyed && !g.oneIn(12) {
		return
	}
	key := pickOf(g, "p", "q")
	if e.Group != nil && !g.oneIn(20) {
		key = *e.Group
	}
	switch {
	case g.oneIn(3):
	case g.oneIn(2):
		e.Partition = &key
	default:
		e.Attributes = append(e.Attributes, reference.Attribute{Name: partitionName, Type: "String", Value: key})
	}
}

// spoilPublish makes one part of an entry invalid.
func (g *generator) spoilPublish(t topicKind, e *reference.PublishEntry) {
	switch g.rng.IntN(5) {
	case 0:
		e.Message = ""
	case 1:
		e.Subject = new("")
	case 2:
		e.Group = pickOf(g, nil, new("g g"))
	case 3:
		e.Dedup = pickOf(g, nil, new(longID))
	case 4:
		e.Message = "a\x01b"
	}
	if !t.fifo {
		e.Dedup = new("x")
	}
}
