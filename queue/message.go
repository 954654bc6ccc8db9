package queue

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/packedmap"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Message is one stored message. It never changes once stored, because snapshots share the
// pointers: every change stores a new value.
type Message struct {
	sequence        uint64
	body            Body
	group           string // MessageGroupId, empty if none
	deduplicationID string
	sentAt          Timestamp
	contentHash     uint64 // hash of the immutable fields
	sender          *string
	extra           *messageExtra // nil for most messages
	delivery        *delivery     // nil until delayed, received or moved
	hashed          statehash.Sum // the record hash in Queue.sums.messages; zero: computed on demand
}

// messageBlocks allocates the messages of a queue.
type messageBlocks struct {
	plain     packedmap.Blocks[Message]
	delivered packedmap.Blocks[deliveredMessage]
}

// deliveredMessage allocates a message together with its receive state.
type deliveredMessage struct {
	Message
	state delivery
}

// messageExtra holds rare fields.
type messageExtra struct {
	id               MessageID // zero: derived from incarnation and sequence
	attributes       []MessageAttribute
	traceHeader      string
	deadLetterSource string
	// partition is the PartitionKey, which a move task uses to remember the message again.
	partition string
	// timeToLive counts from sentAt, zero: the retention of the queue alone decides.
	timeToLive logtime.Duration
	// hops counts the times that the message was forwarded.
	hops uint8
	// keepsAge marks a message moved with its sentAt to a standard dead-letter queue: sentAt is out
	// of order there.
	keepsAge bool
	encoded  *Encoded // nil for text; of a published message, only the changes
	// published is set if a topic delivered the message; body and attributes are then empty.
	published *publishedMessage
}

// delivery is the receive state of a message. If count is above zero, visibleAt ends the visibility
// timeout; otherwise it ends the delay on a standard queue.
type delivery struct {
	count           uint32 // deliveries by this queue; part of the receipt handle
	takenBack       uint32 // deliveries that do not count: of released session locks, or given back
	receiveCount    int64  // ApproximateReceiveCount, kept by a dead-letter move
	firstReceivedAt Timestamp
	receivedAt      Timestamp
	visibleAt       Timestamp
	attemptID       string
	attemptNumber   uint64
	// session is the number of the session lock of the last delivery, zero if none. The message is
	// in flight as long as its group has that lock; visibleAt is then the time of the receive.
	session  uint64
	deferred bool // delivered by sequence number only
}

// delivered reports whether this queue delivered the message.
func (m *Message) delivered() bool { return m.delivery != nil && m.delivery.count > 0 }

// wasScheduled reports whether the message was scheduled in this queue and not delivered since. A
// moved message was received before, so it does not count.
func (m *Message) wasScheduled() bool {
	return m.delivery != nil && m.delivery.count == 0 && m.delivery.firstReceivedAt == 0
}

// handOuts counts deliveries by this queue that count for redrive.
func (m *Message) handOuts() int64 {
	if m.delivery == nil {
		return 0
	}
	return int64(m.delivery.count - m.delivery.takenBack)
}

// receiveCount counts receives, including those before a move.
func (m *Message) receiveCount() int64 {
	if m.delivery == nil {
		return 0
	}
	return m.delivery.receiveCount
}

// withDelivery returns a copy of m with another receive state.
func (m *Message) withDelivery(d *delivery) *Message {
	c := *m
	c.delivery = d
	return &c
}

// id returns the MessageId, derived unless a move stored one.
func (m *Message) id(k statehash.Key, incarnation uint64) MessageID {
	if m.extra != nil && m.extra.id != (MessageID{}) {
		return m.extra.id
	}
	return identifier.NewMessageID(k, incarnation, m.sequence)
}

// bodyDigest returns the hash of a body; a stored body carries its hash.
func bodyDigest(k statehash.Key, body Body) uint64 {
	if body.Stored() {
		return body.Digest()
	}
	return k.HashText(body.String())
}

