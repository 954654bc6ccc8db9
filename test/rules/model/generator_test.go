package model

import (
	"math/rand/v2"
	"slices"

	"github.com/seriatimq/seriatim/test/oracle/reference"
)

const (
	scheduledName = "seriatim.ScheduledEnqueueTime"
	partitionName = "seriatim.PartitionKey"
)

// generator makes histories. It uses the state of the model, so that many times are deadlines and
// handles are often valid. The same seed and rules give the same history.
type generator struct {
	rng    *rand.Rand
	w      *world
	kinds  []kind
	next   int
	recent map[string][]handleRef // the last ones, by queue
	soon   []action               // follow-ups, taken in random order
	starts []int                  // steps that started a move task
	queued []action
	unique int
	crowd  int

	topics     []topicKind
	subscribed []int // steps that made subscriptions
	bus        bus
	burst      burst
	plain      bool // only commands of SQS
}

// Above crowdSmall or crowdLarge messages a queue is purged. Below crowdSmall, no more timers of a
// queue are due at once than the product handles in a command. One history in five goes up to
// crowdLarge, without retention: when expired messages are not removed yet, a message after them is
// found, but the turn of its group (sqs.md 4.4, a rule of ours) may differ.
const (
	crowdSmall = 24
	crowdLarge = 300
	crowdSeen  = 45
)

func crowded(seed uint64) bool { return seed%5 == 0 }

func newGenerator(seed uint64, w *world) *generator {
	g := &generator{
		rng: rand.New(rand.NewPCG(seed, 0x5e71a71a)), w: w, next: 1, crowd: crowdSmall,
		recent: map[string][]handleRef{}, bus: newBus(), plain: seed%4 == 3,
	}
	if crowded(seed) {
		g.crowd = crowdLarge
	}
	g.kinds = g.chooseKinds()
	g.queued = append(g.queued, setSetting{"minimum-window-seconds", "1"})
	if g.oneIn(3) {
		g.queued = append(g.queued, setSetting{"aws-cooldowns", "true"})
	}
	for _, k := range g.kinds {
		g.queued = append(g.queued, createQueue{k.name, k.create(g)})
	}
	g.chooseTopics(seed)
	return g
}

func (g *generator) oneIn(n int) bool { return g.rng.IntN(n) == 0 }

func pickOf[T any](g *generator, list ...T) T { return list[g.rng.IntN(len(list))] }

// step returns the next step without executing it.
func (g *generator) step() step {
	s := step{id: g.next, at: g.time()}
	g.next++
	switch {
	case len(g.queued) > 0:
		s.do = g.queued[0]
		s.at = g.w.model.Now()
		g.queued = g.queued[1:]
	case g.burst.left > 0 && !g.oneIn(4):
		s.do = g.burstAction()
		s.at = g.w.model.Now() + pickOf(g, 0, 0, int64(g.rng.IntN(300)))
	default:
		s.do = g.action()
	}
	if _, ok := s.do.(startMove); ok {
		g.starts = append(g.starts, s.id)
	}
	return s
}

// saw tells the generator the result of a step.
func (g *generator) saw(s step) {
	g.sawBus(s)
	switch c := s.do.(type) {
	case receive:
		g.sawReceive(s, c)
	case startMove:
		if g.w.tasks[s.id] == "" {
			g.starts = g.starts[:len(g.starts)-1]
			return
		}
		for range 2 + g.rng.IntN(3) {
			g.soon = append(g.soon, moveStep{s.id, 1 + g.rng.IntN(3)})
		}
	}
}

// recentMax bounds the handles of a queue that the generator remembers, a mix of stale and valid
// ones.
const recentMax = 16

