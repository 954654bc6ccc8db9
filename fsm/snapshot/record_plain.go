package snapshot

import (
	"encoding/binary"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/deduplication"
)

// Messages and remembered ids are nearly all of the records of a large state. Those that
// have what most of them have are written and read by hand, in the bytes of the protobuf
// message, for a fifth of the work; the others, and what is not well-formed, by the library.

// plainMessage reports whether appendMessage can write a message.
func plainMessage(r *queue.MessageRecord) bool {
	return len(r.Attributes) == 0 && r.Published.PublicationID == (queue.MessageID{})
}

func appendNumber[N ~uint64 | ~int64 | ~uint32](dst []byte, field protowire.Number, n N) []byte {
	if n == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), uint64(n))
}

func appendFlag(dst []byte, field protowire.Number, is bool) []byte {
	if !is {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), 1)
}

func appendText(dst []byte, field protowire.Number, text string) []byte {
	if text == "" {
		return dst
	}
	return protowire.AppendString(protowire.AppendTag(dst, field, protowire.BytesType), text)
}

// appendMessage appends an fsmpb.MessageRecord.
func appendMessage(dst []byte, r *queue.MessageRecord) []byte {
	dst = appendNumber(dst, 1, r.Sequence)
	if !r.Body.Stored() {
		dst = appendText(dst, 2, r.Body.String())
	}
	if r.MessageID != (queue.MessageID{}) {
		dst = protowire.AppendBytes(protowire.AppendTag(dst, 3, protowire.BytesType), r.MessageID[:])
	}
	dst = appendText(dst, 4, r.GroupID)
	dst = appendText(dst, 5, r.DeduplicationID)
	dst = appendText(dst, 6, r.SenderID)
	dst = appendText(dst, 7, r.TraceHeader)
	dst = appendText(dst, 9, r.DeadLetterSource)
	dst = appendNumber(dst, 10, r.SentAt)
	dst = appendNumber(dst, 11, r.VisibleAt)
	dst = appendFlag(dst, 12, r.KeepsAge)
	dst = appendFlag(dst, 13, r.Scheduled)
	dst = appendFlag(dst, 14, r.Timed)
	dst = appendNumber(dst, 15, r.Deliveries)
	dst = appendNumber(dst, 16, r.ReceiveCount)
	dst = appendNumber(dst, 17, r.FirstReceivedAt)
	dst = appendNumber(dst, 18, r.ReceivedAt)
	dst = appendText(dst, 19, r.AttemptID)
	dst = appendNumber(dst, 20, r.AttemptNumber)
	dst = appendText(dst, 21, r.PartitionKey)
	dst = appendNumber(dst, 30, r.SessionLock)
	dst = appendNumber(dst, 31, r.TakenBack)
	dst = appendFlag(dst, 32, r.Deferred)
	if r.Body.Stored() {
		dst = appendPlace(dst, r.Body)
	}
	return dst
}

// appendPlace appends the fsmpb.StoredBody of a message.
func appendPlace(dst []byte, body queue.Body) []byte {
	var buffer [32]byte
	at := body.Place()
	place := appendNumber(buffer[:0], 1, at.Segment)
	place = appendNumber(place, 2, at.Offset)
	place = appendNumber(place, 3, uint32(body.Len()))
	if body.Digest() != 0 {
		place = protowire.AppendFixed64(protowire.AppendTag(place, 4, protowire.Fixed64Type), body.Digest())
	}
	return protowire.AppendBytes(protowire.AppendTag(dst, 33, protowire.BytesType), place)
}

// appendDeduplication appends an fsmpb.DeduplicationRecord.
func appendDeduplication(dst []byte, r *queue.DeduplicationRecord) []byte {
	dst = appendNumber(dst, 1, r.Order)
	dst = protowire.AppendBytes(protowire.AppendTag(dst, 2, protowire.BytesType), r.Key[:])
	dst = appendNumber(dst, 3, uint32(r.Scope))
	dst = appendNumber(dst, 4, r.AcceptedAt)
	return appendNumber(dst, 5, r.Sequence)
}

// plainField is one field of a protobuf message: a number, or bytes.
type plainField struct {
	field  protowire.Number
	kind   protowire.Type
	number uint64
	bytes  []byte
}

// nextField splits the first field off. It knows what appendMessage writes; ok is false
// for all else.
func nextField(data []byte) (f plainField, rest []byte, ok bool) {
	tag, n := binary.Uvarint(data)
	if n <= 0 {
		return f, nil, false
	}
	f.field, f.kind, data = protowire.Number(tag>>3), protowire.Type(tag&7), data[n:]
	switch f.kind {
	case protowire.VarintType:
		f.number, n = binary.Uvarint(data)
	case protowire.Fixed64Type:
		f.number, n = protowire.ConsumeFixed64(data)
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(data)
	default:
		n = -1
	}
	if n <= 0 {
		return f, nil, false
	}
	return f, data[n:], true
}

