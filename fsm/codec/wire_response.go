package codec

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// The answers to the three commands that every message passes are encoded and decoded
// by hand, too. The bytes are those of the library. What is decoded here is the plain
// case, of which nothing is missing, comes twice or is not known; everything else is
// left to the library. FuzzDecodeResponse compares the two.

// Numbers of the results in Response, which are written with a tag of one byte.
const (
	messagesSentNumber     = 4
	messagesReceivedNumber = 5
	entriesDoneNumber      = 6
)

// appendPlainResult appends the answer with a result of the three commands. It reports
// false for all others.
func appendPlainResult(dst []byte, result queue.Result) (appended []byte, plain bool) {
	switch r := result.(type) {
	case queue.MessagesSent:
		size := 0
		for i := range r.Entries {
			size += tagBytes + protowire.SizeBytes(sentEntryBytes(&r.Entries[i]))
		}
		dst = beginResult(dst, messagesSentNumber, size)
		for i := range r.Entries {
			dst = appendSentEntry(appendLength(dst, 1, sentEntryBytes(&r.Entries[i])), &r.Entries[i])
		}
		return dst, true
	case queue.MessagesReceived:
		size := 0
		if r.Replayed {
			size = flagBytes
		}
		for i := range r.Messages {
			size += tagBytes + protowire.SizeBytes(receivedBytes(&r.Messages[i]))
		}
		dst = beginResult(dst, messagesReceivedNumber, size)
		for i := range r.Messages {
			dst = appendReceived(appendLength(dst, 1, receivedBytes(&r.Messages[i])), &r.Messages[i])
		}
		return appendFlag(dst, 2, r.Replayed), true
	case queue.EntriesDone:
		size := 0
		for _, e := range r.Errs {
			size += tagBytes + protowire.SizeBytes(errorBytes(e))
		}
		dst = beginResult(dst, entriesDoneNumber, size)
		for _, e := range r.Errs {
			dst = appendError(appendLength(dst, 1, errorBytes(e)), e)
		}
		return dst, true
	}
	return dst, false
}

// beginResult makes room for a result of this size and writes what is before it.
func beginResult(dst []byte, number protowire.Number, size int) []byte {
	return appendLength(slices.Grow(dst, tagBytes+protowire.SizeBytes(size)), number, size)
}

// appendLength appends what is before a message of this size.
func appendLength(dst []byte, number protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.BytesType), uint64(size))
}

// errorBytes is how much appendError appends.
func errorBytes(e *queue.Error) int {
	if e == nil {
		return 0
	}
	return numberFieldBytes(int64(e.Code)) + textBytes(e.Message)
}

// appendError appends the content of an error, nothing for nil.
func appendError(dst []byte, e *queue.Error) []byte {
	if e == nil {
		return dst
	}
	return appendText(appendNumber(dst, 1, int64(e.Code)), 2, e.Message)
}

// idBytes is how much appendID appends.
func idBytes(id *queue.MessageID) int {
	if *id == (queue.MessageID{}) {
		return 0
	}
	return tagBytes + protowire.SizeBytes(len(id))
}

// appendID leaves out an id of zeros.
func appendID(dst []byte, number protowire.Number, id *queue.MessageID) []byte {
	if *id == (queue.MessageID{}) {
		return dst
	}
	return append(appendLength(dst, number, len(id)), id[:]...)
}

func flagFieldBytes(flag bool) int {
	if flag {
		return flagBytes
	}
	return 0
}

// sentEntryBytes is how much appendSentEntry appends.
func sentEntryBytes(e *queue.SentEntry) int {
	n := idBytes(&e.MessageID) + numberFieldBytes(int64(e.Sequence)) + flagFieldBytes(e.Duplicate) +
		numberFieldBytes(int64(e.FirstAcceptedAt)) + flagFieldBytes(e.FirstIsScheduled)
	if e.Err != nil {
		n += tagBytes + protowire.SizeBytes(errorBytes(e.Err))
	}
	return n
}

func appendSentEntry(dst []byte, e *queue.SentEntry) []byte {
	if e.Err != nil {
		dst = appendError(appendLength(dst, 1, errorBytes(e.Err)), e.Err)
	}
	dst = appendID(dst, 2, &e.MessageID)
	dst = appendNumber(dst, 3, int64(e.Sequence))
	dst = appendFlag(dst, 4, e.Duplicate)
	dst = appendNumber(dst, 5, int64(e.FirstAcceptedAt))
	return appendFlag(dst, 6, e.FirstIsScheduled)
}

