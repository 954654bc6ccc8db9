package oracle

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seriatimq/seriatim/queue"
)

// bindings maps the product's ids, handles, and numbers to the model's small integers, and checks
// that the mapping is one to one: none of them is ever reused (faults.md I7, I9). Handles and tasks
// are stored as the texts in commands.
type bindings struct {
	messages      pairing[queue.MessageID]
	handles       pairing[string]
	tokens        map[string]string // handles by lock token
	tasks         pairing[string]
	locks         pairing[string]          // by token
	subscriptions pairing[string]          // subscriptions, by ARN
	numbers       map[string][]boundNumber // by queue, ascending
}

// pairing is a growing one-to-one mapping.
type pairing[V comparable] struct {
	product map[int]V
	model   map[V]int
}

func newPairing[V comparable]() pairing[V] {
	return pairing[V]{product: map[int]V{}, model: map[V]int{}}
}

func newBindings() *bindings {
	return &bindings{
		messages:      newPairing[queue.MessageID](),
		handles:       newPairing[string](),
		tokens:        map[string]string{},
		tasks:         newPairing[string](),
		locks:         newPairing[string](),
		subscriptions: newPairing[string](),
		numbers:       map[string][]boundNumber{},
	}
}

// bind adds the pair n and v, or checks it if one of them is known.
func (p pairing[V]) bind(what string, n int, v V) string {
	before, known := p.product[n]
	switch {
	case known && before == v:
		return ""
	case known:
		return fmt.Sprintf("%s: the product says %v, earlier it said %v for the same one", what, v, before)
	}
	if other, used := p.model[v]; used {
		return fmt.Sprintf("%s %v already names another one (model: %d and %d)", what, v, other, n)
	}
	p.product[n], p.model[v] = v, n
	return ""
}

// number returns the model's number for a sequence number of the product, 0 if it is unknown.
func (b *bindings) number(name string, v queue.SequenceNumber) int {
	list := b.numbers[name]
	at, known := slices.BinarySearchFunc(list, v, func(x boundNumber, v queue.SequenceNumber) int { return cmp.Compare(x.product, v) })
	if !known {
		return 0
	}
	return list[at].model
}

type boundNumber struct {
	model   int
	product queue.SequenceNumber
}

// bindNumber checks that the product's sequence numbers ascend as the model's do. This is per queue
// name, also after a queue was deleted and created again.
func (b *bindings) bindNumber(name string, n int, v queue.SequenceNumber) string {
	if n == 0 || v == 0 {
		if n == 0 && v == 0 {
			return ""
		}
		return fmt.Sprintf("sequence number: product %s, model %d (0: none)", v, n)
	}
	list := b.numbers[name]
	at, known := slices.BinarySearchFunc(list, n, func(x boundNumber, n int) int { return cmp.Compare(x.model, n) })
	if known {
		if list[at].product != v {
			return fmt.Sprintf("sequence number: product says %s, earlier it said %s for the same message", v, list[at].product)
		}
		return ""
	}
	if at > 0 && list[at-1].product >= v {
		return fmt.Sprintf("sequence number %s does not follow %s of an earlier message", v, list[at-1].product)
	}
	if at < len(list) && list[at].product <= v {
		return fmt.Sprintf("sequence number %s does not precede %s of a later message", v, list[at].product)
	}
	b.numbers[name] = slices.Insert(list, at, boundNumber{n, v})
	return ""
}