// plainMessageRecord reads an fsmpb.MessageRecord that appendMessage wrote into r, which is
// that of the message before: most have the same sender.
func plainMessageRecord(r *queue.MessageRecord, data []byte) (ok bool) {
	sender := r.SenderID
	*r = queue.MessageRecord{}
	for len(data) > 0 {
		var f plainField
		if f, data, ok = nextField(data); !ok {
			return false
		}
		switch f.kind {
		case protowire.VarintType:
			ok = plainNumber(r, f.field, f.number)
		case protowire.BytesType:
			ok = plainText(r, f.field, f.bytes, sender)
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

func plainNumber(r *queue.MessageRecord, field protowire.Number, n uint64) bool {
	switch field {
	case 1:
		r.Sequence = queue.SequenceNumber(n)
	case 10:
		r.SentAt = queue.Timestamp(n)
	case 11:
		r.VisibleAt = queue.Timestamp(n)
	case 12:
		r.KeepsAge = n != 0
	case 13:
		r.Scheduled = n != 0
	case 14:
		r.Timed = n != 0
	case 15:
		r.Deliveries = uint32(n)
	case 16:
		r.ReceiveCount = int64(n)
	case 17:
		r.FirstReceivedAt = queue.Timestamp(n)
	case 18:
		r.ReceivedAt = queue.Timestamp(n)
	case 20:
		r.AttemptNumber = n
	case 30:
		r.SessionLock = n
	case 31:
		r.TakenBack = uint32(n)
	case 32:
		r.Deferred = n != 0
	default:
		return false
	}
	return true
}

func plainText(r *queue.MessageRecord, field protowire.Number, text []byte, sender string) bool {
	if field == 3 {
		return copy(r.MessageID[:], text) == len(r.MessageID) && len(text) == len(r.MessageID)
	}
	if field == 33 {
		body, ok := plainPlace(text)
		ok = ok && r.Body.Len() == 0
		r.Body = body
		return ok
	}
	if !utf8.Valid(text) {
		return false
	}
	switch field {
	case 2:
		if r.Body.Stored() {
			return false
		}
		r.Body = content.NewBody(string(text))
	case 4:
		r.GroupID = string(text)
	case 5:
		r.DeduplicationID = string(text)
	case 6:
		if r.SenderID = sender; string(text) != sender {
			r.SenderID = string(text)
		}
	case 7:
		r.TraceHeader = string(text)
	case 9:
		r.DeadLetterSource = string(text)
	case 19:
		r.AttemptID = string(text)
	case 21:
		r.PartitionKey = string(text)
	default:
		return false
	}
	return true
}

func plainPlace(data []byte) (body queue.Body, ok bool) {
	var at content.Place
	var size uint32
	var digest uint64
	for len(data) > 0 {
		var f plainField
		if f, data, ok = nextField(data); !ok {
			return body, false
		}
		switch {
		case f.field == 1 && f.kind == protowire.VarintType:
			at.Segment = uint32(f.number)
		case f.field == 2 && f.kind == protowire.VarintType:
			at.Offset = uint32(f.number)
		case f.field == 3 && f.kind == protowire.VarintType:
			size = uint32(f.number)
		case f.field == 4 && f.kind == protowire.Fixed64Type:
			digest = f.number
		default:
			return body, false
		}
	}
	return content.StoredBody(at, size, digest), at.Segment != 0 && size != 0
}

// plainDeduplicationRecord reads an fsmpb.DeduplicationRecord that appendDeduplication
// wrote.
func plainDeduplicationRecord(data []byte) (r queue.DeduplicationRecord, ok bool) {
	for len(data) > 0 {
		var f plainField
		if f, data, ok = nextField(data); !ok {
			return r, false
		}
		switch {
		case f.field == 2 && f.kind == protowire.BytesType && len(f.bytes) == len(r.Key):
			copy(r.Key[:], f.bytes)
		case f.kind != protowire.VarintType:
			return r, false
		case f.field == 1:
			r.Order = f.number
		case f.field == 3 && f.number <= 0xff:
			r.Scope = deduplication.Scope(f.number)
		case f.field == 4:
			r.AcceptedAt = queue.Timestamp(f.number)
		case f.field == 5:
			r.Sequence = queue.SequenceNumber(f.number)
		default:
			return r, false
		}
	}
	return r, true
}
