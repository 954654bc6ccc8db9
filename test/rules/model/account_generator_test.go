package model

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// tenants are the accounts of histories besides the cluster's own. The last one is rarely used, so
// that it can be deleted.
var tenants = []string{"111111111111", "222222222222", "333333333333"}

// accountGenerator makes histories of several accounts with queues and topics of the same names,
// and small quotas. It has its own random stream, so that the histories of generator do not change.
// Histories are too short for retention, which the product applies in coarse steps.
type accountGenerator struct {
	generator
	subscribedBy []int
}

func newAccountGenerator(seed uint64, w *world) *accountGenerator {
	g := &accountGenerator{generator: generator{
		rng: rand.New(rand.NewPCG(seed, 0xacc0_acc0)), w: w, next: 1, crowd: crowdSmall, recent: map[string][]handleRef{},
	}}
	g.queued = append(g.queued, setSetting{"minimum-window-seconds", "1"})
	for _, id := range tenants {
		g.queued = append(g.queued, createAccount{id, g.quota()})
	}
	for _, owner := range []string{"", tenants[0], tenants[1]} {
		for _, name := range []string{"dead", "dead.fifo", "a", "b.fifo"} {
			g.queued = append(g.queued, createQueue{access.Qualify(owner, name), g.attributes(owner, name)})
		}
		t := access.Qualify(owner, "t.fifo")
		given := attributes{"FifoTopic": "true", "DeduplicationWindowSeconds": "5"}
		if g.oneIn(2) {
			given["ArchivePolicy"] = archiveDays(1)
		}
		g.queued = append(g.queued, createTopic{t, given, nil})
		g.queued = append(g.queued, subscribe{t, access.Qualify(owner, "b.fifo"), attributes{"RawMessageDelivery": "true"}})
	}
	return g
}

func (g *accountGenerator) step() step {
	s := step{id: g.next, at: g.w.model.Now()}
	g.next++
	if len(g.queued) > 0 {
		s.do = g.queued[0]
		g.queued = g.queued[1:]
		return s
	}
	if g.oneIn(3) {
		s.at += pickOf(&g.generator, int64(g.rng.IntN(400)), 1000, 1999, 5000)
	}
	s.do = g.action()
	switch s.do.(type) {
	case startMove:
		g.starts = append(g.starts, s.id)
	case subscribe:
		g.subscribedBy = append(g.subscribedBy, s.id)
	}
	return s
}

// owner chooses an account, rarely the last tenant.
func (g *accountGenerator) owner() string {
	if g.oneIn(40) {
		return tenants[2]
	}
	return pickOf(&g.generator, "", tenants[0], tenants[1])
}

// quota returns small limits, some of them none.
func (g *accountGenerator) quota() (q access.Quota) {
	for _, limit := range []struct {
		of    *int64
		small []int64
	}{{&q.Queues, []int64{4, 5, 6}}, {&q.Topics, []int64{1, 2}}, {&q.Messages, []int64{4, 8, 12}}, {&q.Bytes, []int64{40, 100, 200}}} {
		if g.oneIn(2) {
			*limit.of = pickOf(&g.generator, limit.small...)
		}
	}
	if g.oneIn(5) {
		q.RequestsPerSecond = 7
	}
	return q
}

func (g *accountGenerator) queueName() string {
	if g.oneIn(60) {
		return pickOf(&g.generator, "444444444444/a", access.Qualify(g.owner(), "nosuch"))
	}
	return access.Qualify(g.owner(), pickOf(&g.generator, "a", "a", "b.fifo", "b.fifo", "b.fifo", "dead", "dead.fifo", "implicit"))
}

func (g *accountGenerator) attributes(owner, name string) attributes {
	a := attributes{"VisibilityTimeout": pickOf(&g.generator, "0", "1", "2", "30")}
	if strings.HasSuffix(name, ".fifo") {
		a["FifoQueue"], a["DeduplicationWindowSeconds"] = "true", pickOf(&g.generator, "1", "5", "20")
	}
	switch name {
	case "a":
		a["RedrivePolicy"] = redrive(access.Qualify(owner, "dead"), 1)
	case "b.fifo":
		a["RedrivePolicy"] = redrive(access.Qualify(owner, "dead.fifo"), 2)
	case "implicit":
		a["ImplicitDeadLetterQueue"] = "true"
	}
	if _, given := a["RedrivePolicy"]; given && g.oneIn(4) { // perhaps of another account
		a["RedrivePolicy"] = redrive(access.Qualify(g.owner(), pickOf(&g.generator, "dead", "dead.fifo")), 1)
	}
	return a
}

func (g *accountGenerator) action() action {
	for _, full := range g.w.model.Queues() {
		if full.Size() > g.crowd {
			return purgeQueue{full.Name}
		}
	}
	name := g.queueName()
	switch n := g.rng.IntN(1000); {
	case n < 400:
		return g.send(name)
	case n < 580:
		return receive{name, reference.ReceiveRequest{Max: new(pickOf(&g.generator, int64(1), 3, 10)),
			Visibility: new(pickOf(&g.generator, int64(0), 0, 1, 30))}}
	case n < 680:
		return g.remove(name)
	case n < 780:
		return g.publish(access.Qualify(g.owner(), "t.fifo"))
	}
	return g.administration(name)
}

