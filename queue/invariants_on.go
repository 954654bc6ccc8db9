//go:build invariants

package queue

// checkEveryCommand makes Apply check all invariants.
const checkEveryCommand = true

// dueForCheck keeps the price of checking bounded: after every command while
// the state is small, else after every so many commands that the walk costs
// about as much as they do.
func (b *Broker) dueForCheck() bool {
	b.unchecked++
	records := b.topics.Len()
	b.queues.Scan(func(_ string, q *Queue) bool {
		records += q.messages.Len() + q.aside.scheduled.Len() + q.aside.deferred.Len() + q.deduplication.Len() + 1
		return true
	})
	if b.unchecked < records/100 {
		return false
	}
	b.unchecked = 0
	return true
}
