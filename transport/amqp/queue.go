package amqp

// queue is a first-in first-out list that reuses its memory.
type queue[T any] struct {
	items []T
	first int
}

func (q *queue[T]) len() int { return len(q.items) - q.first }

func (q *queue[T]) push(item T) {
	if q.first > 0 && len(q.items) == cap(q.items) && q.first >= len(q.items)/2 {
		n := copy(q.items, q.items[q.first:])
		clear(q.items[n:])
		q.items, q.first = q.items[:n], 0
	}
	q.items = append(q.items, item)
}

func (q *queue[T]) peek() T { return q.items[q.first] }

func (q *queue[T]) pop() T {
	var none T
	item := q.items[q.first]
	q.items[q.first] = none
	if q.first++; q.first == len(q.items) {
		q.items, q.first = q.items[:0], 0
	}
	return item
}

// remove removes the items that a function selects.
func (q *queue[T]) remove(selected func(T) bool) {
	kept := q.items[:0]
	for _, item := range q.items[q.first:] {
		if !selected(item) {
			kept = append(kept, item)
		}
	}
	clear(q.items[len(kept):])
	q.items, q.first = kept, 0
}
