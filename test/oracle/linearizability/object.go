package linearizability

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/anishathalye/porcupine"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// object is one queue with its calls. Texts become small numbers in the order in
// which they are met.
type object struct {
	queue    string
	rules    rules
	calls    []*history.Event // in order of their call
	effects  map[int64]int64  // nil: without the help of the log
	repeated map[int64][2]int64
	groups   names
	keys     names
	bodies   names
	attempts names
	ids      names
	handles  map[string]part
	parts    map[part]string
	made     map[int][]made // by body
	unknown  int
	clients  map[int]bool
	// wrong is what needs no search to be seen, empty if there is none.
	wrong string
}

// names numbers texts from 1 on; the empty text is 0.
type names map[string]int

func (n names) of(text string) int {
	if text == "" {
		return 0
	}
	if _, known := n[text]; !known {
		n[text] = len(n) + 1
	}
	return n[text]
}

func newObject(queue string, r *history.Rules, options Options) *object {
	return &object{
		queue: queue, rules: rules{window: r.WindowOf(queue) / 1000, attempt: r.Attempt / 1000, visibility: r.Visibility / 1000},
		effects: options.Effects, repeated: options.Repeated, groups: names{}, keys: names{}, bodies: names{}, attempts: names{}, ids: names{},
		handles: map[string]part{}, parts: map[part]string{}, made: map[int][]made{}, clients: map[int]bool{},
	}
}

// number is that of a sequence number's text; 0 is none.
func number(text string) int64 {
	// The first digits are the same in all, and what is left fits.
	if len(text) > 18 {
		text = text[len(text)-18:]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// observe notes what the answers show: which handle is which delivery, and which
// message a body became.
func (o *object) observe() {
	slices.SortStableFunc(o.calls, func(a, b *history.Event) int { return int(a.Call - b.Call) })
	for _, e := range o.calls {
		for _, m := range e.Messages {
			p := part{o.ids.of(m.ID), m.Count}
			if before, known := o.handles[m.Handle]; known && before != p {
				o.wrong = fmt.Sprintf("receive %d: its handle of message %s was issued before for another delivery (I7)", e.ID, m.ID)
			}
			if before, known := o.parts[p]; known && before != m.Handle {
				o.wrong = fmt.Sprintf("receive %d: delivery %d of message %s has two handles (I6)", e.ID, m.Count, m.ID)
			}
			o.handles[m.Handle], o.parts[p] = p, m.Handle
			o.see(o.bodies.of(m.Body), made{id: p.message, number: number(m.Sequence), answer: e.Return})
		}
	}
}

// see notes that a message has a body.
func (o *object) see(body int, m made) {
	for i, before := range o.made[body] {
		if before.id == m.id {
			o.made[body][i].answer = min(before.answer, m.answer)
			return
		}
	}
	o.made[body] = append(o.made[body], m)
}

// operations turns the calls into what Porcupine takes. A call of unknown outcome
// ends at the end of the history, or where its effect was seen first.
func (o *object) operations() []porcupine.Operation {
	o.observe()
	end := int64(0)
	for _, e := range o.calls {
		end = max(end, e.Return)
	}
	var list []porcupine.Operation
	for _, e := range o.calls {
		c, known := o.callOf(e)
		if !known || e.Result == history.Fail {
			continue // it promises to have had no effect, and level A holds it to that
		}
		r := o.replyTo(e)
		until := e.Return
		if times, repeated := o.repeated[e.ID]; repeated && !r.unknown {
			r.at, r.again = times[0], times[1]
			if c.kind == send && r.refusal == "" {
				c.made = []made{{id: r.message, number: r.number, answer: e.Return}}
			}
		}
		if r.unknown {
			until = end + 1
			at, took := o.effects[e.ID]
			if o.effects != nil && !took {
				continue
			}
			r.at = at
			if c.kind == send && len(c.made) == 1 {
				until = max(c.made[0].answer, e.Call)
			}
			o.unknown++
		}
		o.clients[e.Client] = true
		list = append(list, porcupine.Operation{ClientId: e.Client, Input: c, Call: e.Call, Output: r, Return: until})
	}
	return list
}

func (o *object) callOf(e *history.Event) (*call, bool) {
	c := &call{rules: &o.rules, number: int(e.ID), most: 1, timeout: o.rules.visibility}
	if e.Most > 0 {
		c.most = e.Most
	}
	if e.Timeout != nil {
		c.timeout = *e.Timeout / 1000
	}
	if e.Handle != "" {
		c.handle = o.handles[e.Handle]
	}
	switch e.Action {
	case history.Send:
		c.kind, c.group, c.key, c.body = send, o.groups.of(e.Group), o.keys.of(e.Dedup), o.bodies.of(e.Body)
		c.made = o.made[c.body]
	case history.Receive:
		c.kind, c.attempt = receive, o.attempts.of(e.Attempt)
	case history.Delete:
		c.kind = remove
	case history.Visibility:
		c.kind = change
	case history.Purge:
		c.kind = purge
	default:
		return nil, false
	}
	return c, true
}

func (o *object) replyTo(e *history.Event) *reply {
	if e.Result == history.Unknown {
		return &reply{unknown: true}
	}
	r := &reply{at: e.LogTime, refusal: e.Error, message: o.ids.of(e.Message), number: number(e.Sequence)}
	for _, m := range e.Messages {
		r.messages = append(r.messages, delivered{
			id: o.ids.of(m.ID), body: o.bodies.of(m.Body), group: o.groups.of(m.Group), count: m.Count, number: number(m.Sequence),
		})
	}
	return r
}

// slack covers log time that advances slower than true time.
const slack = 250

// begin is a log time before the first call: what true and log time differ by in
// the answers tells it.
func (o *object) begin() int64 {
	first, offset := int64(math.MaxInt64), int64(math.MaxInt64)
	for _, e := range o.calls {
		first = min(first, e.Call/1000)
		if e.LogTime != 0 {
			offset = min(offset, e.LogTime-e.Return/1000)
		}
	}
	if offset == math.MaxInt64 {
		return 0
	}
	return first + offset - slack
}

func describe(c *call, r *reply) string {
	text := ""
	switch c.kind {
	case send:
		text = fmt.Sprintf("send g%d k%d b%d", c.group, c.key, c.body)
	case receive:
		text = fmt.Sprintf("receive up to %d", c.most)
		if c.attempt != 0 {
			text += fmt.Sprintf(" attempt a%d", c.attempt)
		}
	case remove:
		text = fmt.Sprintf("delete m%d.%d", c.handle.message, c.handle.count)
	case change:
		text = fmt.Sprintf("hide m%d.%d for %d ms", c.handle.message, c.handle.count, c.timeout)
	case purge:
		text = "purge"
	}
	switch {
	case r.unknown:
		return text + " -> ?"
	case r.refusal != "":
		return text + " -> " + r.refusal
	case c.kind == send:
		return fmt.Sprintf("%s -> m%d #%d at %d", text, r.message, r.number, r.at)
	case c.kind != receive:
		return fmt.Sprintf("%s -> done at %d", text, r.at)
	}
	text += " ->"
	for _, m := range r.messages {
		text += fmt.Sprintf(" m%d.%d", m.id, m.count)
	}
	if len(r.messages) == 0 {
		text += " nothing"
	}
	return fmt.Sprintf("%s at %d", text, r.at)
}
