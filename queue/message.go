package queue

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/pages"
	"github.com/seriatimq/seriatim/queue/statehash"
)

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
	hashed          statehash.Sum // what Queue.sums.messages has of it; zero: to be computed
}

// messageBlocks are where the messages of a queue are made.
type messageBlocks struct {
	plain     pages.Blocks[Message]
	delivered pages.Blocks[deliveredMessage]
}

// deliveredMessage is a message with its receive state: they come and go together.
type deliveredMessage struct {
	Message
	state delivery
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
	// published is set on what a topic delivered; body and attributes are then empty.
	published *publishedMessage
}

// delivery is the receive state of a message. Count above zero means that it
// was handed out from this queue, and visibleAt ends its visibility timeout;
// at zero visibleAt ends the delay of a message on a standard queue.
type delivery struct {
	count           uint32 // hand-outs from this queue: the handle's nonce
	takenBack       uint32 // of these, how many were under session locks that were released
	receiveCount    int64  // ApproximateReceiveCount, goes on through a dead-letter move
	firstReceivedAt Timestamp
	receivedAt      Timestamp
	visibleAt       Timestamp
	attemptID       string
	attemptNumber   uint64
	// session is the number of the session lock under which the message was handed out
	// last, zero if under none. It is in flight as long as its group has that lock, and
	// visibleAt is when it was received.
	session  uint64
	deferred bool // handed out by number only
}

// delivered reports whether this queue has handed the message out.
func (m *Message) delivered() bool { return m.delivery != nil && m.delivery.count > 0 }

// wasScheduled reports whether this queue enqueued the message at its scheduled time, with
// the delivery that a scheduled message has, and has not handed it out yet. A message that
// was moved here was received before.
func (m *Message) wasScheduled() bool {
	return m.delivery != nil && m.delivery.count == 0 && m.delivery.firstReceivedAt == 0
}