// seal computes contentHash. Call it once, when the message is made.
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
		if e.timeToLive != 0 {
			r = r.Num(uint64(e.timeToLive))
		}
		if e.hops != 0 {
			r = append(r, statehash.KindHops, e.hops)
		}
		if p := e.published; p != nil {
			r = append(r, statehash.KindPublication).Num(p.publication.Hash()).Text(*p.subscription).Flag(p.raw).Flag(p.replayed)
			if len(p.changes) > 0 {
				r = (&Encoded{Changes: p.changes}).AppendTo(append(r, statehash.KindRuleChanges))
			}
		}
		r = e.encoded.AppendTo(r)
	}
	m.contentHash = k.Hash(r)
}

// sum returns the record hash of the message.
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

// messageMap holds messages by sequence number and packs those that did not change for a while.
// Texts of a packed message share memory with 63 others: clone them before you keep them longer.
type messageMap = packedmap.Map[Message, messageCodec]

// detached returns a copy of m that shares no memory with other messages.
func (m *Message) detached() *Message {
	c := *m
	c.group, c.deduplicationID = strings.Clone(m.group), strings.Clone(m.deduplicationID)
	if !m.body.Stored() {
		c.body = message.NewBody(strings.Clone(m.body.String()))
	}
	if m.extra != nil {
		e := *m.extra
		e.traceHeader, e.deadLetterSource, e.partition = strings.Clone(e.traceHeader), strings.Clone(e.deadLetterSource),
			strings.Clone(e.partition)
		e.attributes = slices.Clone(e.attributes)
		for i := range e.attributes {
			a := &e.attributes[i]
			a.Name, a.DataType, a.Value = strings.Clone(a.Name), strings.Clone(a.DataType), strings.Clone(a.Value)
		}
		e.encoded = e.encoded.Clone()
		c.extra = &e
	}
	return &c
}

// messageCodec packs messages into bytes without pointers. The format exists in memory only.
type messageCodec struct{}

// Flags of a packed message.
const (
	packedBody     = 1 << iota // in a Store
	packedDelivery             // receive state
	packedExtra
	packedID
	packedKeepsAge
	packedDeferred
	packedEncoded
)

// Append packs a message. It refuses one with a publication, which is shared.
func (messageCodec) Append(dst []byte, m *Message, shared *packedmap.Shared) ([]byte, bool) {
	if m.published() != nil {
		return nil, false
	}
	dst = append(dst, m.packedFlags())
	dst = binary.AppendVarint(dst, int64(m.sentAt))
	dst = binary.LittleEndian.AppendUint64(dst, m.contentHash)
	dst = binary.AppendUvarint(dst, shared.Index(m.sender))
	dst = packedmap.AppendText(packedmap.AppendText(dst, m.group), m.deduplicationID)
	if m.body.Stored() {
		at := m.body.Place()
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(at.Segment)), uint64(at.Offset))
		dst = binary.AppendUvarint(dst, uint64(m.body.Len()))
		dst = binary.LittleEndian.AppendUint64(dst, m.body.Digest())
	} else {
		dst = packedmap.AppendText(dst, m.body.String())
	}
	if d := m.delivery; d != nil {
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(d.count)), uint64(d.takenBack))
		dst = binary.AppendVarint(binary.AppendVarint(dst, d.receiveCount), int64(d.firstReceivedAt))
		dst = binary.AppendVarint(binary.AppendVarint(dst, int64(d.receivedAt)), int64(d.visibleAt))
		dst = binary.AppendUvarint(packedmap.AppendText(dst, d.attemptID), d.attemptNumber)
		dst = binary.AppendUvarint(dst, d.session)
	}
	if e := m.extra; e != nil {
		if e.id != (MessageID{}) {
			dst = append(dst, e.id[:]...)
		}
		for _, text := range [...]string{e.traceHeader, e.deadLetterSource, e.partition} {
			dst = packedmap.AppendText(dst, text)
		}
		dst = append(binary.AppendVarint(dst, int64(e.timeToLive)), e.hops)
		dst = binary.AppendUvarint(dst, uint64(len(e.attributes)))
		for _, a := range e.attributes {
			dst = packedmap.AppendText(packedmap.AppendText(packedmap.AppendText(dst, a.Name), a.DataType), a.Value)
		}
		if e.encoded != nil {
			dst = appendEncoded(dst, e.encoded)
		}
	}
	return dst, true
}

