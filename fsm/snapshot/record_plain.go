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
	text   string
}

// nextField splits the first field off. It knows what appendMessage writes, of which no tag
// has more than two bytes; ok is false for all else. A large state is some hundred million
// fields: what it returns stays in registers.
func nextField(data string) (f plainField, rest string, ok bool) {
	tag, n := uint32(data[0]), 1
	if tag >= 0x80 {
		if len(data) == 1 || data[1] >= 0x80 {
			return f, "", false
		}
		tag, n = tag&0x7f|uint32(data[1])<<7, 2
	}
	f.field, f.kind, data = protowire.Number(tag>>3), protowire.Type(tag&7), data[n:]
	if f.kind == protowire.Fixed64Type {
		if len(data) < 8 {
			return f, "", false
		}
		f.number = fixed64(data)
		return f, data[8:], true
	}
	number, n := uvarint(data)
	switch {
	case n == 0:
		return f, "", false
	case f.kind == protowire.VarintType:
		f.number = number
		return f, data[n:], true
	case f.kind == protowire.BytesType && number <= uint64(len(data)-n):
		f.text = data[n:][:number]
		return f, data[n+int(number):], true
	}
	return f, "", false
}

// uvarint is binary.Uvarint of a text; n is 0 if there is none.
func uvarint(data string) (v uint64, n int) {
	if data != "" && data[0] < 0x80 {
		return uint64(data[0]), 1
	}
	return longUvarint(data)
}

func longUvarint(data string) (v uint64, n int) {
	for i := range min(len(data), binary.MaxVarintLen64) {
		b := data[i]
		if b < 0x80 {
			if i == binary.MaxVarintLen64-1 && b > 1 {
				return 0, 0
			}
			return v | uint64(b)<<(7*i), i + 1
		}
		v |= uint64(b&0x7f) << (7 * i)
	}
	return 0, 0
}

func fixed64(data string) uint64 {
	_ = data[7]
	return uint64(data[0]) | uint64(data[1])<<8 | uint64(data[2])<<16 | uint64(data[3])<<24 |
		uint64(data[4])<<32 | uint64(data[5])<<40 | uint64(data[6])<<48 | uint64(data[7])<<56
}

// plainMessageRecord reads an fsmpb.MessageRecord that appendMessage wrote into r, whose
// texts are parts of the data.
func plainMessageRecord(r *queue.MessageRecord, data string) (ok bool) {
	*r = queue.MessageRecord{}
	var f plainField
	for data != "" {
		if f, data, ok = nextField(data); !ok {
			return false
		}
		switch f.kind {
		case protowire.VarintType:
			ok = plainNumber(r, f.field, f.number)
		case protowire.BytesType:
			ok = plainText(r, f.field, f.text)
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

func plainText(r *queue.MessageRecord, field protowire.Number, text string) bool {
	if field == 3 {
		return copy(r.MessageID[:], text) == len(r.MessageID) && len(text) == len(r.MessageID)
	}
	if field == 33 {
		body, ok := plainPlace(text)
		ok = ok && r.Body.Len() == 0
		r.Body = body
		return ok
	}
	if !utf8.ValidString(text) {
		return false
	}
	switch field {
	case 2:
		if r.Body.Stored() {
			return false
		}
		r.Body = content.NewBody(text)
	case 4:
		r.GroupID = text
	case 5:
		r.DeduplicationID = text
	case 6:
		r.SenderID = text
	case 7:
		r.TraceHeader = text
	case 9:
		r.DeadLetterSource = text
	case 19:
		r.AttemptID = text
	case 21:
		r.PartitionKey = text
	default:
		return false
	}
	return true
}

func plainPlace(data string) (body queue.Body, ok bool) {
	var at content.Place
	var size uint32
	var digest uint64
	var f plainField
	for data != "" {
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
func plainDeduplicationRecord(data string) (r queue.DeduplicationRecord, ok bool) {
	var f plainField
	for data != "" {
		if f, data, ok = nextField(data); !ok {
			return r, false
		}
		switch {
		case f.field == 2 && f.kind == protowire.BytesType && len(f.text) == len(r.Key):
			copy(r.Key[:], f.text)
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

// idsAtATime is how many remembered ids are added together: as many as the processor
// looks for in memory at the same time, and more.
const idsAtATime = 64

// deduplication reads a remembered id, which addIDs adds.
func (s *reader) deduplication(body []byte, text string) error {
	if r, plain := plainDeduplicationRecord(text); plain {
		s.ids = append(s.ids, r)
		return nil
	}
	return add(body, &s.known, deduplicationRecord, func(r queue.DeduplicationRecord) error {
		s.ids = append(s.ids, r)
		return nil
	})
}

// addIDs hands the remembered ids that were read to the restorer.
func (s *reader) addIDs() error {
	if len(s.ids) == 0 {
		return nil
	}
	take := s.restorer.AddDeduplication
	if s.last == recordTopicDeduplication {
		take = s.restorer.AddTopicDeduplication
	}
	err := malformed(take(s.ids))
	s.ids = s.ids[:0]
	return err
}
