package model

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// bus contains what the generator remembers of commands that SQS does not have, by queue.
type bus struct {
	locks     map[string][]lockRef
	scheduled map[string][]numberRef
	deferred  map[string][]numberRef
}

func newBus() bus {
	return bus{locks: map[string][]lockRef{}, scheduled: map[string][]numberRef{}, deferred: map[string][]numberRef{}}
}

// keep remembers the last few values of a list.
func keep[T any](list []T, one T) []T {
	list = append(list, one)
	return slices.Delete(list, 0, max(0, len(list)-8))
}

// newest chooses from a list, newer values more often. It returns the zero value for an empty list.
func newest[T any](g *generator, list []T) (one T) {
	if len(list) == 0 {
		return one
	}
	return list[len(list)-1-min(g.rng.IntN(len(list)), g.rng.IntN(len(list)))]
}

// busAction makes a command that SQS does not have, on a FIFO queue.
func (g *generator) busAction(k kind) action {
	lock := g.lock(k)
	held := lock
	if held == 0 {
		held = -1 // of a session without a lock
	}
	switch n := g.rng.IntN(100); {
	case n < 24:
		return g.accept(k)
	case n < 40 && lock != 0:
		c := busReceive{name: k.name, lock: lock, remove: g.oneIn(6)}
		if !g.oneIn(4) {
			c.max = new(pickOf(g, int64(1), 2, 3, 10))
		}
		c.attempt = g.attempt(c.remove)
		return c
	case n < 45:
		return busReceive{name: k.name, max: new(pickOf(g, int64(1), 2, 3)), hidden: pickOf(g, nil, new(int64(2))), remove: !g.oneIn(4)}
	case n < 51:
		return renew{k.name, held, pickOf(g, nil, new(int64(1)), new(int64(5)), new(int64(60)))}
	case n < 57:
		return release{k.name, held}
	case n < 62:
		return setState{k.name, held, pickOf(g, nil, new("s"), new("t"), new(""), new(strings.Repeat("s", 1025)))}
	case n < 80:
		return g.settlement(k, -1)
	case n < 82:
		return g.commit(k, -1)
	case n < 90:
		return g.fetch(k)
	case n < 94:
		return g.cancel(k, newest(g, g.bus.scheduled[k.name]))
	case n < 97:
		return g.forgetID(k)
	}
	return releaseGroup{k.name, pickOf(g, "a", "b", "c", "nobody", "\x00", "\xff")}
}

// burst is a run of commands of one receiver within a short time, since its locks would otherwise
// end before it uses them.
type burst struct {
	left int
	kind kind
	lock lockRef
}

func (g *generator) burstAction() action {
	g.burst.left--
	k, lock := g.burst.kind, g.burst.lock
	if lock == 0 {
		switch g.rng.IntN(8) {
		case 0, 1:
			return g.fetch(k)
		case 2:
			return releaseGroup{k.name, pickOf(g, "a", "b", "c")}
		case 3, 4:
			return g.commit(k, lock)
		}
		return g.settlement(k, lock)
	}
	switch n := g.rng.IntN(100); {
	case n < 36:
		c := busReceive{name: k.name, lock: lock, max: new(pickOf(g, int64(1), 1, 2, 3, 10)), remove: g.oneIn(8)}
		c.attempt = g.attempt(c.remove)
		return c
	case n < 60:
		return g.settlement(k, lock)
	case n < 65:
		return g.commit(k, lock)
	case n < 74:
		c := send{name: k.name, sender: "123456789012", entries: []reference.SendEntry{g.entry(k)}}
		if id := g.w.locks[int(lock)].SessionID; c.entries[0].Partition == nil && c.entries[0].Group != nil {
			c.entries[0].Group = &id
		}
		return c
	case n < 79:
		return renew{k.name, lock, pickOf(g, nil, new(int64(1)), new(int64(20)))}
	case n < 84:
		return setState{k.name, lock, pickOf(g, nil, new("s"), new("t"))}
	case n < 92:
		c := g.fetch(k)
		c.lock, c.hidden = lock, nil
		return c
	case n < 96:
		g.burst.left = 0
		return release{k.name, lock}
	case n < 98:
		return releaseGroup{k.name, g.w.locks[int(lock)].SessionID}
	}
	return g.receive(k)
}

// lock returns a lock that the queue issued recently, or rarely one of another queue.
func (g *generator) lock(k kind) lockRef {
	if g.oneIn(40) {
		return newest(g, g.bus.locks[pickOf(g, g.kinds...).name])
	}
	return newest(g, g.bus.locks[k.name])
}