// receivedBytes is how much appendReceived appends.
func receivedBytes(m *queue.ReceivedMessage) int {
	n := idBytes(&m.MessageID) + tagBytes + protowire.SizeBytes(len(m.Handle))
	for i := range m.Attributes {
		n += tagBytes + protowire.SizeBytes(messageAttributeBytes(&m.Attributes[i]))
	}
	n += textBytes(m.Body.String()) + textBytes(m.SenderID) + textBytes(m.GroupID) + textBytes(m.DeduplicationID) +
		textBytes(m.TraceHeader) + textBytes(m.DeadLetterSource)
	return n + numberFieldBytes(int64(m.Sequence)) + numberFieldBytes(int64(m.SentAt)) + numberFieldBytes(int64(m.FirstReceivedAt)) + numberFieldBytes(m.ReceiveCount)
}

func appendReceived(dst []byte, m *queue.ReceivedMessage) []byte {
	dst = appendID(dst, 1, &m.MessageID)
	dst = append(appendLength(dst, 2, len(m.Handle)), m.Handle[:]...)
	dst = appendText(dst, 3, m.Body.String())
	for i := range m.Attributes {
		a := &m.Attributes[i]
		dst = appendLength(dst, 4, messageAttributeBytes(a))
		dst = appendText(dst, 1, a.Name)
		dst = appendText(dst, 2, a.DataType)
		dst = appendText(dst, 3, a.Value)
	}
	dst = appendText(dst, 5, m.SenderID)
	dst = appendText(dst, 6, m.GroupID)
	dst = appendText(dst, 7, m.DeduplicationID)
	dst = appendText(dst, 8, m.TraceHeader)
	dst = appendText(dst, 9, m.DeadLetterSource)
	dst = appendNumber(dst, 10, int64(m.Sequence))
	dst = appendNumber(dst, 11, int64(m.SentAt))
	dst = appendNumber(dst, 12, int64(m.FirstReceivedAt))
	return appendNumber(dst, 13, m.ReceiveCount)
}

// parsePlainResponse decodes the plain answers of the three commands. It reports false
// for all others, and for what is malformed.
func parsePlainResponse(data []byte) (result queue.Result, plain bool) {
	top := fields{rest: data}
	if !top.next() || top.kind != protowire.BytesType {
		return nil, false
	}
	of := int32(top.number)
	body := top.bytes()
	if top.err != nil || len(top.rest) > 0 {
		return nil, false
	}
	switch of {
	case messagesSentNumber:
		return parseMessagesSent(body)
	case messagesReceivedNumber:
		return parseMessagesReceived(body)
	case entriesDoneNumber:
		return parseEntriesDone(body)
	}
	return nil, false
}

func parseMessagesSent(body []byte) (queue.Result, bool) {
	var r queue.MessagesSent
	if n := count(body, 1); n > 0 {
		r.Entries = make([]queue.SentEntry, 0, n)
	}
	f := fields{rest: body}
	for f.next() {
		if !f.is(1, protowire.BytesType) {
			return nil, false
		}
		r.Entries = append(r.Entries, queue.SentEntry{})
		if !parseSentEntry(f.bytes(), &r.Entries[len(r.Entries)-1]) {
			return nil, false
		}
	}
	return r, f.err == nil
}

func parseSentEntry(message []byte, e *queue.SentEntry) bool {
	f := plainFields{fields: fields{rest: message}}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			var ok bool
			if e.Err, ok = parseError(f.bytes()); !ok {
				return false
			}
		case f.is(2, protowire.BytesType):
			if protobuf.Fill(e.MessageID[:], f.bytes(), "message id") != nil {
				return false
			}
		case f.is(3, protowire.VarintType):
			e.Sequence = queue.SequenceNumber(f.varint())
		case f.is(4, protowire.VarintType):
			e.Duplicate = f.varint() != 0
		case f.is(5, protowire.VarintType):
			e.FirstAcceptedAt = queue.Timestamp(f.varint())
		case f.is(6, protowire.VarintType):
			e.FirstIsScheduled = f.varint() != 0
		default:
			return false
		}
	}
	return f.plain()
}