// administration changes accounts, queues or topics.
func (g *accountGenerator) administration(name string) action {
	owner, plain := access.Split(name)
	switch n := g.rng.IntN(100); {
	case n < 24:
		return createQueue{name, g.attributes(owner, plain)}
	case n < 28:
		return deleteQueue{name}
	case n < 36:
		given := g.attributes(owner, plain)
		delete(given, "FifoQueue")
		return setAttributes{name, given}
	case n < 38:
		return purgeQueue{name}
	case n < 48:
		destination := ""
		if g.oneIn(2) {
			destination = access.Qualify(g.owner(), pickOf(&g.generator, "a", "b.fifo"))
		}
		return startMove{access.Qualify(owner, pickOf(&g.generator, "dead", "dead.fifo")), destination}
	case n < 62:
		task := 0
		if len(g.starts) > 0 {
			task = g.starts[max(0, len(g.starts)-1-g.rng.IntN(4))]
		}
		return moveStep{task, 1 + g.rng.IntN(3)}
	case n < 78:
		return g.topicChange(owner)
	case n < 84:
		return createAccount{pickOf(&g.generator, tenants...), g.quota()}
	case n < 96:
		return setQuota{g.owner(), g.quota()}
	}
	return deleteAccount{pickOf(&g.generator, tenants[2], tenants[2], tenants[0], "444444444444")}
}

func (g *accountGenerator) topicChange(owner string) action {
	topic := access.Qualify(owner, pickOf(&g.generator, "t.fifo", "t.fifo", "u.fifo", "v"))
	switch n := g.rng.IntN(10); {
	case n < 4 && strings.HasSuffix(topic, ".fifo"):
		return createTopic{topic, attributes{"FifoTopic": "true"}, nil}
	case n < 4:
		return createTopic{topic, attributes{}, nil}
	case n < 5:
		return deleteTopic{topic}
	case n < 7 && strings.HasSuffix(topic, ".fifo") && g.oneIn(2):
		return setTopic{topic, attributes{"ArchivePolicy": pickOf(&g.generator, "{}", "{}", archiveDays(1))}}
	case n < 6 && len(g.subscribedBy) > 0:
		return unsubscribe{pickOf(&g.generator, g.subscribedBy...)}
	}
	given := attributes{"RawMessageDelivery": pickOf(&g.generator, "true", "false")}
	if g.oneIn(3) {
		given["RedrivePolicy"] = `{"deadLetterTargetArn":"` + arn(access.Qualify(g.owner(), "dead.fifo")) + `"}`
	}
	return subscribe{topic, access.Qualify(g.owner(), pickOf(&g.generator, "b.fifo", "gone.fifo")), given}
}

func (g *accountGenerator) send(name string) action {
	c := send{name: name, sender: "123456789012", batch: g.oneIn(4)}
	for range g.size(c.batch) {
		e := reference.SendEntry{Body: strings.Repeat("x", 1+g.rng.IntN(40))}
		if g.oneIn(4) {
			e.Attributes = []reference.Attribute{{Name: "color", Type: "String", Value: "red"}}
		}
		if strings.HasSuffix(name, ".fifo") {
			e.Group, e.Dedup = new(pickOf(&g.generator, "g", "h")), g.id()
		}
		c.entries = append(c.entries, e)
	}
	return c
}

// id returns a new deduplication id, or one that may be known.
func (g *accountGenerator) id() *string {
	if g.oneIn(2) {
		return new(pickOf(&g.generator, "x", "y", "z"))
	}
	g.unique++
	return new("u" + strconv.Itoa(g.unique))
}

func (g *accountGenerator) publish(topic string) action {
	c := publish{topic: topic, sender: "123456789012", batch: g.oneIn(3)}
	for range g.size(c.batch) {
		c.entries = append(c.entries, reference.PublishEntry{Message: strings.Repeat("y", 1+g.rng.IntN(30)), Group: new("g"),
			Dedup: g.id()})
	}
	return c
}

// remove deletes received messages of a queue, sometimes with the name of another queue.
func (g *accountGenerator) remove(name string) action {
	d := deleteMessages{name: name, batch: g.oneIn(2)}
	list := g.recent[name]
	if g.oneIn(10) {
		list = g.recent[g.queueName()]
	}
	for range g.size(d.batch) {
		ref := handleRef{}
		if len(list) > 0 {
			ref = list[len(list)-1-g.rng.IntN(min(4, len(list)))]
		}
		d.handles = append(d.handles, ref)
	}
	return d
}

func (g *accountGenerator) saw(s step) {
	if c, ok := s.do.(receive); ok {
		list := g.recent[c.name]
		for i := range g.w.handles[s.id] {
			list = append(list, handleRef{step: s.id, index: i})
		}
		g.recent[c.name] = slices.Delete(list, 0, max(0, len(list)-recentMax))
	}
}