// handOuts is how often this queue has handed the message out and not taken it back.
func (m *Message) handOuts() int64 {
	if m.delivery == nil {
		return 0
	}
	return int64(m.delivery.count - m.delivery.takenBack)
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
func (m *Message) id(k statehash.Key, incarnation uint64) MessageID {
	if m.extra != nil && m.extra.id != (MessageID{}) {
		return m.extra.id
	}
	return identifier.NewMessageID(k, incarnation, m.sequence)
}

// bodyDigest is the hash over a body, which a stored one brings along.
func bodyDigest(k statehash.Key, body Body) uint64 {
	if body.Stored() {
		return body.Digest()
	}
	return k.HashText(body.String())
}

// seal computes contentHash; called once when the message is made.
func (m *Message) seal(k statehash.Key) {
	var buf [256]byte
	r := append(statehash.Record(buf[:0]), statehash.KindContent).Num(bodyDigest(k, m.body)).Num(uint64(m.body.Len()))
	r = r.Text(m.group).Text(m.deduplicationID).Text(*m.sender)
	if e := m.extra; e != nil {
		r = append(r, e.id[:]...)
		r = r.Text(e.traceHeader).Text(e.deadLetterSource).Flag(e.keepsAge)
		for _, a := range e.attributes {
			r = r.Text(a.Name).Text(a.DataType).Text(a.Value)
		}
		if e.partition != "" {
			r = r.Text(e.partition)
		}
		if p := e.published; p != nil {
			r = append(r, statehash.KindPublication).Num(p.publication.Hash()).Text(*p.subscription).Flag(p.raw).Flag(p.replayed)
		}
	}
	m.contentHash = k.Hash(r)
}

// sum is the record hash of the message.
func (m *Message) sum(k statehash.Key, incarnation uint64, scheduled bool) statehash.Sum {
	var buf [128]byte
	r := append(statehash.Record(buf[:0]), statehash.KindMessage).Num(incarnation).Num(m.sequence).Num(m.contentHash)
	r = r.Time(m.sentAt).Flag(scheduled)
	if d := m.delivery; d != nil {
		r = r.Num(uint64(d.count)).Num(uint64(d.receiveCount)).Time(d.firstReceivedAt)
		r = r.Time(d.receivedAt).Time(d.visibleAt).Num(d.attemptNumber)
		if d.session != 0 || d.takenBack != 0 {
			r = r.Num(d.session).Num(uint64(d.takenBack))
		}
		if d.deferred {
			r = r.Flag(true)
		}
	}
	return k.Sum(r)
}

// messageMap has messages by sequence number, in packed form if they were not changed
// for a while. Texts of a message from it may share the memory of 64 messages: what
// outlives the message keeps a copy.
type messageMap = pages.Map[Message, messageCodec]

// detached is a copy of m that shares no memory with other messages of its queue.
func (m *Message) detached() *Message {
	c := *m
	c.group, c.deduplicationID = strings.Clone(m.group), strings.Clone(m.deduplicationID)
	if !m.body.Stored() {
		c.body = content.NewBody(strings.Clone(m.body.String()))
	}
	if m.extra != nil {
		e := *m.extra
		e.traceHeader, e.deadLetterSource, e.partition = strings.Clone(e.traceHeader), strings.Clone(e.deadLetterSource), strings.Clone(e.partition)
		e.attributes = slices.Clone(e.attributes)
		for i := range e.attributes {
			a := &e.attributes[i]
			a.Name, a.DataType, a.Value = strings.Clone(a.Name), strings.Clone(a.DataType), strings.Clone(a.Value)
		}
		c.extra = &e
	}
	return &c
}

// messageCodec packs messages: what a message has in few bytes, without pointers. The
// form exists in memory only.
type messageCodec struct{}

// What a packed message has.
const (
	packedBody     = 1 << iota // in a Store
	packedDelivery             // receive state
	packedExtra
	packedID
	packedKeepsAge
	packedDeferred
)

// Append packs a message, but for one that shares a publication with others.
func (messageCodec) Append(dst []byte, m *Message, shared *pages.Shared) ([]byte, bool) {
	if m.published() != nil {
		return nil, false
	}
	dst = append(dst, m.packedFlags())
	dst = binary.AppendVarint(dst, int64(m.sentAt))
	dst = binary.LittleEndian.AppendUint64(dst, m.contentHash)
	dst = binary.AppendUvarint(dst, shared.Index(m.sender))
	dst = pages.AppendText(pages.AppendText(dst, m.group), m.deduplicationID)
	if m.body.Stored() {
		at := m.body.Place()
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(at.Segment)), uint64(at.Offset))
		dst = binary.AppendUvarint(dst, uint64(m.body.Len()))
		dst = binary.LittleEndian.AppendUint64(dst, m.body.Digest())
	} else {
		dst = pages.AppendText(dst, m.body.String())
	}
	if d := m.delivery; d != nil {
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(d.count)), uint64(d.takenBack))
		dst = binary.AppendVarint(binary.AppendVarint(dst, d.receiveCount), int64(d.firstReceivedAt))
		dst = binary.AppendVarint(binary.AppendVarint(dst, int64(d.receivedAt)), int64(d.visibleAt))
		dst = binary.AppendUvarint(pages.AppendText(dst, d.attemptID), d.attemptNumber)
		dst = binary.AppendUvarint(dst, d.session)
	}
	if e := m.extra; e != nil {
		if e.id != (MessageID{}) {
			dst = append(dst, e.id[:]...)
		}
		for _, text := range [...]string{e.traceHeader, e.deadLetterSource, e.partition} {
			dst = pages.AppendText(dst, text)
		}
		dst = binary.AppendUvarint(dst, uint64(len(e.attributes)))
		for _, a := range e.attributes {
			dst = pages.AppendText(pages.AppendText(pages.AppendText(dst, a.Name), a.DataType), a.Value)
		}
	}
	return dst, true
}

func (m *Message) packedFlags() (flags byte) {
	set := func(flag byte, is bool) {
		if is {
			flags |= flag
		}
	}
	set(packedBody, m.body.Stored())
	set(packedDelivery, m.delivery != nil)
	set(packedDeferred, m.deferred())
	if e := m.extra; e != nil {
		set(packedExtra, true)
		set(packedID, e.id != MessageID{})
		set(packedKeepsAge, e.keepsAge)
	}
	return flags
}