// plainFields walks over fields that come in the order of their numbers, each at
// most once.
type plainFields struct {
	fields
	repeated protowire.Number // may come several times
	before   protowire.Number
	again    bool
}

func (f *plainFields) next() bool {
	if !f.fields.next() {
		return false
	}
	f.again = f.again || f.number <= f.before && f.number != f.repeated
	f.before = f.number
	return true
}

// plain reports whether all was as it should be.
func (f *plainFields) plain() bool { return f.err == nil && !f.again }

// parseError decodes an error; one without a code is none.
func parseError(message []byte) (*queue.Error, bool) {
	if len(message) == 0 {
		return nil, true
	}
	var e queue.Error
	f := plainFields{fields: fields{rest: message}}
	for f.next() {
		switch {
		case f.is(1, protowire.VarintType):
			e.Code = refusal.Code(uint32(f.varint()))
		case f.is(2, protowire.BytesType):
			e.Message = f.text()
		default:
			return nil, false
		}
	}
	return &e, f.plain() && e.Code != 0
}

func parseEntriesDone(body []byte) (queue.Result, bool) {
	var r queue.EntriesDone
	if n := count(body, 1); n > 0 {
		r.Errs = make([]*queue.Error, 0, n)
	}
	f := fields{rest: body}
	for f.next() {
		if !f.is(1, protowire.BytesType) {
			return nil, false
		}
		e, ok := parseError(f.bytes())
		if !ok {
			return nil, false
		}
		r.Errs = append(r.Errs, e)
	}
	return r, f.err == nil
}

func parseMessagesReceived(body []byte) (queue.Result, bool) {
	var r queue.MessagesReceived
	if n := count(body, 1); n > 0 {
		r.Messages = make([]queue.ReceivedMessage, 0, n)
	}
	f := fields{rest: body}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			r.Messages = append(r.Messages, queue.ReceivedMessage{})
			if !parseReceived(f.messageOfItsOwn(), &r.Messages[len(r.Messages)-1]) {
				return nil, false
			}
		case f.is(2, protowire.VarintType):
			r.Replayed = f.varint() != 0
		default:
			return nil, false
		}
	}
	return r, f.err == nil
}

func parseReceived(message fields, m *queue.ReceivedMessage) bool {
	valid := true
	f := plainFields{fields: message, repeated: 4}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			valid = valid && protobuf.Fill(m.MessageID[:], f.bytes(), "message id") == nil
		case f.is(2, protowire.BytesType):
			valid = valid && protobuf.Fill(m.Handle[:], f.bytes(), "receipt handle") == nil
		case f.is(3, protowire.BytesType):
			m.Body = content.NewBody(f.text())
		case f.is(4, protowire.BytesType):
			m.Attributes = append(m.Attributes, queue.MessageAttribute{})
			valid = valid && parseReceivedAttribute(f.message(), &m.Attributes[len(m.Attributes)-1])
		case f.is(5, protowire.BytesType):
			m.SenderID = f.text()
		case f.is(6, protowire.BytesType):
			m.GroupID = f.text()
		case f.is(7, protowire.BytesType):
			m.DeduplicationID = f.text()
		case f.is(8, protowire.BytesType):
			m.TraceHeader = f.text()
		case f.is(9, protowire.BytesType):
			m.DeadLetterSource = f.text()
		case f.is(10, protowire.VarintType):
			m.Sequence = queue.SequenceNumber(f.varint())
		case f.is(11, protowire.VarintType):
			m.SentAt = queue.Timestamp(f.varint())
		case f.is(12, protowire.VarintType):
			m.FirstReceivedAt = queue.Timestamp(f.varint())
		case f.is(13, protowire.VarintType):
			m.ReceiveCount = int64(f.varint())
		default:
			return false
		}
	}
	return f.plain() && valid
}

func parseReceivedAttribute(message fields, a *queue.MessageAttribute) bool {
	f := plainFields{fields: message}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			a.Name = f.text()
		case f.is(2, protowire.BytesType):
			a.DataType = f.text()
		case f.is(3, protowire.BytesType):
			a.Value = f.text()
		default:
			return false
		}
	}
	return f.plain()
}
