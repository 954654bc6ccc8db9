package peernet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// After the handshake what nodes say to each other is in frames, unless it has checksums
// of its own (Kind.framed):
//
//	length(u32) CRC-32C of length and content(u32) content
//
// The checksum of TCP has 16 bits, and network cards have been seen to compute it
// over content that they had spoilt before. One wrong byte in a command that a
// follower forwards would be proposed, committed, and stop every node that applies
// it; one in an index of the consensus could commit what is not there. A wrong
// frame ends its connection, and what it carried is asked for again.
const (
	peerFrameHead = 8
	// peerFrameMax bounds what is read before it is verified.
	peerFrameMax = 64 << 10
	// peerReadAhead takes several small frames with one call.
	peerReadAhead = 16 << 10
)

var peerTable = crc32.MakeTable(crc32.Castagnoli)

var errPeerFrame = errors.New("what came from the other node is damaged")

// checkedStream puts one connection's content in frames. One goroutine reads and
// one writes, as with every user of a connection between nodes.
type checkedStream struct {
	in     *bufio.Reader
	out    io.Writer
	buffer []byte // of the frame that was read
	rest   []byte // of it, not yet given out
	frame  []byte // the one being written
	broken error  // reading cannot go on
}

func newCheckedStream(conn io.ReadWriter) *checkedStream {
	return &checkedStream{in: bufio.NewReaderSize(conn, peerReadAhead), out: conn}
}

// peerFrameSum covers the length as well: a wrong one would swallow other frames.
func peerFrameSum(frame []byte) uint32 {
	return crc32.Update(crc32.Checksum(frame[:4], peerTable), peerTable, frame[peerFrameHead:])
}

// Read gives out verified content.
func (s *checkedStream) Read(content []byte) (int, error) {
	for len(s.rest) == 0 {
		if s.broken == nil {
			s.broken = s.next()
		}
		if s.broken != nil {
			return 0, s.broken
		}
	}
	n := copy(content, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// next reads a frame.
func (s *checkedStream) next() error {
	head, err := s.in.Peek(peerFrameHead)
	if err != nil {
		if len(head) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	length := binary.BigEndian.Uint32(head)
	if length > peerFrameMax {
		return fmt.Errorf("%w: a frame of %d bytes", errPeerFrame, length)
	}
	size := peerFrameHead + int(length)
	if cap(s.buffer) < size {
		s.buffer = make([]byte, size)
	}
	s.buffer = s.buffer[:size]
	if _, err := io.ReadFull(s.in, s.buffer); err != nil {
		return err
	}
	if peerFrameSum(s.buffer) != binary.BigEndian.Uint32(s.buffer[4:]) {
		return fmt.Errorf("%w: a frame of %d bytes has another checksum", errPeerFrame, length)
	}
	s.rest = s.buffer[peerFrameHead:]
	return nil
}

// Write frames content and writes it through.
func (s *checkedStream) Write(content []byte) (int, error) {
	written := 0
	for len(content) > 0 {
		part := content[:min(len(content), peerFrameMax)]
		s.frame = binary.BigEndian.AppendUint32(s.frame[:0], uint32(len(part)))
		s.frame = append(s.frame, 0, 0, 0, 0)
		s.frame = append(s.frame, part...)
		binary.BigEndian.PutUint32(s.frame[4:], peerFrameSum(s.frame))
		if _, err := s.out.Write(s.frame); err != nil {
			return written, err
		}
		written += len(part)
		content = content[len(part):]
	}
	return written, nil
}
