package model

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// world is one run of a history: the model with its oracle, and the twins.
type world struct {
	model  *reference.Broker // of oracle
	oracle *oracle.Oracle
	twins  []twin
	// handles contains the handles that each receive returned, and tasks the id of the move task of
	// each start, by step.
	handles map[int][]string
	tasks   map[int]string
	// numbers contains the numbers returned by sends and receives, locks the accepted sessions, and
	// subscriptions the ARNs, by step.
	numbers       map[int][]queue.SequenceNumber
	locks         map[int]queue.SessionRef
	subscriptions map[int]string
	waiting       *waiters
	steps         int
	// deliveries are the model's deliveries of the last publish.
	deliveries reference.Deliveries
	crowded    bool
	hits       map[string]int // number of answers of each kind
	explained  *explained     // set: explanations are compared, too
}

// checkEvery is the number of steps between two comparisons of whole states.
const checkEvery = 100

func newWorld(seed uint64, twins []twin) *world {
	model := reference.New()
	w := &world{
		model:   model,
		oracle:  oracle.New(model),
		twins:   twins,
		handles: map[int][]string{},
		tasks:   map[int]string{},
		numbers: map[int][]queue.SequenceNumber{}, locks: map[int]queue.SessionRef{}, subscriptions: map[int]string{},
		waiting: &waiters{asleep: map[string]bool{}, inSession: map[string]queue.SessionRef{}, accepting: map[string]bool{}},
		hits:    map[string]int{},
		crowded: crowded(seed),
	}
	w.oracle.SubscriptionOf = w.subscriptionOf
	key := &queue.SetClusterSetting{Name: queue.SettingReceiptKey, Value: "000102030405060708090a0b0c0d0e0f"}
	for _, t := range w.twins {
		t.apply(0, queue.Timestamp(startOfTime), key)
	}
	w.model.Advance(startOfTime)
	return w
}

// plain returns the first twin, whose answers the others must repeat.
func (w *world) plain() *queue.Broker { return w.twins[0].broker() }

// handle returns the handle that a reference stands for. If the history lacks the receive, it is a
// handle that was never issued.
func (w *world) handle(ref handleRef) string {
	h := strings.Repeat("0", 56)
	if list := w.handles[ref.step]; ref.index < len(list) {
		h = list[ref.index]
	}
	switch ref.damage {
	case "flip":
		text := []byte(h)
		at := (ref.step*7 + ref.index*13) % len(text)
		text[at] = flipHexDigit(text[at], ref.step%4)
		return string(text)
	case "short":
		return h[:len(h)-2]
	case "garbage":
		return "garbage"
	}
	return h
}

func flipHexDigit(digit byte, bit int) byte {
	const digits = "0123456789abcdef"
	return digits[strings.IndexByte(digits, digit)^(1<<bit)]
}

// difference describes how the product and the model, or two twins, differ.
type difference struct {
	step step
	text string
}

func (d *difference) String() string { return fmt.Sprintf("at step\n%s\n%s", d.step, d.text) }

// run executes the steps until the first difference.
func (w *world) run(steps []step) *difference {
	for _, s := range steps {
		if d := w.do(s); d != nil {
			return d
		}
	}
	return w.finish(steps)
}

func (w *world) finish(steps []step) (found *difference) {
	if len(steps) == 0 {
		return nil
	}
	last := steps[len(steps)-1]
	defer w.catch(last, &found)
	for _, t := range w.twins {
		if text := t.flush(); text != "" {
			return &difference{last, t.name() + ": " + text}
		}
	}
	if text := w.compareStates(); text != "" {
		return &difference{last, text}
	}
	return w.drain(last)
}

// drain makes all timers fire and compares the counters of all queues.
func (w *world) drain(last step) *difference {
	for i := range 20 {
		s := step{id: last.id + 1 + i, at: w.model.Now() + 60_000, do: advance{}}
		if d := w.do(s); d != nil {
			return d
		}
	}
	if text := w.compareViews(); text != "" {
		return &difference{last, "after the last step and 20 minutes: " + text}
	}
	for _, q := range w.model.Queues() {
		if text := w.compareQueue(w.plain().View(), q); text != "" {
			return &difference{last, "after the last step and 20 minutes: " + q.Name + ": " + text}
		}
	}
	return nil
}

func (w *world) catch(s step, found **difference) {
	if r := recover(); r != nil {
		stack := string(debug.Stack())
		if len(stack) > 3000 {
			stack = stack[:3000]
		}
		*found = &difference{s, fmt.Sprintf("panic: %v\n%s", r, stack)}
	}
}

// do executes one step everywhere and compares the answers.
func (w *world) do(s step) (found *difference) {
	defer w.catch(s, &found)
	w.steps++
	queues, topics := len(w.model.Queues()), len(w.model.Topics())
	fail := func(text string) *difference { return &difference{s, text} }
	cmd := s.do.command(w)
	asked := cmd
	var result queue.Result
	var refusal *queue.Error
	if p, ok := cmd.(*queue.Publish); ok {
		refusal = p.Validate() // the state machine does not check this again
	}
	if refusal != nil {
		cmd = &queue.AdvanceClock{}
		w.twins[0].apply(s.id, queue.Timestamp(s.at), cmd)
	} else {
		result, refusal = w.twins[0].apply(s.id, queue.Timestamp(s.at), cmd)
	}
	if text := w.compare(s, asked, result, refusal); text != "" {
		return fail(text)
	}
	if cmd != asked {
		w.model.Leave(false)
		w.model.Tick()
		w.model.Forward()
		w.model.DeleteIdle(0)
		result, refusal = queue.Done{}, nil
	}
	if now := w.plain().Now(); int64(now) != w.model.Now() {
		return fail(fmt.Sprintf("log time: product %d, model %d", now, w.model.Now()))
	}
	for _, t := range w.twins[1:] {
		if text := t.repeat(s.id, queue.Timestamp(s.at), cmd, result, refusal); text != "" {
			return fail(t.name() + ": " + text)
		}
	}
	if text := w.checkWaiters(s.do); text != "" {
		return fail(text)
	}
	if _, clock := cmd.(*queue.AdvanceClock); clock {
		w.hits["idle queue"] += queues - len(w.model.Queues())
		w.hits["idle topic"] += topics - len(w.model.Topics())
	}
	if refusal == nil {
		if text := w.compareTouched(s.do); text != "" {
			return fail(text)
		}
		if text := w.compareExplanations(s); text != "" {
			return fail(text)
		}
	}
	if w.steps%checkEvery == 0 {
		if text := w.compareStates(); text != "" {
			return fail(text)
		}
	}
	return nil
}
