package forward

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seriatimq/seriatim/cluster/peerpb"
)

const (
	// frameRequestsMax bounds the requests or answers of one frame; measured
	// as enough to make the stream five times as fast as single calls
	// (raft.md A6, B7).
	frameRequestsMax = 64
	// frameItemsMax is how many a node accepts: one without content takes two bytes on its
	// way and 150 in memory.
	frameItemsMax = 1024
	// frameBytesMax ends a frame early; one larger request makes its own.
	frameBytesMax = 1 << 20
	// frameLimit is the largest frame a node accepts: ten messages of 1 MiB
	// with their attributes, escaped and packed, and room to spare.
	frameLimit = 64 << 20
	// streamWindow is what may be under way unread. It is fixed, because the
	// library measures for a better one by asking the other end all the time.
	streamWindow = 4 << 20
)

// frameCodec writes and reads the frames of Peer.Forward by hand, with two
// allocations for the requests or answers of a frame where the generated code
// makes two or three for each. The bytes are those of peer.proto, so that the
// other end may use either; everything else is left to the generated code.
type frameCodec struct{ encoding.CodecV2 }

func newFrameCodec() frameCodec { return frameCodec{encoding.GetCodecV2(proto.Name)} }

// frames is the codec of frames that do not travel over gRPC.
var frames = newFrameCodec()

// Field numbers of peer.proto.
const (
	frameGroupID  = protowire.Number(1)
	frameLeaderID = protowire.Number(2)
	frameRequests = protowire.Number(3)
	frameSenderID = protowire.Number(4)

	requestID             = protowire.Number(1)
	requestKindField      = protowire.Number(2)
	requestTerm           = protowire.Number(3)
	requestCommand        = protowire.Number(4)
	requestMinimumVersion = protowire.Number(5)
	requestBudget         = protowire.Number(6)
	requestWait           = protowire.Number(7)
	requestWaited         = protowire.Number(8)
	requestOrigin         = protowire.Number(10)
	requestNumber         = protowire.Number(11)

	frameAnswers = protowire.Number(1)
	frameClosing = protowire.Number(2)

	answerID       = protowire.Number(1)
	answerOutcome  = protowire.Number(2)
	answerResponse = protowire.Number(3)
	answerIndex    = protowire.Number(4)
	answerLogTime  = protowire.Number(5)
	answerReason   = protowire.Number(6)
)

// itemOverhead is more than the fields of a request or an answer take beside its
// bytes, and frameOverhead than those of a frame.
const (
	itemOverhead  = 128
	frameOverhead = 256
)

// Marshal encodes a frame.
func (c frameCodec) Marshal(v any) (mem.BufferSlice, error) {
	pool := mem.DefaultBufferPool()
	var buffer *[]byte // whose size is an estimate, and enough
	switch m := v.(type) {
	case *peerpb.RequestFrame:
		size := frameOverhead
		for _, r := range m.Requests {
			if r.Audit != nil {
				return c.CodecV2.Marshal(v)
			}
			size += len(r.Command) + itemOverhead
		}
		buffer = pool.Get(size)
		*buffer = appendRequestFrame((*buffer)[:0], m)
	case *peerpb.AnswerFrame:
		size := frameOverhead
		for _, a := range m.Answers {
			size += len(a.Response) + len(a.Reason) + itemOverhead
		}
		buffer = pool.Get(size)
		*buffer = appendAnswerFrame((*buffer)[:0], m)
	default:
		return c.CodecV2.Marshal(v)
	}
	return mem.BufferSlice{mem.NewBuffer(buffer, pool)}, nil
}

// Unmarshal decodes a frame. What it holds shares one copy of the bytes.
func (c frameCodec) Unmarshal(data mem.BufferSlice, v any) error {
	return c.decode(data.Materialize(), v)
}

