package codec

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

// appendSendMessages appends what the protobuf library would make of
// sendMessagesMessage.
func appendSendMessages(dst []byte, cmd *queue.SendMessages) ([]byte, error) {
	dst = slices.Grow(dst, sendMessagesBytes(cmd))
	dst = appendText(dst, 1, cmd.Queue)
	dst = appendText(dst, 2, cmd.SenderID)
	dst = appendFlag(dst, 3, cmd.Batch)
	for i := range cmd.Entries {
		e := &cmd.Entries[i]
		if err := checkContentHash(e.ContentHash); err != nil {
			return nil, err
		}
		dst = protowire.AppendTag(dst, 4, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(sendEntryBytes(e)))
		dst = appendSendEntry(dst, e)
	}
	if cmd.RepeatedSince != 0 {
		dst = appendNumberField(dst, 5, int64(cmd.RepeatedSince))
	}
	return appendFlag(dst, 6, cmd.Streamed), nil
}

// sendMessagesBytes is how much appendSendMessages appends at most.
func sendMessagesBytes(cmd *queue.SendMessages) int {
	n := textBytes(cmd.Queue) + textBytes(cmd.SenderID) + 2*flagBytes
	for i := range cmd.Entries {
		n += tagBytes + protowire.SizeBytes(sendEntryBytes(&cmd.Entries[i]))
	}
	if cmd.RepeatedSince != 0 {
		n += tagBytes + protowire.SizeVarint(uint64(cmd.RepeatedSince))
	}
	return n
}

func appendSendEntry(dst []byte, e *queue.SendEntry) []byte {
	dst = appendText(dst, 1, e.Body)
	for i := range e.Attributes {
		a := &e.Attributes[i]
		dst = protowire.AppendTag(dst, 2, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(messageAttributeBytes(a)))
		dst = appendText(dst, 1, a.Name)
		dst = appendText(dst, 2, a.DataType)
		dst = appendText(dst, 3, a.Value)
	}
	dst = appendText(dst, 3, e.TraceHeader)
	if e.GroupIDGiven {
		dst = appendTextField(dst, 4, e.GroupID)
	}
	if e.DeduplicationIDGiven {
		dst = appendTextField(dst, 5, e.DeduplicationID)
	}
	if e.DelaySeconds.Given {
		dst = appendNumberField(dst, 6, e.DelaySeconds.Value)
	}
	if len(e.ContentHash) > 0 {
		dst = protowire.AppendBytes(protowire.AppendTag(dst, 7, protowire.BytesType), e.ContentHash)
	}
	if e.Options != nil {
		dst = appendSendOptions(dst, e.Options)
	}
	return dst
}

// sendEntryBytes is how much appendSendEntry appends.
func sendEntryBytes(e *queue.SendEntry) int {
	n := textBytes(e.Body) + textBytes(e.TraceHeader)
	for i := range e.Attributes {
		n += tagBytes + protowire.SizeBytes(messageAttributeBytes(&e.Attributes[i]))
	}
	if e.GroupIDGiven {
		n += textFieldBytes(e.GroupID)
	}
	if e.DeduplicationIDGiven {
		n += textFieldBytes(e.DeduplicationID)
	}
	if e.DelaySeconds.Given {
		n += tagBytes + protowire.SizeVarint(uint64(e.DelaySeconds.Value))
	}
	if len(e.ContentHash) > 0 {
		n += tagBytes + protowire.SizeBytes(len(e.ContentHash))
	}
	if e.Options != nil {
		n += tagBytes + protowire.SizeBytes(sendOptionsBytes(e.Options))
	}
	return n
}

func messageAttributeBytes(a *queue.MessageAttribute) int {
	return textBytes(a.Name) + textBytes(a.DataType) + textBytes(a.Value)
}

// textBytes is how much appendText appends.
func textBytes(text string) int {
	if text == "" {
		return 0
	}
	return textFieldBytes(text)
}

// parseSendMessages is the inverse of appendSendMessages. With a nil d the command
// holds no part of body.
func parseSendMessages(d *Decoder, body []byte) (*queue.SendMessages, error) {
	cmd := d.sendMessages()
	f := fields{rest: body, shared: d.textOf(body)}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			cmd.Queue = d.name(f.bytes())
		case f.is(2, protowire.BytesType):
			cmd.SenderID = d.name(f.bytes())
		case f.is(3, protowire.VarintType):
			cmd.Batch = f.varint() != 0
		case f.is(4, protowire.BytesType):
			if cmd.Entries == nil {
				cmd.Entries = d.sendEntries(room(cmd.Batch, body, 4))
			}
			cmd.Entries = append(cmd.Entries, queue.SendEntry{})
			f.err = parseSendEntry(d, f.message(), &cmd.Entries[len(cmd.Entries)-1])
		case f.is(5, protowire.VarintType):
			cmd.RepeatedSince = queue.Timestamp(f.varint())
		case f.is(6, protowire.VarintType):
			cmd.Streamed = f.varint() != 0
		default:
			f.skip()
		}
	}
	return cmd, f.err
}

func parseSendEntry(d *Decoder, f fields, e *queue.SendEntry) error {
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			e.Body = f.text()
		case f.is(2, protowire.BytesType):
			e.Attributes = append(e.Attributes, queue.MessageAttribute{})
			f.err = parseMessageAttribute(f.messageOfItsOwn(), &e.Attributes[len(e.Attributes)-1])
		case f.is(3, protowire.BytesType):
			e.TraceHeader = string(f.bytes())
		case f.is(4, protowire.BytesType):
			e.GroupID, e.GroupIDGiven = d.name(f.bytes()), true
		case f.is(5, protowire.BytesType):
			e.DeduplicationID, e.DeduplicationIDGiven = f.text(), true
		case f.is(6, protowire.VarintType):
			e.DelaySeconds = queue.Some(int64(f.varint()))
		case f.is(7, protowire.BytesType):
			e.ContentHash = d.bytes(f.bytes())
		case f.is(8, protowire.BytesType):
			if options := f.bytes(); f.err == nil {
				f.err = parseSendOptions(options, e)
			}
		default:
			f.skip()
		}
	}
	if f.err != nil {
		return f.err
	}
	return checkContentHash(e.ContentHash)
}

// checkContentHash: the hash decides what a duplicate is, so one of another
// length must not come in from a damaged or foreign proposer.
func checkContentHash(hash []byte) error {
	if len(hash) != 0 && len(hash) != sha256.Size {
		return fmt.Errorf("%w: content hash of %d bytes", format.ErrMalformed, len(hash))
	}
	return nil
}

func parseMessageAttribute(f fields, a *queue.MessageAttribute) error {
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			a.Name = f.text()
		case f.is(2, protowire.BytesType):
			a.DataType = f.text()
		case f.is(3, protowire.BytesType):
			a.Value = f.text()
		default:
			f.skip()
		}
	}
	return f.err
}

// SendsTo is the queue that the frame of a SendMessages names, without decoding the
// rest; it reports false for every other command. The name is a part of frame.
func SendsTo(frame []byte) (queue []byte, sends bool) {
	c, body, err := parseFrame(frame)
	if err != nil || c.number != sendMessagesNumber {
		return nil, false
	}
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeTag(body)
		if n < 0 {
			return nil, false
		}
		body = body[n:]
		if number == 1 && kind == protowire.BytesType {
			queue, n = protowire.ConsumeBytes(body)
			return queue, n >= 0
		}
		if n = protowire.ConsumeFieldValue(number, kind, body); n < 0 {
			return nil, false
		}
		body = body[n:]
	}
	return nil, false
}