func (g *generator) accept(k kind) action {
	c := accept{name: k.name, seconds: pickOf(g, nil, new(int64(1)), new(int64(2)), new(int64(5)), new(int64(30)))}
	if g.oneIn(2) {
		c.id = new(pickOf(g, "a", "b", "c", "empty", "\x00", "\u00fc"))
	}
	if g.oneIn(3) {
		c.attempt = new(pickOf(g, "A", "B", "C"))
	}
	if g.oneIn(60) {
		c.seconds = new(pickOf(g, int64(0), 43_201))
		c.attempt = new(pickOf(g, "", "A", "a b"))
	}
	return c
}

// attempt returns the attempt id for a receive in a session, which is rarely set for a receive that
// deletes, as that is refused.
func (g *generator) attempt(deletes bool) *string {
	if deletes && !g.oneIn(10) || !g.oneIn(3) {
		return nil
	}
	return new(pickOf(g, "A", "B", "C"))
}

// settlement completes, abandons, defers or dead-letters recent messages, mostly under their lock.
// It prefers messages of the given lock; 0 means none.
func (g *generator) settlement(k kind, lock lockRef) settlement {
	c := settlement{how: pickOf(g, "complete", "abandon", "give back", "defer", "defer", "dead-letter", "dead-letter"), name: k.name}
	for range g.size(g.oneIn(3)) {
		c.handles = append(c.handles, g.handle(k))
		if fresh := g.recent[k.name]; lock >= 0 && len(fresh) > 0 && !g.oneIn(6) {
			h := fresh[len(fresh)-1-g.rng.IntN(min(3, len(fresh)))]
			c.handles[len(c.handles)-1] = h
		}
	}
	if c.lock = c.handles[0].lock; g.oneIn(8) {
		c.lock = g.lock(k)
	}
	c.tokens = g.oneIn(2)
	c.timeout = pickOf(g, int64(0), 0, 0, 5)
	c.reason = pickOf(g, "", "poison", "late")
	if g.oneIn(3) {
		c.changes = g.changes()
	}
	return c
}

// commit makes a transaction about a queue, and often about others.
func (g *generator) commit(k kind, lock lockRef) action {
	var c commit
	for i := range g.rng.IntN(4) {
		s := g.settlement(k, lock)
		s.handles = s.handles[:1]
		if fresh := g.recent[k.name]; len(fresh) > i && !g.oneIn(8) {
			s.handles[0] = fresh[len(fresh)-1-i]
			s.lock = s.handles[0].lock
		}
		if s.how == "complete" {
			s.changes = nil
		}
		c.settlements = append(c.settlements, s)
		if other := pickOf(g, g.kinds...); other.fifo && g.oneIn(4) {
			k, lock = other, 0
		}
	}
	to := []kind{k}
	if other := pickOf(g, g.kinds...); other.name != k.name && g.oneIn(2) {
		to = append(to, other)
	}
	for _, k := range to[:g.rng.IntN(len(to)+1)] {
		s := send{name: k.name, sender: "123456789012", batch: true, atomic: true}
		for range 1 + g.rng.IntN(2) {
			s.entries = append(s.entries, g.entry(k))
		}
		c.sends = append(c.sends, s)
	}
	if len(g.topics) > 0 && g.oneIn(3) {
		p := g.publish(pickOf(g, g.topics...))
		p.since = 0
		c.publishes = append(c.publishes, p)
	}
	if c.command(g.w).Validate() != nil {
		return g.settlement(k, lock)
	}
	return c
}

func (g *generator) fetch(k kind) fetch {
	c := fetch{name: k.name, remove: g.oneIn(4)}
	for range 1 + g.rng.IntN(2) {
		n := newest(g, g.bus.deferred[k.name])
		if n != (numberRef{}) && !slices.Contains(c.numbers, n) {
			c.numbers = append(c.numbers, n)
		}
	}
	if len(c.numbers) == 0 || g.oneIn(20) {
		c.numbers = append(c.numbers, numberRef{step: -1})
	}
	if g.oneIn(2) {
		c.lock = g.lock(k)
	}
	if c.lock == 0 && g.oneIn(3) {
		c.hidden = new(pickOf(g, int64(0), 1, 5))
	}
	return c
}

func (g *generator) cancel(k kind, n numberRef) action {
	if n == (numberRef{}) {
		n.step = -1
	}
	return cancel{k.name, []numberRef{n}, g.oneIn(2)}
}

func (g *generator) forgetID(k kind) action {
	id := reference.DedupID{ID: pickOf(g, "x", "y", "z"), Group: pickOf(g, "", "a", "b")}
	if q := g.w.model.Queue(k.name); q != nil {
		if known := g.w.model.IDs(q); len(known) > 0 && !g.oneIn(4) {
			id = known[g.rng.IntN(len(known))]
		}
	}
	return forgetID{k.name, id}
}