func appendEncoded(dst []byte, e *Encoded) []byte {
	dst = packedmap.AppendText(append(dst, byte(e.Format)), e.Sections)
	dst = binary.AppendUvarint(dst, uint64(len(e.Changes)))
	for i := range e.Changes {
		c := &e.Changes[i]
		dst = packedmap.AppendText(packedmap.AppendText(append(dst, byte(c.Scope)), c.Name), c.Value)
	}
	return dst
}

func decodeEncoded(f *packedmap.Fields) *Encoded {
	e := &Encoded{Format: message.Format(f.Byte()), Sections: f.Text()}
	if n := f.Uvarint(); n > 0 {
		e.Changes = make([]PropertyChange, n)
	}
	for i := range e.Changes {
		e.Changes[i] = PropertyChange{Scope: message.Scope(f.Byte()), Name: f.Text(), Value: f.Text()}
	}
	return e
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
		set(packedEncoded, e.encoded != nil)
	}
	return flags
}

// Decode is the inverse of Append.
func (messageCodec) Decode(record string, sequence uint64, shared packedmap.Shared, m *Message) {
	f := packedmap.FieldsOf(record)
	flags := f.Byte()
	m.sequence, m.sentAt, m.contentHash = sequence, Timestamp(f.Varint()), f.Fixed64()
	m.sender = shared[f.Uvarint()]
	m.group, m.deduplicationID = f.Text(), f.Text()
	if flags&packedBody != 0 {
		at := message.Place{Segment: uint32(f.Uvarint()), Offset: uint32(f.Uvarint())}
		m.body = message.StoredBody(at, uint32(f.Uvarint()), f.Fixed64())
	} else {
		m.body = message.NewBody(f.Text())
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

func decodeExtra(f *packedmap.Fields, flags byte) *messageExtra {
	e := &messageExtra{keepsAge: flags&packedKeepsAge != 0}
	if flags&packedID != 0 {
		copy(e.id[:], f.Bytes(len(e.id)))
	}
	e.traceHeader, e.deadLetterSource, e.partition = f.Text(), f.Text(), f.Text()
	e.timeToLive, e.hops = logtime.Duration(f.Varint()), f.Byte()
	if n := f.Uvarint(); n > 0 {
		e.attributes = make([]MessageAttribute, n)
	}
	for i := range e.attributes {
		e.attributes[i] = MessageAttribute{Name: f.Text(), DataType: f.Text(), Value: f.Text()}
	}
	if flags&packedEncoded != 0 {
		e.encoded = decodeEncoded(f)
	}
	return e
}

// Estimated memory per record on a 64-bit machine: its structures and index entries, above what the
// benchmarks of this package measure at a million records. The size of the state is the sum of
// these and the content. It is not part of the state hash: replicas may differ.
const (
	messageOverhead       = 96  // packed message and index entries
	openOverhead          = 192 // added for an unpacked message
	deliveryOverhead      = 96  // receive state of a message
	extraOverhead         = 128 // rare fields
	attributeOverhead     = 48
	encodedOverhead       = 64
	publishedOverhead     = 64 // without the shared publication
	deduplicationOverhead = 64 // independent of the id's length
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
			n += publishedOverhead + attributeOverhead*len(e.published.changes) + int(e.published.changesBytes())
		}
		for _, a := range e.attributes {
			n += attributeOverhead + len(a.Name) + len(a.DataType) + len(a.Value)
		}
		if e.encoded != nil {
			n += encodedOverhead + attributeOverhead*len(e.encoded.Changes) + int(e.encoded.Size())
		}
	}
	return int64(n)
}

// size estimates the memory of a queue and its records.
func (q *Queue) size() int64 {
	return queueOverhead + q.sums.messageBytes +
		int64(q.messages.OpenMost()+q.scheduled.OpenMost()+q.deferred.OpenMost())*openOverhead +
		int64(q.deduplication.Len())*deduplicationOverhead +
		int64(q.attempts.byID.Len())*attemptOverhead +
		q.groups.sessions.Bytes()
}

// StateBytes estimates the memory of the whole state.
func (v View) StateBytes() int64 {
	return v.b.bytes + v.b.topics.Bytes() + v.b.outbox.Bytes() + v.b.publications.Bytes() + v.b.access.Bytes()
}