// Decode is the inverse of Append.
func (messageCodec) Decode(record string, sequence uint64, shared pages.Shared, m *Message) {
	f := pages.FieldsOf(record)
	flags := f.Byte()
	m.sequence, m.sentAt, m.contentHash = sequence, Timestamp(f.Varint()), f.Fixed64()
	m.sender = shared[f.Uvarint()]
	m.group, m.deduplicationID = f.Text(), f.Text()
	if flags&packedBody != 0 {
		at := content.Place{Segment: uint32(f.Uvarint()), Offset: uint32(f.Uvarint())}
		m.body = content.StoredBody(at, uint32(f.Uvarint()), f.Fixed64())
	} else {
		m.body = content.NewBody(f.Text())
	}
	if flags&packedDelivery != 0 {
		m.delivery = &delivery{
			count: uint32(f.Uvarint()), takenBack: uint32(f.Uvarint()),
			receiveCount: f.Varint(), firstReceivedAt: Timestamp(f.Varint()),
			receivedAt: Timestamp(f.Varint()), visibleAt: Timestamp(f.Varint()),
			attemptID: f.Text(), attemptNumber: f.Uvarint(), session: f.Uvarint(),
			deferred: flags&packedDeferred != 0,
		}
	}
	if flags&packedExtra != 0 {
		m.extra = decodeExtra(&f, flags)
	}
}

func decodeExtra(f *pages.Fields, flags byte) *messageExtra {
	e := &messageExtra{keepsAge: flags&packedKeepsAge != 0}
	if flags&packedID != 0 {
		copy(e.id[:], f.Bytes(len(e.id)))
	}
	e.traceHeader, e.deadLetterSource, e.partition = f.Text(), f.Text(), f.Text()
	if n := f.Uvarint(); n > 0 {
		e.attributes = make([]MessageAttribute, n)
	}
	for i := range e.attributes {
		e.attributes[i] = MessageAttribute{Name: f.Text(), DataType: f.Text(), Value: f.Text()}
	}
	return e
}

// The size of the state is an estimate of the memory it takes, kept as a running
// sum: what clients sent, and for each record what its structures and its share
// of the indexes cost on a 64-bit machine, with room to spare over what the
// benchmarks of this package show at a million of them.
// It is not part of the state hash: two replicas may measure differently.
const (
	messageOverhead       = 96  // packed message, its places in indexes
	openOverhead          = 192 // on top for one that is not packed
	deliveryOverhead      = 96  // receive state of a message
	extraOverhead         = 128 // what few messages have
	attributeOverhead     = 48
	publishedOverhead     = 64 // beside the publication, which counts once for all that share it
	deduplicationOverhead = 64 // one remembered id, whatever its length
	attemptOverhead       = 240
	queueOverhead         = 4 << 10
)

// size estimates the memory of one message.
func (m *Message) size() int64 {
	n := messageOverhead + m.body.MemoryLen() + len(m.group) + len(m.deduplicationID)
	if m.delivery != nil {
		n += deliveryOverhead + len(m.delivery.attemptID)
	}
	if e := m.extra; e != nil {
		n += extraOverhead + len(e.traceHeader) + len(e.deadLetterSource) + len(e.partition)
		if e.published != nil {
			n += publishedOverhead
		}
		for _, a := range e.attributes {
			n += attributeOverhead + len(a.Name) + len(a.DataType) + len(a.Value)
		}
	}
	return int64(n)
}

// size estimates the memory of a queue with all it holds.
func (q *Queue) size() int64 {
	return queueOverhead + q.sums.messageBytes +
		int64(q.messages.OpenMost()+q.aside.scheduled.OpenMost()+q.aside.deferred.OpenMost())*openOverhead +
		int64(q.deduplication.Len())*deduplicationOverhead +
		int64(q.attempts.byID.Len())*attemptOverhead +
		q.groups.sessions.Bytes()
}

// StateBytes estimates the memory that all queues and topics take.
func (v View) StateBytes() int64 {
	return v.b.bytes + v.b.topics.Bytes() + v.b.outbox.Bytes() + v.b.publications.Bytes() + v.b.access.Bytes()
}
