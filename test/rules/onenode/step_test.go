package onenode

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seriatimq/seriatim/queue"
)

// step is one call. It refers to queues by kind and to earlier deliveries by step and position, so
// that a list can still be played after the shrinker has removed steps.
type step struct {
	id      int
	wait    time.Duration // before the call
	kind    int           // of the queue, an index of kinds
	do      action
	batch   bool
	entries []entry
	most    int64
	timeout int64
	attempt string
	set     []queue.Attribute
}

type action string

const (
	sends     action = "send"
	receives  action = "receive"
	deletes   action = "delete"
	changes   action = "visibility"
	purges    action = "purge"
	settings  action = "set"
	creations action = "create"
)

// entry is a message to send, or a delivery with what to do with it.
type entry struct {
	body, group, dedup string
	timeout            int64
	from, place        int // step and place of the delivery
	flipped            bool
}

func (s step) String() string {
	text := fmt.Sprintf("%4d %s %s", s.id, s.do, kinds[s.kind].name)
	if s.wait > 0 {
		text = fmt.Sprintf("     wait %v\n%s", s.wait, text)
	}
	if s.batch {
		text += " (batch)"
	}
	switch s.do {
	case receives:
		text += fmt.Sprintf(" most %d timeout %d attempt %q", s.most, s.timeout, s.attempt)
	case settings, creations:
		text += fmt.Sprint(" ", s.set)
	default: // all is in the entries
	}
	for _, e := range s.entries {
		switch s.do {
		case sends:
			text += fmt.Sprintf(" {%q group %q dedup %q}", e.body, e.group, e.dedup)
		default:
			text += fmt.Sprintf(" {delivery %d.%d flipped %v timeout %d}", e.from, e.place, e.flipped, e.timeout)
		}
	}
	return text
}

// kind is a kind of queue.
type kind struct {
	name       string
	attributes []queue.Attribute // sorted by name
	deadLetter int               // index of its dead-letter queue's kind, 0: none
}

func (k kind) fifo() bool { return len(k.name) > 5 && k.name[len(k.name)-5:] == ".fifo" }

func fifo(more ...queue.Attribute) []queue.Attribute {
	return append([]queue.Attribute{
		{Name: "DeduplicationWindowSeconds", Value: "1"},
		{Name: "FifoQueue", Value: "true"},
		{Name: "ReceiveAttemptWindowSeconds", Value: "2"},
		{Name: "VisibilityTimeout", Value: "1"},
	}, more...)
}

var kinds = [...]kind{
	{name: "dead.fifo", attributes: fifo()},
	{name: "plain.fifo", attributes: fifo()},
	{name: "redriven.fifo", attributes: fifo(), deadLetter: 0},
	{name: "content.fifo", attributes: fifo(queue.Attribute{Name: "ContentBasedDeduplication", Value: "true"})},
	{name: "scoped.fifo", attributes: fifo(queue.Attribute{Name: "DeduplicationScope", Value: "messageGroup"})},
	{name: "ymq.fifo", attributes: fifo(queue.Attribute{Name: "CompatibilityProfile", Value: "ymq"})},
	{name: "standard", attributes: []queue.Attribute{{Name: "VisibilityTimeout", Value: "1"}}},
}

// redriven has the dead-letter queue.
const redriven = 2

// generator makes steps with the results of earlier ones.
type generator struct {
	rng    *rand.Rand
	next   int
	recent [len(kinds)][]entry // the last deliveries
	again  []step              // receives to repeat
}

func newGenerator(seed uint64) *generator {
	return &generator{rng: rand.New(rand.NewPCG(seed, 0x0e)), next: 1}
}

func pick[T any](g *generator, list ...T) T { return list[g.rng.IntN(len(list))] }

func (g *generator) step() step {
	s := step{id: g.next, kind: g.rng.IntN(len(kinds))}
	g.next++
	if len(g.again) > 0 && g.rng.IntN(3) == 0 {
		s, g.again = g.again[0], g.again[1:]
		s.id = g.next - 1
		return s
	}
	switch n := g.rng.IntN(100); {
	case n < 3:
		s.wait = pick(g, 300*time.Millisecond, 600*time.Millisecond)
	case n < 4:
		s.wait = 1100 * time.Millisecond
	}
	switch n := g.rng.IntN(100); {
	case n < 38:
		g.send(&s)
	case n < 68:
		s.do, s.most, s.timeout = receives, pick(g, int64(1), 2, 10, 11), pick(g, int64(0), 1, 1, 2, 30)
		if kinds[s.kind].fifo() {
			s.attempt = pick(g, "", "", "A", "B")
		}
	case n < 84:
		s.do, s.batch = deletes, g.rng.IntN(3) == 0
		g.handles(&s)
	case n < 93:
		s.do, s.batch = changes, g.rng.IntN(3) == 0
		g.handles(&s)
	case n < 95:
		s.do = purges
	case n < 98:
		s.do = settings
		s.set = []queue.Attribute{{Name: "VisibilityTimeout", Value: pick(g, "0", "1", "2", "99999")}}
	default:
		s.do, s.set = creations, kinds[s.kind].attributes
	}
	return s
}

func (g *generator) send(s *step) {
	s.do, s.batch = sends, g.rng.IntN(3) == 0
	most := 1
	if s.batch {
		most = 1 + g.rng.IntN(4)
	}
	for range most {
		e := entry{body: pick(g, "one", "two", fmt.Sprint("body ", g.next)), group: pick(g, "a", "a", "b", "c")}
		if g.rng.IntN(4) > 0 || kinds[s.kind].name != "content.fifo" {
			e.dedup = pick(g, "x", "y", fmt.Sprint("key-", g.next, "-", len(s.entries)))
		}
		if !kinds[s.kind].fifo() && g.rng.IntN(20) > 0 {
			e.dedup = ""
		}
		if g.rng.IntN(30) == 0 {
			e.group = "not a group"
		}
		s.entries = append(s.entries, e)
	}
}

func (g *generator) handles(s *step) {
	most := 1
	if s.batch {
		most = 1 + g.rng.IntN(3)
	}
	for range most {
		list := g.recent[s.kind]
		if len(list) == 0 || g.rng.IntN(20) == 0 {
			list = g.recent[g.rng.IntN(len(kinds))]
		}
		e := entry{}
		if len(list) > 0 {
			e = list[len(list)-1-min(g.rng.IntN(len(list)), g.rng.IntN(len(list)))]
		}
		e.flipped = g.rng.IntN(30) == 0
		e.timeout = pick(g, int64(0), 0, 1, 2, 43_200)
		s.entries = append(s.entries, e)
	}
}

// saw remembers the messages of a receive.
func (g *generator) saw(s step, messages int) {
	for i := range messages {
		g.recent[s.kind] = append(g.recent[s.kind], entry{from: s.id, place: i})
	}
	g.recent[s.kind] = g.recent[s.kind][max(0, len(g.recent[s.kind])-12):]
	if messages > 0 && s.attempt != "" {
		s.wait = 0
		g.again = append(g.again, s)
	}
}