// sawBus remembers the result of a step and plans steps that use it.
func (g *generator) sawBus(s step) {
	switch c := s.do.(type) {
	case accept:
		if _, locked := g.w.locks[s.id]; locked {
			if c.attempt != nil && g.oneIn(2) {
				g.soon = append(g.soon, c)
			}
			g.bus.locks[c.name] = keep(g.bus.locks[c.name], lockRef(s.id))
			g.soon = append(g.soon, busReceive{name: c.name, lock: lockRef(s.id), max: new(int64(3))})
			if !g.oneIn(4) {
				g.burst = burst{6 + g.rng.IntN(12), g.kindOf(c.name), lockRef(s.id)}
			}
		}
	case receive:
		k := g.kindOf(c.name)
		if len(g.w.handles[s.id]) == 0 || !k.fifo || g.plain {
			break
		}
		switch g.rng.IntN(12) {
		case 0, 1:
			g.burst = burst{1 + g.rng.IntN(3), k, 0}
		case 2:
			g.soon = append(g.soon, g.commit(k, 0))
		}
	case busReceive:
		g.sawHandles(c.name, s.id, c.lock)
		if c.attempt != nil && len(g.w.handles[s.id]) > 0 && g.oneIn(3) {
			g.soon = append(g.soon, c)
		}
	case fetch:
		g.sawHandles(c.name, s.id, c.lock)
	case settlement:
		if c.how != "defer" {
			return
		}
		g.sawDeferred(c)
	case commit:
		for _, s := range c.settlements {
			if s.how == "defer" {
				g.sawDeferred(s)
			}
		}
	case publish:
		for i, e := range c.entries {
			if e.EnqueueAt == nil {
				continue
			}
			n := numberRef{s.id, i}
			g.bus.scheduled["topic "+c.topic] = keep(g.bus.scheduled["topic "+c.topic], n)
			if g.oneIn(4) {
				g.soon = append(g.soon, g.cancelPublish(topicKind{name: c.topic}, n))
			}
		}
	case send:
		for i, e := range c.entries {
			if e.EnqueueAt == nil && !slices.ContainsFunc(e.Attributes,
				func(a reference.Attribute) bool { return a.Name == scheduledName }) {
				continue
			}
			n := numberRef{s.id, i}
			g.bus.scheduled[c.name] = keep(g.bus.scheduled[c.name], n)
			if g.oneIn(4) {
				g.soon = append(g.soon, g.cancel(kind{name: c.name}, n))
			}
		}
	case setAttributes:
		// An id may be known from before under another scope.
		if k := g.kindOf(c.name); c.attributes["DeduplicationScope"] != "" && k.fifo && !g.plain && g.oneIn(2) {
			g.soon = append(g.soon, g.forgetID(k))
		}
	case subscribe:
		if _, ok := g.w.subscriptions[s.id]; ok {
			g.subscribed = keep(g.subscribed, s.id)
			if c.attributes["ReplayPolicy"] != "" {
				g.replaySteps(s.id)
				if g.oneIn(4) {
					g.soon = append(g.soon, setTopic{c.topic, attributes{"ArchivePolicy": "{}"}},
						setTopic{c.topic, attributes{"ArchivePolicy": archiveDays(1)}})
				}
			}
		}
	case setSubscription:
		if c.attributes["ReplayPolicy"] != "" {
			g.replaySteps(c.step)
		}
	}
}

func (g *generator) sawDeferred(c settlement) {
	for _, h := range c.handles {
		n := numberRef{h.step, h.index}
		g.bus.deferred[c.name] = keep(g.bus.deferred[c.name], n)
		if g.oneIn(2) {
			g.soon = append(g.soon, fetch{name: c.name, lock: c.lock, numbers: []numberRef{n}, remove: g.oneIn(3)})
		}
	}
}

func (g *generator) kindOf(name string) kind {
	for _, k := range g.kinds {
		if k.name == name {
			return k
		}
	}
	return kind{name: name}
}

func (g *generator) sawHandles(name string, step int, lock lockRef) {
	list := g.recent[name]
	for i := range g.w.handles[step] {
		list = append(list, handleRef{step: step, index: i, lock: lock})
	}
	g.recent[name] = slices.Delete(list, 0, max(0, len(list)-recentMax))
}

// option sometimes sets the options of a send that need no reserved attribute.
func (g *generator) option(e *reference.SendEntry) {
	if g.oneIn(10) {
		e.EnqueueAt = new(g.w.model.Now() + pickOf(g, int64(-1000), 1, 500, 500, 1000, 5000, 30_000))
	}
	if g.oneIn(6) && g.crowd != crowdLarge {
		e.TimeToLive = new(pickOf(g, int64(-1), 1, 999, 1000, 2000, 5000, 30_000, 40_000_000_000_000))
	}
	if g.oneIn(12) {
		e.Partition = new(pickOf(g, "p", "q"))
		if e.Group != nil && !g.oneIn(10) {
			e.Partition = e.Group
		}
	}
}
