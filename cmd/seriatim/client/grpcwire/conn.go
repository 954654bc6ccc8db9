package grpcwire

import (
	"context"
	"io"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
)

// Conn is a connection with one call at a time. One goroutine may send while another
// receives.
type Conn struct {
	link *link
	call call
}

// Dial connects. The end of ctx closes the connection, whatever is being waited
// for on it; timeout bounds how long an answer may take.
func Dial(ctx context.Context, address string, timeout time.Duration, header func(method string) http.Header) (*Conn, error) {
	l, err := dial(ctx, address, timeout, header, frameHeader+frameBytesMax)
	if err != nil {
		return nil, err
	}
	return &Conn{link: l}, nil
}

// Close closes the connection.
func (c *Conn) Close() { c.link.close() }

// Call makes a call with one message each way, which Message began. The answer is
// valid until the next call; wait comes on top of the timeout.
func (c *Conn) Call(method string, message []byte, wait time.Duration) ([]byte, error) {
	if err := c.link.begin(&c.call, method, wait); err != nil {
		return nil, err
	}
	if err := c.link.put(&c.call, message, true, c.readFor); err != nil && !c.call.ended {
		return nil, err
	}
	for !c.call.ended {
		if err := c.link.readFrame(); err != nil {
			return nil, err
		}
	}
	return c.call.answer()
}

// readFor reads a frame while there is no room for the rest of a message.
func (c *Conn) readFor(*call) error {
	if err := c.link.readFrame(); err != nil || !c.call.ended {
		return err
	}
	return errEnded
}

// Open begins a call with streams. It has no deadline.
func (c *Conn) Open(method string) error { return c.link.begin(&c.call, method, -1) }

// Send sends a message, which Message began, on the stream. It waits while the
// server does not read.
func (c *Conn) Send(message []byte) error {
	return c.link.put(&c.call, message, false, c.link.awaitRoom)
}

// CloseSend says that no further message comes.
func (c *Conn) CloseSend() error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if err := c.link.writer.WriteData(c.call.stream, true, nil); err != nil {
		return err
	}
	return c.link.flush()
}

// Receive receives a message, which is valid until the next Receive. The error is
// io.EOF when the server has ended the stream well.
func (c *Conn) Receive() ([]byte, error) {
	for {
		message, whole, err := c.call.take()
		switch {
		case whole || err != nil:
			return message, err
		case c.call.ended && c.call.status != codes.OK:
			return nil, &StatusError{c.call.status, c.call.message}
		case c.call.ended:
			return nil, io.EOF
		}
		if err := c.link.readFrame(); err != nil {
			c.link.mu.Lock()
			defer c.link.mu.Unlock()
			return nil, c.link.fail(err)
		}
	}
}