func (g *generator) sawReceive(s step, c receive) {
	got := g.w.handles[s.id]
	list := g.recent[c.name]
	for i := range got {
		list = append(list, handleRef{step: s.id, index: i})
	}
	g.recent[c.name] = slices.Delete(list, 0, max(0, len(list)-recentMax))
	if len(got) > 0 && c.request.Attempt != nil && g.oneIn(2) {
		again := c
		if g.oneIn(3) {
			again.request.Max = new(pickOf(g, int64(1), 2, 10))
		}
		if g.oneIn(3) {
			again.request.Visibility = new(pickOf(g, int64(0), 1, 30))
		}
		g.soon = append(g.soon, again)
		if len(got) > 1 && g.oneIn(2) {
			// Another receive gets some of it, if it is visible again by then.
			g.soon = append(g.soon, receive{c.name, reference.ReceiveRequest{Max: new(int64(1))}})
		}
	}
}

// time chooses the time of a step: mostly now or soon, often within a millisecond of a deadline,
// rarely far in the future or in the past.
func (g *generator) time() int64 {
	now := g.w.model.Now()
	switch n := g.rng.IntN(100); {
	case n < 45:
		return now
	case n < 65:
		return now + int64(g.rng.IntN(400))
	case n < 69:
		return now - int64(g.rng.IntN(5000)) // like a new leader with a slow clock
	case n < 94:
		if at, ok := g.deadline(now); ok {
			return at + int64(g.rng.IntN(3)) - 1
		}
		return now + 1000
	case n < 99:
		return now + int64(g.rng.IntN(20_000))
	}
	if g.crowd == crowdLarge {
		return now + pickOf(g, int64(60_000), 300_000, 600_000)
	}
	return now + pickOf(g, int64(60_000), 300_000, 400_000, 400_000, 43_200_000, 400_000_000)
}

// deadline chooses a future deadline, near ones more often.
func (g *generator) deadline(now int64) (int64, bool) {
	all := g.w.model.Queues()
	if len(all) == 0 {
		return 0, false
	}
	deadlines := g.w.model.Deadlines(pickOf(g, all...))
	if topics := g.w.model.Topics(); len(topics) > 0 && g.oneIn(8) {
		deadlines = g.w.model.TopicDeadlines(pickOf(g, topics...))
	}
	if len(deadlines) == 0 {
		return 0, false
	}
	slices.Sort(deadlines)
	i := min(g.rng.IntN(len(deadlines)), g.rng.IntN(len(deadlines)), g.rng.IntN(len(deadlines)))
	if deadlines[i]-now > 60_000 && (g.crowd == crowdLarge || !g.oneIn(20)) {
		return now + 500, true
	}
	return deadlines[i], true
}

func (g *generator) action() action {
	k := pickOf(g, g.kinds...)
	if g.crowd == crowdLarge {
		k = g.kinds[max(g.rng.IntN(len(g.kinds)), g.rng.IntN(len(g.kinds)))] // so that fewer queues get more commands
	}
	q := g.w.model.Queue(k.name)
	if q == nil && g.oneIn(2) {
		return createQueue{k.name, k.create(g)}
	}
	for _, full := range g.w.model.Queues() {
		if full.Size() > g.crowd {
			return purgeQueue{full.Name}
		}
	}
	if len(g.topics) > 0 && g.oneIn(6) {
		return g.topicAction()
	}
	if k.fifo && !g.plain && g.oneIn(5) {
		return g.busAction(k)
	}
	if !g.plain && g.oneIn(25) {
		return g.storedAction(k)
	}
	if len(g.soon) > 0 && g.oneIn(3) {
		i := g.rng.IntN(len(g.soon))
		next := g.soon[i]
		g.soon = slices.Delete(g.soon, i, i+1)
		return next
	}
	switch n := g.rng.IntN(1000); {
	case n < 330 || n < 480 && g.crowd == crowdLarge:
		return g.send(k)
	case n < 620:
		return g.receive(k)
	case n < 740:
		return g.delete(k)
	case n < 830:
		return g.visibility(k)
	case n < 880:
		return setAttributes{k.name, k.change(g)}
	case n < 890:
		return purgeQueue{k.name}
	case n < 893:
		return deleteQueue{k.name}
	case n < 905:
		return createQueue{k.name, k.confirm(g)}
	case n < 912:
		return setTags{k.name, attributes{pickOf(g, "a", "b"): pickOf(g, "1", "2", "")}, []string{pickOf(g, "b", "c")}}
	case n < 942:
		return g.move()
	case n < 955:
		return setSetting{"aws-cooldowns", pickOf(g, "true", "false")}
	}
	if g.oneIn(4) {
		return advance{since: g.w.model.Now() - int64(g.rng.IntN(600_000))}
	}
	return advance{}
}

