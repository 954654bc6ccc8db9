package peernet

import (
	"io"

	"github.com/seriatimq/seriatim/cluster/peernet/frame"
)

// A checkedStream carries the streams of protocols without frames of their own (Kind.framed).
const (
	streamFrame = 1 // kind of frame with a part of the stream
	// streamPart bounds the bytes of the stream in one frame.
	streamPart = 64 << 10
	// streamReadBuffer lets one call read several small frames.
	streamReadBuffer = 16 << 10
)

// checkedStream carries a stream of bytes in frames. One goroutine may read and one may write.
type checkedStream struct {
	in     *frame.Reader
	out    io.Writer
	buffer []byte // content of the last frame read
	unread []byte // part of buffer
	frame  []byte // the frame being written
	broken error  // error of reading
}

func newCheckedStream(conn io.ReadWriter) *checkedStream {
	return &checkedStream{in: frame.NewReader(conn, streamReadBuffer, frame.Limits{Data: streamPart}), out: conn}
}

// Read returns verified content.
func (s *checkedStream) Read(content []byte) (int, error) {
	for len(s.unread) == 0 {
		if s.broken == nil {
			s.broken = s.next()
		}
		if s.broken != nil {
			return 0, s.broken
		}
	}
	n := copy(content, s.unread)
	s.unread = s.unread[n:]
	return n, nil
}

// next reads a frame.
func (s *checkedStream) next() error {
	kind, _, size, err := s.in.Next()
	if err != nil {
		return err
	}
	if kind != streamFrame {
		return frame.Damaged("it is of kind %d, in a stream", kind)
	}
	if cap(s.buffer) < size {
		s.buffer = make([]byte, size)
	}
	s.buffer = s.buffer[:size]
	if err := s.in.ReadData(s.buffer); err != nil {
		return err
	}
	s.unread = s.buffer
	return nil
}

// Write writes content in frames.
func (s *checkedStream) Write(content []byte) (int, error) {
	written := 0
	for len(content) > 0 {
		part := content[:min(len(content), streamPart)]
		s.frame = append(frame.Begin(s.frame), part...)
		frame.Finish(s.frame, streamFrame, 0)
		if _, err := s.out.Write(s.frame); err != nil {
			return written, err
		}
		written += len(part)
		content = content[len(part):]
	}
	return written, nil
}
