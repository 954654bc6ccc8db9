package forward

import (
	"context"
	"net"

	"github.com/seriatimq/seriatim/cluster/peerpb"
)

// FramedStream is the calling node's end of a connection.
type FramedStream struct {
	conn *framedConn
	stop func() bool // ends the wait for the context
}

// NewFramedStream uses a connection after its handshake, until ctx ends or Close.
func NewFramedStream(ctx context.Context, conn net.Conn) *FramedStream {
	framed := newFramedConn(conn)
	return &FramedStream{conn: framed, stop: context.AfterFunc(ctx, func() { _ = framed.close() })}
}

// Close closes the connection.
func (s *FramedStream) Close() error {
	s.stop()
	return s.conn.close()
}

// Send writes requests.
func (s *FramedStream) Send(frame *peerpb.RequestFrame) error {
	return s.conn.send(framedRequests, frame)
}

// Recv reads answers.
func (s *FramedStream) Recv() (*peerpb.AnswerFrame, error) {
	content, err := s.conn.next(framedAnswers)
	if err != nil {
		return nil, err
	}
	frame := new(peerpb.AnswerFrame)
	return frame, decodeFrame(content, answersTag, frame)
}

// CloseSend announces that no more requests follow.
func (s *FramedStream) CloseSend() error { return s.conn.send(framedEnd, nil) }

// framedInbound is the leader's end of a connection.
type framedInbound struct{ conn *framedConn }

// Send writes answers.
func (s framedInbound) Send(frame *peerpb.AnswerFrame) error {
	return s.conn.send(framedAnswers, frame)
}

// Recv reads requests.
func (s framedInbound) Recv() (*peerpb.RequestFrame, error) {
	content, err := s.conn.next(framedRequests)
	if err != nil {
		return nil, err
	}
	return decodeRequests(content)
}