// move drives move tasks: starts, steps, cancellations.
func (g *generator) move() action {
	task := 0
	if len(g.starts) > 0 {
		task = g.starts[len(g.starts)-1-min(g.rng.IntN(len(g.starts)), g.rng.IntN(3))]
	}
	var dead []string
	for _, k := range g.kinds {
		if q := g.w.model.Queue(k.name); k.dead && (g.oneIn(8) || q != nil && q.Size() > 0) {
			dead = append(dead, k.name)
		}
	}
	source := "nosuch"
	if len(dead) > 0 && !g.oneIn(25) {
		source = pickOf(g, dead...)
	}
	if g.oneIn(40) {
		source = pickOf(g, g.kinds...).name
	}
	switch n := g.rng.IntN(10); {
	case n < 4:
		destination := ""
		if g.oneIn(4) {
			destination = pickOf(g, g.kinds...).name
		} else if g.oneIn(25) {
			destination = "nosuch"
		}
		return startMove{source, destination}
	case n < 9:
		return moveStep{task, 1 + g.rng.IntN(4)}
	}
	return cancelMove{task, source}
}

// handle chooses a handle of the queue, newer ones more often, sometimes of another queue or a
// damaged one.
func (g *generator) handle(k kind) handleRef {
	list := g.recent[k.name]
	if len(list) == 0 || g.oneIn(20) {
		list = g.recent[pickOf(g, g.kinds...).name]
	}
	if len(list) == 0 {
		return handleRef{}
	}
	ref := list[len(list)-1-min(g.rng.IntN(len(list)), g.rng.IntN(len(list)))]
	if g.oneIn(40) {
		ref.damage = pickOf(g, "flip", "flip", "short", "garbage")
	}
	return ref
}

func (g *generator) delete(k kind) action {
	d := deleteMessages{name: k.name, batch: g.oneIn(3)}
	for range g.size(d.batch) {
		d.handles = append(d.handles, g.handle(k))
	}
	return d
}

func (g *generator) size(batch bool) int {
	switch {
	case !batch:
		return 1
	case g.crowd == crowdLarge:
		return 1 + g.rng.IntN(10)
	}
	return 1 + g.rng.IntN(4)
}

func (g *generator) visibility(k kind) action {
	c := changeVisibility{name: k.name, batch: g.oneIn(3)}
	for range g.size(c.batch) {
		timeout := pickOf(g, int64(0), 0, 1, 2, 5, 30, 43_200, 43_199, 43_190)
		ref := g.handle(k)
		if g.oneIn(50) && ref.damage == "" {
			timeout = pickOf(g, int64(-1), 43_201)
		}
		c.entries = append(c.entries, visibilityRef{ref, timeout})
	}
	return c
}

func (g *generator) receive(k kind) action {
	c := receive{name: k.name}
	if !g.oneIn(4) {
		c.request.Max = new(pickOf(g, int64(1), 2, 3, 5, 10, 10))
	}
	if g.oneIn(3) {
		c.request.Visibility = new(pickOf(g, int64(0), 1, 1, 2, 5, 30, 43_200))
	}
	if k.fifo && g.oneIn(2) || g.oneIn(12) {
		c.request.Attempt = new(pickOf(g, "A", "B", "C"))
	}
	if g.oneIn(60) {
		switch g.rng.IntN(5) {
		case 0:
			c.request.Max = new(pickOf(g, int64(0), 11, -1))
		case 1:
			c.request.Visibility = new(pickOf(g, int64(-1), 43_201))
		case 2:
			c.request.Attempt = new(pickOf(g, "", "a b", longID))
		}
		if g.oneIn(3) {
			c.name = "nosuch"
		}
	}
	return c
}
