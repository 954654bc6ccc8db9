package queue

// The size of the state is an estimate of the memory it takes, kept as a running
// sum: what clients sent, and for each record what its structures and its share
// of the indexes cost on a 64-bit machine, with room to spare over what the
// benchmarks of this package show at a million of them.
// It is not part of the state hash: two replicas may measure differently.
const (
	messageOverhead       = 320 // message, tree nodes, ready or timer entry
	deliveryOverhead      = 96  // receive state of a message
	extraOverhead         = 128 // what few messages have
	attributeOverhead     = 48
	deduplicationOverhead = 64 // one remembered id, whatever its length
	attemptOverhead       = 240
	queueOverhead         = 4 << 10
)

// size estimates the memory of one message.
func (m *Message) size() int64 {
	n := messageOverhead + m.body.Len() + len(m.deduplicationID)
	if m.delivery != nil {
		n += deliveryOverhead + len(m.delivery.attemptID)
	}
	if e := m.extra; e != nil {
		n += extraOverhead + len(e.traceHeader) + len(e.deadLetterSource) + len(e.partition)
		for _, a := range e.attributes {
			n += attributeOverhead + len(a.Name) + len(a.DataType) + len(a.Value)
		}
	}
	return int64(n)
}

// size estimates the memory of a queue with all it holds.
func (q *Queue) size() int64 {
	return queueOverhead + q.sums.messageBytes +
		int64(q.deduplication.accepted.len())*deduplicationOverhead +
		int64(q.attempts.byID.Len())*attemptOverhead
}

// StateBytes estimates the memory that all queues take.
func (v View) StateBytes() int64 { return v.b.bytes }