// decode is Unmarshal of bytes that the frame may keep.
func (c frameCodec) decode(data []byte, v any) error {
	items := 0
	switch m := v.(type) {
	case *peerpb.RequestFrame:
		items = countField(data, frameRequests)
		if items <= frameItemsMax && readRequestFrame(data, m, items) {
			return nil
		}
		m.Reset()
	case *peerpb.AnswerFrame:
		items = countField(data, frameAnswers)
		if items <= frameItemsMax && readAnswerFrame(data, m, items) {
			return nil
		}
		m.Reset()
	}
	if items > frameItemsMax {
		return fmt.Errorf("a frame of another node has %d requests or answers, and may have %d", items, frameItemsMax)
	}
	// Malformed, or with fields that are not known here: the generated code
	// decides.
	if err := c.CodecV2.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, v); err != nil {
		return fmt.Errorf("a frame of another node: %w", err)
	}
	return nil
}

// appendRequests is Marshal that appends to b.
func (c frameCodec) appendRequests(b []byte, m *peerpb.RequestFrame) ([]byte, error) {
	for _, r := range m.Requests {
		if r.Audit != nil {
			data, err := c.CodecV2.Marshal(m)
			if err != nil {
				return b, err
			}
			defer data.Free()
			return append(b, data.Materialize()...), nil
		}
	}
	return appendRequestFrame(b, m), nil
}

func appendVarintField(b []byte, number protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), v)
}

func appendBytesField[T string | []byte](b []byte, number protowire.Number, v T) []byte {
	if len(v) == 0 {
		return b
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.BytesType), uint64(len(v)))
	return append(b, v...)
}

// lengthBytes is what a nested message's length is written with: as many bytes
// for each, so that it can be filled in afterwards. Readers accept that.
const lengthBytes = 4

func beginMessage(b []byte, number protowire.Number) ([]byte, int) {
	b = protowire.AppendTag(b, number, protowire.BytesType)
	return append(b, 0x80, 0x80, 0x80, 0), len(b) + lengthBytes
}

func endMessage(b []byte, start int) {
	length := b[start-lengthBytes : start]
	n := len(b) - start
	for i := range length {
		length[i] |= byte(n & 0x7f)
		n >>= 7
	}
}

func appendRequestFrame(b []byte, m *peerpb.RequestFrame) []byte {
	b = appendVarintField(b, frameGroupID, uint64(m.GroupId))
	b = appendBytesField(b, frameLeaderID, m.LeaderId)
	for _, r := range m.Requests {
		var start int
		b, start = beginMessage(b, frameRequests)
		b = appendVarintField(b, requestID, r.Id)
		b = appendVarintField(b, requestKindField, uint64(r.Kind))
		b = appendVarintField(b, requestTerm, r.Term)
		b = appendBytesField(b, requestCommand, r.Command)
		b = appendVarintField(b, requestMinimumVersion, uint64(r.MinimumVersion))
		b = appendVarintField(b, requestBudget, r.BudgetMillis)
		b = appendVarintField(b, requestWait, protowire.EncodeZigZag(r.WaitMillis))
		b = appendVarintField(b, requestWaited, r.WaitedMillis)
		b = appendVarintField(b, requestOrigin, r.RequestOrigin)
		b = appendVarintField(b, requestNumber, r.RequestNumber)
		endMessage(b, start)
	}
	return appendBytesField(b, frameSenderID, m.SenderId)
}

func appendAnswerFrame(b []byte, m *peerpb.AnswerFrame) []byte {
	for _, a := range m.Answers {
		var start int
		b, start = beginMessage(b, frameAnswers)
		b = appendVarintField(b, answerID, a.Id)
		b = appendVarintField(b, answerOutcome, uint64(a.Outcome))
		b = appendBytesField(b, answerResponse, a.Response)
		b = appendVarintField(b, answerIndex, a.Index)
		b = appendVarintField(b, answerLogTime, uint64(a.LogTime))
		b = appendBytesField(b, answerReason, a.Reason)
		endMessage(b, start)
	}
	return appendVarintField(b, frameClosing, protowire.EncodeBool(m.Closing))
}

// wireField is one field of a message.
type wireField struct {
	number protowire.Number
	kind   protowire.Type
	value  uint64 // of a varint
	bytes  []byte // of bytes, part of the message
}

