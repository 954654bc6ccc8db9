package wire

import (
	"bufio"
	"io"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"
)

// kinds are those that the library's own transport puts before a request.
var messagePackKinds = [...]kind{kindAppendEntries, kindRequestVote, kindInstallSnapshot, kindTimeoutNow, kindRequestPreVote}

// MessagePack is a connection in the encoding of the library's own transport, which
// nodes speak whose program is older than Compact.
type MessagePack struct {
	in  *bufio.Reader
	out *bufio.Writer
	dec *codec.Decoder
	enc *codec.Encoder
}

var _ Conn = (*MessagePack)(nil)

// NewMessagePack speaks on a connection after its handshake.
func NewMessagePack(conn io.ReadWriter) *MessagePack {
	m := &MessagePack{in: bufio.NewReaderSize(conn, readAhead), out: bufio.NewWriterSize(conn, 2*readAhead)}
	m.dec = codec.NewDecoder(m.in, &codec.MsgpackHandle{})
	times := &codec.MsgpackHandle{}
	times.TimeNotBuiltin = true // as the library writes them
	m.enc = codec.NewEncoder(m.out, times)
	return m
}

// Ask writes a request.
func (m *MessagePack) Ask(request any) error {
	of := kindOf(request)
	for number, k := range messagePackKinds {
		if k == of {
			if err := m.out.WriteByte(byte(number)); err != nil {
				return err
			}
			if err := m.enc.Encode(request); err != nil {
				return err
			}
			return m.out.Flush()
		}
	}
	return errUnknownMessage
}

// AskNow leaves all of it.
func (m *MessagePack) AskNow(request *raft.AppendEntriesRequest) (rest func() error, err error) {
	return func() error { return m.Ask(request) }, nil
}

// Asked reads a request.
func (m *MessagePack) Asked() (any, error) {
	number, err := m.in.ReadByte()
	if err != nil {
		return nil, err
	}
	if int(number) >= len(messagePackKinds) {
		return nil, damaged("a request of kind %d", number)
	}
	var request any
	switch messagePackKinds[number] {
	case kindAppendEntries:
		request = new(raft.AppendEntriesRequest)
	case kindRequestVote:
		request = new(raft.RequestVoteRequest)
	case kindRequestPreVote:
		request = new(raft.RequestPreVoteRequest)
	case kindInstallSnapshot:
		request = new(raft.InstallSnapshotRequest)
	case kindTimeoutNow:
		request = new(raft.TimeoutNowRequest)
	default:
		return nil, errUnknownMessage
	}
	if err := m.dec.Decode(request); err != nil {
		return nil, cut(err)
	}
	return request, nil
}

// Waits is never known: a request does not say how long it is.
func (m *MessagePack) Waits() bool { return false }

// Reply writes an answer.
func (m *MessagePack) Reply(answer any, failure error) error {
	text := ""
	if failure != nil {
		text = failure.Error()
	}
	if err := m.enc.Encode(text); err != nil {
		return err
	}
	if err := m.enc.Encode(answer); err != nil {
		return err
	}
	return m.out.Flush()
}

// Answer reads an answer.
func (m *MessagePack) Answer(into any) error {
	var failure string
	if err := m.dec.Decode(&failure); err != nil {
		return err
	}
	if err := m.dec.Decode(into); err != nil {
		return cut(err)
	}
	if failure != "" {
		return Failure(failure)
	}
	return nil
}

// SendSnapshot writes what follows the request to install it.
func (m *MessagePack) SendSnapshot(content io.Reader) error {
	if _, err := io.Copy(m.out, content); err != nil {
		return err
	}
	return m.out.Flush()
}

// Snapshot reads it.
func (m *MessagePack) Snapshot(size int64) io.Reader { return io.LimitReader(m.in, size) }
