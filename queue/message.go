package queue

// Message is one stored message. A Message is never changed once it is in a
// tree: every change stores a new value, because snapshots share the pointers.
type Message struct {
	sequence        uint64
	body            Body
	group           string // MessageGroupId, empty if none
	deduplicationID string
	sentAt          Timestamp
	contentHash     uint64 // over everything that never changes
	sender          *string
	extra           *messageExtra // nil for most messages
	delivery        *delivery     // nil until delayed, received or moved
}

// messageExtra holds what few messages have.
type messageExtra struct {
	id               MessageID // zero: derived from incarnation and sequence
	attributes       []MessageAttribute
	traceHeader      string
	deadLetterSource string
	// partition is the PartitionKey, under which the message is remembered
	// again when a task moves it.
	partition string
	// keepsAge marks a message whose sentAt is older than its place in the
	// queue (moved to a standard dead-letter queue).
	keepsAge bool
}

// delivery is the receive state of a message. Count above zero means that it
// was handed out from this queue, and visibleAt ends its visibility timeout;
// at zero visibleAt ends the delay of a message on a standard queue.
type delivery struct {
	count           uint32 // hand-outs from this queue: the handle's nonce
	receiveCount    int64  // ApproximateReceiveCount, goes on through a dead-letter move
	firstReceivedAt Timestamp
	receivedAt      Timestamp
	visibleAt       Timestamp
	attemptID       string
	attemptNumber   uint64
}

// delivered reports whether this queue has handed the message out.
func (m *Message) delivered() bool { return m.delivery != nil && m.delivery.count > 0 }

// handOuts is how often this queue has handed the message out.
func (m *Message) handOuts() int64 {
	if m.delivery == nil {
		return 0
	}
	return int64(m.delivery.count)
}

// receiveCount is how often the message was received, here and before it was
// moved here.
func (m *Message) receiveCount() int64 {
	if m.delivery == nil {
		return 0
	}
	return m.delivery.receiveCount
}

// withDelivery is a copy of m with another receive state.
func (m *Message) withDelivery(d *delivery) *Message {
	c := *m
	c.delivery = d
	return &c
}

// id is the MessageId, for most messages derived instead of stored.
func (m *Message) id(k keyed, incarnation uint64) MessageID {
	if m.extra != nil && m.extra.id != (MessageID{}) {
		return m.extra.id
	}
	return k.messageID(incarnation, m.sequence)
}

// messageID derives the MessageId of the message accepted as sequence: a
// random-looking UUID that every replica computes alike.
func (k keyed) messageID(incarnation, sequence uint64) MessageID {
	return k.uuid(kindMessageID, incarnation, sequence)
}

func (k keyed) uuid(kind byte, a, b uint64) MessageID {
	var buf [17]byte
	id := MessageID(k.sum(append(record(buf[:0]), kind).num(a).num(b)).bytes())
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // RFC 9562 variant
	return id
}

// seal computes contentHash; called once when the message is made.
func (m *Message) seal(k keyed) {
	var buf [256]byte
	r := append(record(buf[:0]), kindContent).num(k.hashText(m.body.text)).num(uint64(m.body.Len()))
	r = r.text(m.group).text(m.deduplicationID).text(*m.sender)
	if e := m.extra; e != nil {
		r = append(r, e.id[:]...)
		r = r.text(e.traceHeader).text(e.deadLetterSource).flag(e.keepsAge)
		for _, a := range e.attributes {
			r = r.text(a.Name).text(a.DataType).text(a.Value)
		}
		if e.partition != "" {
			r = r.text(e.partition)
		}
	}
	m.contentHash = k.hash(r)
}

// sum is the record hash of the message.
func (m *Message) sum(k keyed, incarnation uint64, scheduled bool) sum128 {
	var buf [128]byte
	r := append(record(buf[:0]), kindMessage).num(incarnation).num(m.sequence).num(m.contentHash)
	r = r.time(m.sentAt).flag(scheduled)
	if d := m.delivery; d != nil {
		r = r.num(uint64(d.count)).num(uint64(d.receiveCount)).time(d.firstReceivedAt)
		r = r.time(d.receivedAt).time(d.visibleAt).num(d.attemptNumber)
	}
	return k.sum(r)
}

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
		int64(q.deduplication.Len())*deduplicationOverhead +
		int64(q.attempts.byID.Len())*attemptOverhead
}

// StateBytes estimates the memory that all queues take.
func (v View) StateBytes() int64 { return v.b.bytes }
