package servicebus

import (
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/rendition"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

// States of messages in the annotation of a peeked message.
const (
	stateActive    = 0
	stateDeferred  = 1
	stateScheduled = 2
)

// rendered is a message for a client.
type rendered struct {
	*queue.ReceivedMessage
	deliveries  int64 // before this one
	lockedUntil queue.Timestamp
	lockToken   []byte // as an annotation of the delivery; nil: none
	state       int32
	scheduledAt queue.Timestamp
}

// encode returns a message with a new header and the annotations of the broker. Everything else is as the
// sender sent it.
func (r *rendered) encode() ([]byte, error) {
	stored := rendition.Message{Body: r.Body.String(), Attributes: r.Attributes, Encoded: r.Encoded}
	sections, body := stored.AMQP()
	text := make([]byte, 0, len(sections)+len(body))
	m, err := wire.ReadMessage(append(append(text, sections...), body...))
	if err != nil {
		return nil, err
	}
	header, err := wire.ReadHeader(m.Header)
	if err != nil {
		return nil, err
	}
	header.DeliveryCount = uint32(max(r.deliveries, 0)) //nolint:gosec // counts are small
	b := header.Append(make([]byte, 0, len(sections)+len(body)+256))
	if r.lockToken != nil {
		var mark wire.Mark
		b, mark = wire.BeginMap(wire.AppendDescriptor(b, wire.CodeDeliveryAnnotations))
		b = wire.AppendUUID(wire.AppendSymbol(b, annotationLockToken), [16]byte(r.lockToken))
		b = mark.End(b)
	}
	b = r.appendAnnotations(b, m.MessageAnnotations)
	if m.Properties.IsNull() {
		b = r.appendProperties(b)
	}
	b = append(b, m.Bare...)
	if !m.Footer.IsNull() {
		b = append(wire.AppendDescriptor(b, wire.CodeFooter), m.Footer...)
	}
	return b, nil
}

// appendProperties appends the ids of a message that has no properties.
func (r *rendered) appendProperties(b []byte) []byte {
	id := r.DeduplicationID
	if id == "" && (r.Encoded == nil || r.Encoded.Format != message.FormatAMQP) {
		id = r.MessageID.String()
	}
	var p wire.Properties
	if id != "" {
		p.MessageID = wire.AppendString(nil, id)
	}
	if r.GroupID != "" {
		p.GroupID = wire.Some(sessionOf(r.GroupID))
	}
	if p.MessageID == nil && !p.GroupID.Set {
		return b
	}
	return p.Append(b)
}

// brokers are the annotations that only the broker sets.
var brokers = map[string]bool{
	annotationSequence: true, annotationEnqueued: true, annotationLockedUntil: true, annotationState: true,
	annotationDeadLetterFrom: true, annotationScheduled: true,
}

// appendAnnotations appends the sender's annotations and those of the broker.
func (r *rendered) appendAnnotations(b []byte, sent wire.Value) []byte {
	b, mark := wire.BeginMap(wire.AppendDescriptor(b, wire.CodeMessageAnnotations))
	for key, value := range sent.Map() {
		if name, ok := key.Symbol(); !ok || !brokers[name] {
			b = append(append(b, key...), value...)
		}
	}
	b = wire.AppendTimestamp(wire.AppendSymbol(b, annotationEnqueued), int64(r.SentAt))
	b = wire.AppendLong(wire.AppendSymbol(b, annotationSequence), int64(r.Sequence)) //nolint:gosec // below 2^63
	if r.lockedUntil != 0 {
		b = wire.AppendTimestamp(wire.AppendSymbol(b, annotationLockedUntil), int64(r.lockedUntil))
	}
	b = wire.AppendInt(wire.AppendSymbol(b, annotationState), r.state)
	if at := sent.Lookup(annotationScheduled); !at.IsNull() {
		b = append(wire.AppendSymbol(b, annotationScheduled), at...)
	} else if r.scheduledAt != 0 {
		b = wire.AppendTimestamp(wire.AppendSymbol(b, annotationScheduled), int64(r.scheduledAt))
	}
	if source := r.DeadLetterSource; source != "" {
		b = wire.AppendString(wire.AppendSymbol(b, annotationDeadLetterFrom), pathOf(source))
	}
	return mark.End(b)
}

// pathOf returns the path of the entity with a queue, or the name of the queue if it has none.
func pathOf(qualified string) string {
	name := access.PlainName(qualified)
	if path, ok := entity.OfQueue(name); ok {
		return path
	}
	return strings.TrimSuffix(name, ".fifo")
}

// deliveryTag returns a lock token as the tag of a delivery: a GUID of .NET, whose first three groups are
// little-endian.
func deliveryTag(token [16]byte) []byte {
	t := token
	t[0], t[1], t[2], t[3] = t[3], t[2], t[1], t[0]
	t[4], t[5] = t[5], t[4]
	t[6], t[7] = t[7], t[6]
	return t[:]
}
