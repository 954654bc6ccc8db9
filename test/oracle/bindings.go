package oracle

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seriatimq/seriatim/queue"
)

// bindings ties the model's small integers to the product's opaque values and
// checks that the tie is one to one: ids, handles and numbers are never reused
// for something else (faults.md I7, I9). Handles and tasks are in their text
// form, as commands name them.
type bindings struct {
	messages      pairing[queue.MessageID]
	handles       pairing[string]
	tasks         pairing[string]
	locks         pairing[string]          // by token
	subscriptions pairing[string]          // subscriptions, by ARN
	numbers       map[string][]boundNumber // by queue, ascending
}

// pairing is a growing bijection.
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
		tasks:         newPairing[string](),
		locks:         newPairing[string](),
		subscriptions: newPairing[string](),
		numbers:       map[string][]boundNumber{},
	}
}

// bind checks or makes the tie between n and v.
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

// number is the model's number for one of the product's, 0 if none was seen of it.
func (b *bindings) number(name string, v queue.SequenceNumber) int {
	list := b.numbers[name]
	at, known := slices.BinarySearchFunc(list, v, func(x boundNumber, v queue.SequenceNumber) int { return cmp.Compare(x.product, v) })
	if !known {
		return 0
	}
	return list[at].model
}

// productNumber is the product's number for one of the model's.
func (b *bindings) productNumber(name string, n int) queue.SequenceNumber {
	list := b.numbers[name]
	at, known := slices.BinarySearchFunc(list, n, func(x boundNumber, n int) int { return cmp.Compare(x.model, n) })
	if !known {
		return 0
	}
	return list[at].product
}

type boundNumber struct {
	model   int
	product queue.SequenceNumber
}

// bindNumber checks that sequence numbers rise as the model's do, per queue
// name, over deletion and creation, too.
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