// cutField takes the first field off a message; false if it is malformed or of
// a form that no frame has.
func cutField(b []byte) (f wireField, rest []byte, ok bool) {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 {
		return f, nil, false
	}
	f.number, f.kind, b = number, kind, b[n:]
	switch kind {
	case protowire.VarintType:
		f.value, n = protowire.ConsumeVarint(b)
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(b)
	default:
		return f, nil, false
	}
	if n < 0 {
		return f, nil, false
	}
	return f, b[n:], true
}

// countField is how many fields of a number a message has.
func countField(b []byte, number protowire.Number) (n int) {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return n
		}
		if b = rest; f.number == number {
			n++
		}
	}
	return n
}

func readRequestFrame(b []byte, m *peerpb.RequestFrame, items int) bool {
	requests := make([]peerpb.Request, 0, items)
	m.Requests = make([]*peerpb.Request, 0, cap(requests))
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return false
		}
		b = rest
		switch {
		case f.number == frameGroupID && f.kind == protowire.VarintType:
			m.GroupId = uint32(f.value)
		case f.number == frameLeaderID && f.kind == protowire.BytesType && utf8.Valid(f.bytes):
			m.LeaderId = string(f.bytes)
		case f.number == frameSenderID && f.kind == protowire.BytesType && utf8.Valid(f.bytes):
			m.SenderId = string(f.bytes)
		case f.number == frameRequests && f.kind == protowire.BytesType:
			requests = requests[:len(requests)+1]
			r := &requests[len(requests)-1]
			if !readForwardedRequest(f.bytes, r) {
				return false
			}
			m.Requests = append(m.Requests, r)
		default:
			return false
		}
	}
	return true
}

func readForwardedRequest(b []byte, r *peerpb.Request) bool {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok || (f.number == requestCommand) != (f.kind == protowire.BytesType) {
			return false // such as an audit
		}
		b = rest
		switch f.number {
		case requestID:
			r.Id = f.value
		case requestKindField:
			r.Kind = Kind(f.value)
		case requestTerm:
			r.Term = f.value
		case requestCommand:
			r.Command = slices.Clip(f.bytes)
		case requestMinimumVersion:
			r.MinimumVersion = uint32(f.value)
		case requestBudget:
			r.BudgetMillis = f.value
		case requestWait:
			r.WaitMillis = protowire.DecodeZigZag(f.value)
		case requestWaited:
			r.WaitedMillis = f.value
		case requestOrigin:
			r.RequestOrigin = f.value
		case requestNumber:
			r.RequestNumber = f.value
		default:
			return false
		}
	}
	if r.Kind == Receive {
		r.Command = slices.Clone(r.Command) // it may wait longer than the rest of its frame is needed
	}
	return true
}

func readAnswerFrame(b []byte, m *peerpb.AnswerFrame, items int) bool {
	answers := make([]peerpb.Answer, 0, items)
	m.Answers = make([]*peerpb.Answer, 0, cap(answers))
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return false
		}
		b = rest
		switch {
		case f.number == frameAnswers && f.kind == protowire.BytesType:
			answers = answers[:len(answers)+1]
			a := &answers[len(answers)-1]
			if !readForwardedAnswer(f.bytes, a) {
				return false
			}
			m.Answers = append(m.Answers, a)
		case f.number == frameClosing && f.kind == protowire.VarintType:
			m.Closing = protowire.DecodeBool(f.value)
		default:
			return false
		}
	}
	return true
}

func readForwardedAnswer(b []byte, a *peerpb.Answer) bool {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok || (f.number == answerResponse || f.number == answerReason) != (f.kind == protowire.BytesType) {
			return false
		}
		b = rest
		switch f.number {
		case answerID:
			a.Id = f.value
		case answerOutcome:
			a.Outcome = peerpb.Outcome(f.value)
		case answerResponse:
			a.Response = slices.Clip(f.bytes)
		case answerIndex:
			a.Index = f.value
		case answerLogTime:
			a.LogTime = int64(f.value)
		case answerReason:
			if a.Reason = string(f.bytes); !utf8.ValidString(a.Reason) {
				return false
			}
		default:
			return false
		}
	}
	return true
}
