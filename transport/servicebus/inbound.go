package servicebus

import (
	"encoding/hex"
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/rendition"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

// formatBatch is the message format of a batch: each data section has one encoded message. The other
// sections repeat those of the first message.
const formatBatch = 0x80013700

// Annotations of messages.
const (
	annotationScheduled      = "x-opt-scheduled-enqueue-time"
	annotationPartition      = "x-opt-partition-key"
	annotationSequence       = "x-opt-sequence-number"
	annotationEnqueued       = "x-opt-enqueued-time"
	annotationLockedUntil    = "x-opt-locked-until"
	annotationState          = "x-opt-message-state"
	annotationDeadLetterFrom = "x-opt-deadletter-source"
	annotationLockToken      = "x-opt-lock-token" // of a delivery

)

// content has the rules of an entity for messages.
type content struct{ needsSession bool }

// readEntries reads the messages of a transfer.
func (c *content) readEntries(payload []byte, format uint32, now int64) ([]queue.SendEntry, error) {
	if format != formatBatch {
		e, err := c.readEntry(string(payload), now)
		return []queue.SendEntry{e}, err
	}
	batch, err := wire.ReadMessage(payload)
	if err != nil {
		batch, err = wire.ReadMessage(inOrder(payload))
	}
	if err != nil {
		return nil, failure(decodeError, err.Error())
	}
	if batch.BodyCode != wire.CodeData {
		return nil, failure(decodeError, "A batch has its messages in data sections.")
	}
	var entries []queue.SendEntry
	for section := range batch.BodySections() {
		one, _ := section.Binary()
		e, err := c.readEntry(string(one), now)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// readEntry reads one message. now is in Unix milliseconds.
func (c *content) readEntry(encoded string, now int64) (e queue.SendEntry, err error) {
	sections, body, err := rendition.Split(encoded)
	if err != nil {
		sections, body, err = rendition.Split(string(inOrder([]byte(encoded))))
	}
	if err != nil {
		return e, failure(decodeError, err.Error())
	}
	m, err := wire.ReadMessage([]byte(sections))
	if err != nil {
		return e, failure(decodeError, err.Error())
	}
	header, err := wire.ReadHeader(m.Header)
	if err != nil {
		return e, failure(decodeError, err.Error())
	}
	properties, err := wire.ReadProperties(m.Properties)
	if err != nil {
		return e, failure(decodeError, err.Error())
	}
	e = queue.SendEntry{
		Body: body, Native: true,
		Encoded: &queue.Encoded{Format: message.FormatAMQP, Sections: sections},
	}
	if id := idText(properties.MessageID); id != "" {
		e.DeduplicationID, e.DeduplicationIDGiven = id, true
	}
	if g := properties.GroupID; g.Set {
		e.GroupID, e.GroupIDGiven = groupOf(g.Value), true
	} else if c.needsSession {
		return e, errNoSession
	}
	o := queue.SendOptions{TimeToLive: timeToLive(&header, &properties, now)}
	if at, ok := m.MessageAnnotations.Lookup(annotationScheduled).Timestamp(); ok && at > 0 {
		o.EnqueueAt = queue.Timestamp(at)
	}
	if key := textOf(m.MessageAnnotations.Lookup(annotationPartition)); key != "" {
		o.PartitionKey = key
	}
	if o != (queue.SendOptions{}) {
		e.Options = &o
	}
	return e, nil
}

// inOrder returns a message with its sections in the order of the standard. The SDK for JavaScript puts the
// footer before the body, and the SDK for Python delivery annotations at the end. Delivery annotations are for
// this node, which does not use them, so inOrder drops them. It leaves a message with other sections as it is.
func inOrder(encoded []byte) []byte {
	ordered := make([]byte, 0, len(encoded))
	for code := uint64(wire.CodeHeader); code <= wire.CodeFooter; code++ {
		for rest := encoded; len(rest) > 0; {
			section, behind, err := wire.Scan(rest)
			if err != nil {
				return encoded
			}
			found, _, _ := section.Descriptor()
			if found < wire.CodeHeader || found > wire.CodeFooter {
				return encoded
			}
			if found == code && code != wire.CodeDeliveryAnnotations {
				ordered = append(ordered, section...)
			}
			rest = behind
		}
	}
	return ordered
}

// timeToLive returns the time in which a message can be received, zero for no bound. A message that is
// outlived already lives for a millisecond.
func timeToLive(h *wire.Header, p *wire.Properties, now int64) logtime.Duration {
	switch {
	case h.TTL.Set:
		return logtime.Duration(max(h.TTL.Value, 1))
	case p.AbsoluteExpiryTime.Set:
		return logtime.Duration(max(p.AbsoluteExpiryTime.Value-now, 1))
	}
	return 0
}

// idText returns the text of a message id, empty for none.
func idText(v wire.Value) string {
	switch v.Kind() {
	case wire.String:
		text, _ := v.Text()
		return text
	case wire.Ulong:
		n, _ := v.Unsigned()
		return strconv.FormatUint(n, 10)
	case wire.UUID:
		id, _ := v.UUID()
		return uuidText(id)
	case wire.Binary:
		b, _ := v.Binary()
		return hex.EncodeToString(b)
	}
	return ""
}

func uuidText(id [16]byte) string {
	h := hex.EncodeToString(id[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// groupOf returns the message group of a session id.
func groupOf(session string) string {
	if session == "" {
		return message.EmptyGroup
	}
	return session
}

// sessionOf is the inverse of groupOf.
func sessionOf(group string) string {
	if group == message.EmptyGroup {
		return ""
	}
	return group
}
